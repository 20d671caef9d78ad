import type { DeliveryState } from '../../domain/delivery.ts';
import {
  nextStep,
  type PassportAnswer,
  type PassportDesire,
  type PassportStatus,
  revisedDesire,
  type UnpublishedPage,
  wantedByPolicy,
} from '../../domain/passport.ts';
import type { PassportReplay, ReplaySelection } from '../../domain/ports/replay.ts';
import { isStuck } from '../deliveries/delivery-states.ts';
import { parametersOf, type SelectionParameters } from '../deliveries/selection.ts';
import type { Items } from '../items/items.ts';
import { type LedgerContext, parseJson, parseJsonOrNull } from '../store/context.ts';
import { createCompleteness, type EvaluatedProduct } from './completeness.ts';
import type { PassportItems, PassportOwner } from './passport-items.ts';
import { desireText, statusText } from './passport-text.ts';

/** Stages the deliveries of passports. Each function is the body of a transaction, or a part of one. */
export interface Passports {
  evaluate(request: { afterKey: string | null; limit: number }): { staged: number; lastKey: string | null };
  /** Evaluates one passport after a step of it was acknowledged. Returns true if the next step was staged. */
  follow(passportId: number): boolean;
  /**
   * Takes back a staged init or publish that may not be sent any more, because its product is not complete now. The
   * passport is evaluated again later. Returns true if it was taken back.
   */
  takeBackUnlessWanted(passportId: number): boolean;
  /**
   * Stages the step of a stuck passport again as a new revision, if its product is complete. Returns true if it did.
   */
  askAgain(passportId: number): boolean;
  markDirtyBy: PassportItems['markDirtyBy'];
  ask(request: { products: readonly string[]; status: 'published' | 'unpublished' }): PassportAnswer[];
  unpublished(request: { afterKey: string | null; limit: number }): UnpublishedPage;
  replay(request: { selection: ReplaySelection; dryRun: boolean }): PassportReplay;
}

interface CandidateRow extends EvaluatedProduct, PassportOwner {
  /** 1 if the source no longer has the product, or if no record makes it any more. */
  gone: number;
  passportId: number | null;
  desired: string | null;
  baseline: string | null;
  dirty: number | null;
}

const BLOCKERS_MAX = 10;
const COLUMNS = `p.id, p.key, p.natural_key AS naturalKey, p.source, p.appeared_at AS appearedAt,
  (p.missing_since IS NOT NULL OR p.record_id IS NULL) AS gone,
  q.id AS passportId, q.desired, q.baseline, q.dirty`;
const CANDIDATE = `${COLUMNS} FROM items p LEFT JOIN items q ON q.kind = 'passport' AND q.key = p.key`;
/** If no policy wants passports, only products that have a passport are read. */
const CANDIDATE_WITH_PASSPORT = `${COLUMNS} FROM items q CROSS JOIN items p ON q.kind = 'passport' AND p.key = q.key`;

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

