// Stages the deliveries of passports. The rules are read at each call, because a reload of the config may change them.

import type { DeliveryState } from '../../domain/delivery/delivery.ts';
import { nextStep, type PassportDesire, revisedDesire, wantedByPolicy } from '../../domain/passport.ts';
import { openDeliveryOf, takeBackDelivery } from '../items/items.ts';
import { reconcile } from '../items/reconcile.ts';
import { statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { blockersOf, commonBlockers, isComplete } from './completeness.ts';
import { clearPassportDirty, desirePassport, markPassportDirty } from './passport-items.ts';
import { mayStep, PASSPORT_COLUMNS, type PassportRow, PRODUCTS_WITH_PASSPORTS } from './passport-row.ts';
import { desireIn, desireText, statusIn, statusText } from './passport-text.ts';

/** If no policy wants passports, only products that have a passport are read. */
const PASSPORTS_WITH_PRODUCTS = `${PASSPORT_COLUMNS} FROM items q CROSS JOIN items p ON q.kind = 'passport' AND p.key = q.key`;

/** The stored texts of passports that need no further step. */
const AT_REST = {
  published: desireText({ status: 'published', because: 'policy' }),
  initialized: desireText({ status: 'initialized', because: 'policy' }),
  none: desireText({ status: 'none', because: 'policy' }),
  isPublished: statusText('published'),
  isInitialized: statusText('initialized'),
};

/** Deliveries that may still end without a person. */
const MOVING: readonly (DeliveryState | undefined)[] = ['waiting', 'due', 'sending', 'in_doubt'];

type CandidateQuery = {
  afterKey: string;
  limit: number;
  wanted: string | null;
  asWanted: string;
} & typeof AT_REST;

/**
 * The query compares stored texts to leave out passports that need no step. So an evaluation of a million products
 * takes a second or two.
 */
function candidates(from: string, first: 'p' | 'q'): string {
  return `SELECT ${from}
    WHERE p.kind = 'product' AND ${first}.key > @afterKey AND p.remote_id IS NOT NULL AND (
      (q.id IS NULL AND @wanted IS NOT NULL) OR q.dirty = 1
      OR (q.id IS NOT NULL AND p.missing_since IS NOT NULL)
      OR (q.desired <> @asWanted AND q.desired NOT LIKE '{"because":"person"%'
          AND NOT (q.desired = @published AND coalesce(q.baseline, '') = @isPublished)
          AND NOT (@wanted IS NULL AND q.desired = @initialized AND coalesce(q.baseline, '') = @isInitialized)
          AND NOT (@wanted IS NULL AND q.desired = @none)))
    ORDER BY ${first}.key LIMIT @limit`;
}

const SQL = {
  candidatesOfPassports: statement<[CandidateQuery], PassportRow>(candidates(PASSPORTS_WITH_PRODUCTS, 'q')),
  candidatesOfProducts: statement<[CandidateQuery], PassportRow>(candidates(PRODUCTS_WITH_PASSPORTS, 'p')),
  passport: statement<[number], PassportRow>(
    `SELECT ${PASSPORT_COLUMNS} FROM items q JOIN items p ON p.kind = 'product' AND p.key = q.key WHERE q.id = ?`,
  ),
};

export function evaluatePassports(
  tx: Tx,
  { afterKey, limit }: { afterKey: string | null; limit: number },
): { staged: number; lastKey: string | null } {
  const areAllBlocked = commonBlockers(tx, 1).length > 0;
  // A reload of the config may have changed the policy since the last page.
  const wanted = wantedByPolicy(tx.passportRules);
  const asWanted = wanted === null ? '' : desireText({ status: wanted, because: 'policy' });
  const list = wanted === null ? SQL.candidatesOfPassports : SQL.candidatesOfProducts;
  const rows = list(tx).all({ ...AT_REST, afterKey: afterKey ?? '', wanted, asWanted, limit });
  const staged = rows.filter((row) =>
    evaluate(tx, row, row.dirty === 1, () => !areAllBlocked && blockersOf(tx, row, 1).length === 0),
  ).length;
  return { staged, lastKey: rows.length < limit ? null : (rows.at(-1)?.key ?? null) };
}

/** Evaluates one passport after a step of it was acknowledged. Returns true if the next step was staged. */
export function followPassport(tx: Tx, passportId: number): boolean {
  const row = SQL.passport(tx).get(passportId);
  if (!row) return false;
  // If the product is not complete now, the passport is evaluated later.
  markPassportDirty(tx, passportId);
  return evaluate(tx, row, true);
}

/**
 * Takes back a staged initialisation or publication that may not be sent any more, because its product is not
 * complete now. The passport is evaluated again later. Returns true if it was taken back.
 */
export function takeBackUnlessWanted(tx: Tx, passportId: number): boolean {
  const row = SQL.passport(tx).get(passportId);
  const desire = row && (revised(tx, row) ?? desireIn(row.desired));
  const isWanted = row && desire && nextStep(statusIn(row.baseline), desire.status) !== null;
  if (isWanted && mayStep(row, desire, () => isComplete(tx, row))) return false;
  takeBackDelivery(tx, passportId);
  markPassportDirty(tx, passportId);
  return true;
}

/**
 * Stages the step of a stuck passport again as a new revision, if its product is complete. Returns true if it did.
 */
export function sendPassportAgain(tx: Tx, passportId: number): boolean {
  const row = SQL.passport(tx).get(passportId);
  const desire = row === undefined ? null : desireIn(row.desired);
  // If another status is desired by now, the evaluation stages the step to it.
  if (row === undefined || desire === null || revised(tx, row) !== null) return false;
  return mayStep(row, desire, () => isComplete(tx, row)) && reconcile(tx, passportId, true) !== null;
}

function revised(tx: Tx, { desired, baseline, gone, source }: PassportRow): PassportDesire | null {
  const standing = { desire: desireIn(desired), acknowledged: statusIn(baseline), gone: gone === 1 };
  return revisedDesire(standing, {
    ...tx.passportRules,
    withdraws: tx.passportRules.withdrawMissingOf.includes(source),
  });
}

function evaluate(tx: Tx, row: PassportRow, again: boolean, complete = () => isComplete(tx, row)): boolean {
  const revision = revised(tx, row);
  const desire = revision ?? desireIn(row.desired);
  if (desire === null || (revision === null && !again) || !mayStep(row, desire, complete)) return false;
  const id = revision === null ? row.passportId : desirePassport(tx, row, revision);
  if (id === null) return false;
  const staged = reconcile(tx, id, again);
  // A delivery that is in flight now was staged before the passport became dirty, so it may have to be sent again.
  if (again && (staged !== null || !MOVING.includes(openDeliveryOf(tx, id)?.state))) clearPassportDirty(tx, id);
  return staged !== null;
}
