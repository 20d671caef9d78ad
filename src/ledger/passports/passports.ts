// Stages the deliveries of passports: the steps that the policy wants, and what people ask for. The rules are read at each call,
// because a reload of the config may change them.

import type { DeliveryState } from '../../domain/delivery/delivery.ts';
import {
  nextStep,
  type PassportAnswer,
  type PassportDesire,
  revisedDesire,
  type UnpublishedPage,
  wantedByPolicy,
} from '../../domain/passport.ts';
import type { PassportReplay, ReplaySelection } from '../../domain/ports/replay.ts';
import { parametersOf, type SelectionParameters, selectedByCause } from '../deliveries/replay.ts';
import { isStuck, openDeliveryOf } from '../items/item-row.ts';
import { reconcile } from '../items/reconcile.ts';
import { hastenDelivery, takeBackDelivery } from '../items/revisions.ts';
import { statement } from '../store/statement.ts';
import type { Reads, Tx } from '../store/tx.ts';
import { blockersOf, commonBlockers, type EvaluatedProduct, isComplete } from './completeness.ts';
import {
  clearPassportDirty,
  desireIn,
  desirePassport,
  desireText,
  markPassportDirty,
  type PassportOwner,
  statusIn,
  statusText,
} from './passport-items.ts';

/** A product with its passport, if it has one. */
interface PassportRow extends EvaluatedProduct, PassportOwner {
  /**
   * 1 if the source no longer has the product. A released product counts as present until the guard has decided about
   * it.
   */
  gone: number;
  passportId: number | null;
  desired: string | null;
  baseline: string | null;
  dirty: number | null;
}

const PASSPORT_COLUMNS = `p.id, p.key, p.natural_key AS naturalKey, p.source, p.appeared_at AS appearedAt,
  p.missing_since IS NOT NULL AS gone,
  q.id AS passportId, q.desired, q.baseline, q.dirty`;

/** Every product, with its passport if it has one. */
const PRODUCTS_WITH_PASSPORTS = `${PASSPORT_COLUMNS} FROM items p LEFT JOIN items q ON q.kind = 'passport' AND q.key = p.key`;

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

const BLOCKERS_MAX = 10;

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
  // Two statements, each with its own index: a single statement with OR would read all products.
  productByKey: statement<[string], PassportRow>(
    `SELECT ${PRODUCTS_WITH_PASSPORTS} WHERE p.kind = 'product' AND p.key = +?`,
  ),
  productByNaturalKey: statement<[string], PassportRow>(
    `SELECT ${PRODUCTS_WITH_PASSPORTS} WHERE p.kind = 'product' AND p.natural_key = +? LIMIT 1`,
  ),
  unpublished: statement<[{ afterKey: string; limit: number; published: string }], PassportRow>(
    `SELECT ${PRODUCTS_WITH_PASSPORTS} WHERE p.kind = 'product' AND p.key > @afterKey AND p.missing_since IS NULL
       AND p.record_id IS NOT NULL AND coalesce(q.baseline, '') <> @published ORDER BY p.key LIMIT @limit`,
  ),
  // Stuck deliveries are few, so the query begins with them. The `+` prevents SQLite from reading all passports
  // instead.
  stuck: statement<[SelectionParameters], PassportRow & { state: DeliveryState }>(
    `SELECT ${PASSPORT_COLUMNS}, q.state FROM items q CROSS JOIN items p ON p.kind = 'product' AND p.key = q.key
     WHERE ${isStuck('q')} AND +q.kind = 'passport'
       AND q.state IN (SELECT value FROM json_each(@states))
       AND (@keys = '[]' OR p.key IN (SELECT value FROM json_each(@keys))
            OR p.natural_key IN (SELECT value FROM json_each(@keys)))
       AND (@ids = '[]' OR q.id IN (SELECT value FROM json_each(@ids)))
       AND (@sources = '[]' OR q.source IN (SELECT value FROM json_each(@sources)))`,
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

/** True if the next step may be taken now. A withdrawal needs no complete product. */
function mayStep(row: PassportRow, desire: PassportDesire, isComplete: () => boolean): boolean {
  const step = nextStep(statusIn(row.baseline), desire.status);
  return step === null || step.operation === 'passport.unpublish' || isComplete();
}

export function askForPassports(
  tx: Tx,
  { products, status }: { products: readonly string[]; status: 'published' | 'unpublished' },
): PassportAnswer[] {
  return products.map((name) => askOne(tx, name, status));
}

export function unpublishedPassports(
  reads: Reads,
  { afterKey, limit }: { afterKey: string | null; limit: number },
): UnpublishedPage {
  const rows = SQL.unpublished(reads).all({ afterKey: afterKey ?? '', limit, published: statusText('published') });
  const page: UnpublishedPage = { complete: [], incomplete: [], withdrawn: 0, lastKey: null };
  const common = rows.length === 0 ? [] : commonBlockers(reads, BLOCKERS_MAX);
  for (const row of rows) {
    const { key, naturalKey } = row;
    const desire = desireIn(row.desired);
    const blockers = [...common, ...blockersOf(reads, row, BLOCKERS_MAX)].slice(0, BLOCKERS_MAX);
    if (desire?.because === 'person' && desire.status === 'unpublished') page.withdrawn += 1;
    else if (blockers.length > 0) page.incomplete.push({ key, naturalKey, blockers });
    else page.complete.push(key);
  }
  if (rows.length === limit) page.lastKey = rows.at(-1)?.key ?? null;
  return page;
}

export function replayPassports(
  tx: Tx,
  { selection, dryRun }: { selection: ReplaySelection; dryRun: boolean },
): PassportReplay {
  const replayed: PassportReplay = { asked: 0, incomplete: 0, leftUnconfirmed: 0 };
  const selected =
    selection.cause === undefined ? ({ type: 'deliveries', selection } as const) : selectedByCause(tx, selection.cause);
  if (selected?.type !== 'deliveries') return replayed;
  for (const row of SQL.stuck(tx).all(parametersOf(selected.selection))) {
    const desire = desireIn(row.desired);
    if (desire === null || row.passportId === null) continue;
    if (row.state === 'in_doubt') replayed.leftUnconfirmed += 1;
    else if (!mayStep(row, desire, () => isComplete(tx, row))) replayed.incomplete += 1;
    else {
      replayed.asked += 1;
      if (!dryRun) reconcile(tx, row.passportId, true);
    }
  }
  return replayed;
}

function askOne(tx: Tx, asked: string, status: 'published' | 'unpublished'): PassportAnswer {
  const row = SQL.productByKey(tx).get(asked) ?? SQL.productByNaturalKey(tx).get(asked);
  if (!row) return { asked, key: null, naturalKey: null, result: 'unknown', blockers: [] };
  const answer = { asked, key: row.key, naturalKey: row.naturalKey };
  if (status === 'published') {
    const blockers = [...commonBlockers(tx, BLOCKERS_MAX), ...blockersOf(tx, row, BLOCKERS_MAX)];
    if (blockers.length > 0) return { ...answer, result: 'incomplete', blockers: blockers.slice(0, BLOCKERS_MAX) };
  } else if (row.passportId === null) {
    // A passport that was never initialised is not public. A stored request would only prevent the policy from
    // publishing it later.
    return { ...answer, result: 'settled', blockers: [] };
  }
  const id = desirePassport(tx, row, { status, because: 'person' });
  const staged = reconcile(tx, id, true);
  hastenDelivery(tx, id);
  const open = openDeliveryOf(tx, id);
  const result = staged !== null ? 'staged' : open ? 'busy' : 'settled';
  return { ...answer, result, blockers: [] };
}