export function createPassports(
  context: LedgerContext,
  { items, passportItems: passports }: { items: Items; passportItems: PassportItems },
): Passports {
  const { db, passportRules: rules } = context;
  const completeness = createCompleteness(db, rules);
  const wanted = wantedByPolicy(rules);
  const asWanted = wanted === null ? '' : desireText({ status: wanted, because: 'policy' });
  const first = wanted === null ? 'q' : 'p';
  const sql = {
    // Passports that need no step are left out by comparing their texts. So an evaluation of a million products takes a
    // second or two.
    candidates: db.prepare<
      [{ afterKey: string; limit: number; wanted: string | null; asWanted: string } & typeof AT_REST],
      CandidateRow
    >(
      `SELECT ${wanted === null ? CANDIDATE_WITH_PASSPORT : CANDIDATE}
       WHERE p.kind = 'product' AND ${first}.key > @afterKey AND p.remote_id IS NOT NULL AND (
         (q.id IS NULL AND @wanted IS NOT NULL) OR q.dirty = 1
         OR (q.id IS NOT NULL AND (p.missing_since IS NOT NULL OR p.record_id IS NULL))
         OR (q.desired <> @asWanted AND q.desired NOT LIKE '{"because":"person"%'
             AND NOT (q.desired = @published AND coalesce(q.baseline, '') = @isPublished)
             AND NOT (@wanted IS NULL AND q.desired = @initialized AND coalesce(q.baseline, '') = @isInitialized)
             AND NOT (@wanted IS NULL AND q.desired = @none)))
       ORDER BY ${first}.key LIMIT @limit`,
    ),
    // Two statements, each by its index: one with OR would walk all products.
    productByKey: db.prepare<[string], CandidateRow>(`SELECT ${CANDIDATE} WHERE p.kind = 'product' AND p.key = +?`),
    productByNaturalKey: db.prepare<[string], CandidateRow>(
      `SELECT ${CANDIDATE} WHERE p.kind = 'product' AND p.natural_key = +? LIMIT 1`,
    ),
    unpublished: db.prepare<[{ afterKey: string; limit: number; published: string }], CandidateRow>(
      `SELECT ${CANDIDATE} WHERE p.kind = 'product' AND p.key > @afterKey AND p.missing_since IS NULL
         AND p.record_id IS NOT NULL AND coalesce(q.baseline, '') <> @published ORDER BY p.key LIMIT @limit`,
    ),
    passport: db.prepare<[number], CandidateRow>(
      `SELECT ${COLUMNS} FROM items q JOIN items p ON p.kind = 'product' AND p.key = q.key WHERE q.id = ?`,
    ),
    // Stuck deliveries are few, so the query begins with them. The `+` keeps SQLite from reading all passports instead.
    stuck: db.prepare<[SelectionParameters], CandidateRow & { state: DeliveryState }>(
      `SELECT ${COLUMNS}, q.state FROM items q CROSS JOIN items p ON p.kind = 'product' AND p.key = q.key
       WHERE ${isStuck('q')} AND +q.kind = 'passport'
         AND q.state IN (SELECT value FROM json_each(@states))
         AND (@keys = '[]' OR p.key IN (SELECT value FROM json_each(@keys))
              OR p.natural_key IN (SELECT value FROM json_each(@keys)))
         AND (@ids = '[]' OR q.id IN (SELECT value FROM json_each(@ids)))
         AND (@sources = '[]' OR q.source IN (SELECT value FROM json_each(@sources)))`,
    ),
  };

  function isComplete(product: EvaluatedProduct): boolean {
    return completeness.commonBlockers(1).length === 0 && completeness.blockersOf(product, 1).length === 0;
  }

  function revised({ desired, baseline, gone, source }: CandidateRow): PassportDesire | null {
    const standing = { desire: desireIn(desired), acknowledged: statusIn(baseline), gone: gone === 1 };
    return revisedDesire(standing, { ...rules, withdraws: rules.withdrawMissingOf.includes(source) });
  }

  /** True if the next step may be taken now. A withdrawal needs no complete product. */
  function mayStep(row: CandidateRow, desire: PassportDesire, complete = () => isComplete(row)): boolean {
    const step = nextStep(statusIn(row.baseline), desire.status);
    return step === null || step.operation === 'passport.unpublish' || complete();
  }

  function evaluate(row: CandidateRow, again: boolean, complete?: () => boolean): boolean {
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

  function askOne(asked: string, status: 'published' | 'unpublished'): PassportAnswer {
    const row = sql.productByKey.get(asked) ?? sql.productByNaturalKey.get(asked);
    if (!row) return { asked, key: null, naturalKey: null, result: 'unknown', blockers: [] };
    const answer = { asked, key: row.key, naturalKey: row.naturalKey };
    if (status === 'published') {
      const blockers = [...completeness.commonBlockers(BLOCKERS_MAX), ...completeness.blockersOf(row, BLOCKERS_MAX)];
      if (blockers.length > 0) return { ...answer, result: 'incomplete', blockers: blockers.slice(0, BLOCKERS_MAX) };
    } else if (row.passportId === null) {
      // A passport that was never initialised is not public. Storing the request would only keep the policy from
      // publishing it later.
      return { ...answer, result: 'settled', blockers: [] };
    }
    const id = passports.desire(row, { status, because: 'person' });
    const staged = items.reconcile(id, true);
    items.hasten(id);
    const open = items.openDelivery(id);
    const result = staged !== null ? 'staged' : open ? 'busy' : 'settled';
    return { ...answer, result, blockers: [] };
  }

  return {
    evaluate({ afterKey, limit }) {
      const areAllBlocked = completeness.commonBlockers(1).length > 0;
      const rows = sql.candidates.all({ ...AT_REST, afterKey: afterKey ?? '', wanted, asWanted, limit });
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
      if (isWanted && mayStep(row, desire)) return false;
      items.takeBack(passportId);
      passports.markDirty(passportId);
      return true;
    },

    askAgain(passportId) {
      const row = sql.passport.get(passportId);
      const desire = row === undefined ? null : desireIn(row.desired);
      // If something else is desired by now, the evaluation stages that.
      if (row === undefined || desire === null || revised(row) !== null) return false;
      return mayStep(row, desire) && items.reconcile(passportId, true) !== null;
    },

    markDirtyBy: (delivered) => passports.markDirtyBy(delivered),

    ask: ({ products, status }) => products.map((name) => askOne(name, status)),

    unpublished({ afterKey, limit }) {
      const rows = sql.unpublished.all({ afterKey: afterKey ?? '', limit, published: AT_REST.isPublished });
      const page: UnpublishedPage = { complete: [], incomplete: [], withdrawn: 0, lastKey: null };
      const common = rows.length === 0 ? [] : completeness.commonBlockers(BLOCKERS_MAX);
      for (const row of rows) {
        const { key, naturalKey } = row;
        const desire = desireIn(row.desired);
        const blockers = [...common, ...completeness.blockersOf(row, BLOCKERS_MAX)].slice(0, BLOCKERS_MAX);
        if (desire?.because === 'person' && desire.status === 'unpublished') page.withdrawn += 1;
        else if (blockers.length > 0) page.incomplete.push({ key, naturalKey, blockers });
        else page.complete.push(key);
      }
      if (rows.length === limit) page.lastKey = rows.at(-1)?.key ?? null;
      return page;
    },

    replay({ selection, dryRun }) {
      const replayed: PassportReplay = { asked: 0, incomplete: 0, leftUnconfirmed: 0 };
      for (const row of sql.stuck.all(parametersOf(selection))) {
        const desire = desireIn(row.desired);
        if (desire === null || row.passportId === null) continue;
        if (row.state === 'in_doubt') replayed.leftUnconfirmed += 1;
        else if (!mayStep(row, desire)) replayed.incomplete += 1;
        else {
          replayed.asked += 1;
          if (!dryRun) items.reconcile(row.passportId, true);
        }
      }
      return replayed;
    },
  };
}

function desireIn(text: string | null): PassportDesire | null {
  return parseJsonOrNull<PassportDesire>(text);
}

/** The status that the API has acknowledged. */
function statusIn(baseline: string | null): PassportStatus | null {
  return baseline === null ? null : (parseJson<{ status?: PassportStatus }>(baseline).status ?? null);
}
