import type { DeliveryState } from '../../domain/delivery/delivery.ts';
import { nextStep, type PassportDesire, revisedDesire, wantedByPolicy } from '../../domain/passport.ts';
import type { Items } from '../items/items.ts';
import type { LedgerContext } from '../store/context.ts';
import { createCompleteness } from './completeness.ts';
import type { PassportItems } from './passport-items.ts';
import { mayStep, PASSPORT_COLUMNS, type PassportRow, PRODUCTS_WITH_PASSPORTS } from './passport-row.ts';
import { desireIn, desireText, statusIn, statusText } from './passport-text.ts';

/** Stages the deliveries of passports. Call each function inside a transaction. */
export interface Passports {
  evaluate(request: { afterKey: string | null; limit: number }): { staged: number; lastKey: string | null };
  /** Evaluates one passport after a step of it was acknowledged. Returns true if the next step was staged. */
  follow(passportId: number): boolean;
  /**
   * Takes back a staged initialisation or publication that may not be sent any more, because its product is not
   * complete now. The passport is evaluated again later. Returns true if it was taken back.
   */
  takeBackUnlessWanted(passportId: number): boolean;
  /**
   * Stages the step of a stuck passport again as a new revision, if its product is complete. Returns true if it did.
   */
  askAgain(passportId: number): boolean;
  markDirtyBy: PassportItems['markDirtyBy'];
}

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

/** @param context its `passportRules` are read at each call, because a reload of the config may change them */
export function createPassports(
  context: LedgerContext,
  { items, passportItems: passports }: { items: Items; passportItems: PassportItems },
): Passports {
  const { db, passportRules: rules } = context;
  const completeness = createCompleteness(db, rules);
  const sql = {
    candidatesOfPassports: db.prepare<[CandidateQuery], PassportRow>(candidates(PASSPORTS_WITH_PRODUCTS, 'q')),
    candidatesOfProducts: db.prepare<[CandidateQuery], PassportRow>(candidates(PRODUCTS_WITH_PASSPORTS, 'p')),
    passport: db.prepare<[number], PassportRow>(
      `SELECT ${PASSPORT_COLUMNS} FROM items q JOIN items p ON p.kind = 'product' AND p.key = q.key WHERE q.id = ?`,
    ),
  };

  function revised({ desired, baseline, gone, source }: PassportRow): PassportDesire | null {
    const standing = { desire: desireIn(desired), acknowledged: statusIn(baseline), gone: gone === 1 };
    return revisedDesire(standing, { ...rules, withdraws: rules.withdrawMissingOf.includes(source) });
  }

  const isComplete = (row: PassportRow) => () => completeness.isComplete(row);

  function evaluate(row: PassportRow, again: boolean, complete = isComplete(row)): boolean {
    const revision = revised(row);
    const desire = revision ?? desireIn(row.desired);
    if (desire === null || (revision === null && !again) || !mayStep(row, desire, complete)) return false;
    const id = revision === null ? row.passportId : passports.desire(row, revision);
    if (id === null) return false;
    const staged = items.reconcile(id, again);
    // A delivery that is in flight now was staged before the passport became dirty, so it may have to be sent again.
    if (again && (staged !== null || !MOVING.includes(items.openDelivery(id)?.state))) passports.clearDirty(id);
    return staged !== null;
  }

  return {
    evaluate({ afterKey, limit }) {
      const areAllBlocked = completeness.commonBlockers(1).length > 0;
      // A reload of the config may have changed the policy since the last page.
      const wanted = wantedByPolicy(rules);
      const asWanted = wanted === null ? '' : desireText({ status: wanted, because: 'policy' });
      const list = wanted === null ? sql.candidatesOfPassports : sql.candidatesOfProducts;
      const rows = list.all({ ...AT_REST, afterKey: afterKey ?? '', wanted, asWanted, limit });
      const staged = rows.filter((row) =>
        evaluate(row, row.dirty === 1, () => !areAllBlocked && completeness.blockersOf(row, 1).length === 0),
      ).length;
      return { staged, lastKey: rows.length < limit ? null : (rows.at(-1)?.key ?? null) };
    },

    follow(passportId) {
      const row = sql.passport.get(passportId);
      if (!row) return false;
      // If the product is not complete now, the passport is evaluated later.
      passports.markDirty(passportId);
      return evaluate(row, true);
    },

    takeBackUnlessWanted(passportId) {
      const row = sql.passport.get(passportId);
      const desire = row && (revised(row) ?? desireIn(row.desired));
      const isWanted = row && desire && nextStep(statusIn(row.baseline), desire.status) !== null;
      if (isWanted && mayStep(row, desire, isComplete(row))) return false;
      items.takeBack(passportId);
      passports.markDirty(passportId);
      return true;
    },

    askAgain(passportId) {
      const row = sql.passport.get(passportId);
      const desire = row === undefined ? null : desireIn(row.desired);
      // If another status is desired by now, the evaluation stages the step to it.
      if (row === undefined || desire === null || revised(row) !== null) return false;
      return mayStep(row, desire, isComplete(row)) && items.reconcile(passportId, true) !== null;
    },

    markDirtyBy: (delivered) => passports.markDirtyBy(delivered),
  };
}
