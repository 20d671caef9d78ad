// Stages the deliveries of passports: the steps that the policy wants, and what people ask for. The rules are read at each call,
// because a reload of the config may change them.

import type { DeliveryState } from '../../domain/delivery/delivery.ts';
import {
  nextStep,
  type PassportAnswer,
  type PassportDesire,
  revisedDesire,
  statusText,
  type UnpublishedPage,
  wantedByPolicy,
} from '../../domain/passport.ts';
import type { PassportReplay, ReplaySelection } from '../../domain/ports/ledger/replay-ledger.ts';
import { isOpenState, isStuck, itemsById } from '../items/item-row.ts';
import { reconcileAll } from '../items/reconcile.ts';
import { hastenDeliveries, takeBackDeliveries } from '../items/revisions.ts';
import { hasKey, parametersOf, type SelectionParameters, selectedBy } from '../items/stuck-groups.ts';
import { type Reads, statement, type Tx } from '../store/tx.ts';
import { blockersOfAll, commonBlockers, completeAmong, type EvaluatedProduct } from './completeness.ts';
import {
  clearPassportsDirty,
  desireIn,
  desirePassports,
  desireText,
  markPassportsDirty,
  type PassportOwner,
  statusIn,
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
  passports: statement<[string], PassportRow>(
    `SELECT ${PASSPORT_COLUMNS} FROM json_each(?) k CROSS JOIN items q ON q.id = k.value
     CROSS JOIN items p ON p.kind = 'product' AND p.key = q.key`,
  ),
  // A key wins over the natural key of another product. Each has its own index.
  productsNamed: statement<[{ names: string }], PassportRow & { asked: string }>(
    `SELECT n.value AS asked, ${PRODUCTS_WITH_PASSPORTS.replace('FROM items p', 'FROM json_each(@names) n CROSS JOIN items p')}
     WHERE p.id = coalesce((SELECT id FROM items WHERE kind = 'product' AND key = n.value),
       (SELECT min(id) FROM items WHERE kind = 'product' AND natural_key = n.value))`,
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
       AND ${hasKey('p')}
       AND (@ids = '[]' OR q.id IN (SELECT value FROM json_each(@ids)))
       AND (@sources = '[]' OR q.source IN (SELECT value FROM json_each(@sources)))`,
  ),
};

export function evaluatePassports(
  tx: Tx,
  { afterKey, limit }: { afterKey: string | null; limit: number },
): { staged: number; lastKey: string | null } {
  // A reload of the config may have changed the policy since the last page.
  const wanted = wantedByPolicy(tx.passportRules);
  const asWanted = wanted === null ? '' : desireText({ status: wanted, because: 'policy' });
  const list = wanted === null ? SQL.candidatesOfPassports : SQL.candidatesOfProducts;
  const rows = list(tx).all({ ...AT_REST, afterKey: afterKey ?? '', wanted, asWanted, limit });
  const staged = evaluateAll(
    tx,
    rows.map((row) => ({ row, again: row.dirty === 1 })),
  ).size;
  return { staged, lastKey: rows.length < limit ? null : (rows.at(-1)?.key ?? null) };
}

/** Evaluates passports after a step of each was acknowledged. Returns the ids of those whose next step was staged. */
export function followPassports(tx: Tx, passportIds: readonly number[]): ReadonlySet<number> {
  const rows = passportsById(tx, passportIds);
  // If a product is not complete now, its passport is evaluated later.
  markPassportsDirty(
    tx,
    rows.flatMap(({ passportId }) => passportId ?? []),
  );
  return evaluateAll(
    tx,
    rows.map((row) => ({ row, again: true })),
  );
}

/**
 * Takes back staged initialisations and publications that may not be sent any more, because their products are not
 * complete now. These passports are evaluated again later. Returns the ids of those that were taken back.
 */
export function takeBackUnlessWanted(tx: Tx, passportIds: readonly number[]): ReadonlySet<number> {
  if (passportIds.length === 0) return new Set();
  const rows = passportsById(tx, passportIds).map((row) => {
    const desire = revised(tx, row) ?? desireIn(row.desired);
    return { row, desire, step: desire && nextStep(statusIn(row.baseline), desire.status) };
  });
  const steps = mayStepAmong(
    tx,
    rows.flatMap(({ row, desire, step }) => (desire !== null && step !== null ? { row, desire } : [])),
  );
  const kept = new Set(rows.flatMap(({ row }) => (steps.has(row) ? (row.passportId ?? []) : [])));
  const ids = passportIds.filter((id) => !kept.has(id));
  takeBackDeliveries(tx, ids);
  markPassportsDirty(tx, ids);
  return new Set(ids);
}

/**
 * Stages the steps of stuck passports again as new revisions, if their products are complete. Returns the ids of those
 * whose step was staged.
 */
export function sendPassportsAgain(tx: Tx, passportIds: readonly number[]): ReadonlySet<number> {
  const rows = passportsById(tx, passportIds).flatMap((row) => {
    const desire = desireIn(row.desired);
    // If another status is desired by now, the evaluation stages the step to it.
    return desire === null || revised(tx, row) !== null ? [] : { row, desire };
  });
  const ids = [...mayStepAmong(tx, rows)].flatMap(({ passportId }) => passportId ?? []);
  return new Set(reconcileAll(tx, ids, true).keys());
}

function passportsById(tx: Tx, ids: readonly number[]): PassportRow[] {
  return ids.length === 0 ? [] : SQL.passports(tx).all(JSON.stringify(ids));
}

function revised(tx: Tx, { desired, baseline, gone, source }: PassportRow): PassportDesire | null {
  const standing = { desire: desireIn(desired), acknowledged: statusIn(baseline), gone: gone === 1 };
  return revisedDesire(standing, {
    ...tx.passportRules,
    withdraws: tx.passportRules.withdrawMissingOf.includes(source),
  });
}

/** Stages the next steps of passports. With `again`, a stuck step is staged again. Returns the ids of the staged passports. */
function evaluateAll(tx: Tx, given: readonly { row: PassportRow; again: boolean }[]): ReadonlySet<number> {
  const asks = given.flatMap(({ row, again }) => {
    const revision = revised(tx, row);
    const desire = revision ?? desireIn(row.desired);
    return desire === null || (revision === null && !again) ? [] : { row, again, revision, desire };
  });
  const steps = mayStepAmong(tx, asks);
  const evaluated = asks.filter(({ row }) => steps.has(row));
  const desired = desirePassports(
    tx,
    evaluated.flatMap(({ row, revision }) => (revision === null ? [] : { owner: row, desire: revision })),
  );
  const staged = new Set<number>();
  for (const [again, asked] of Map.groupBy(evaluated, (ask) => ask.again)) {
    const ids = asked.flatMap(({ row }) => desired.get(row.key) ?? row.passportId ?? []);
    for (const id of reconcileAll(tx, ids, again).keys()) staged.add(id);
    if (!again) continue;
    // A delivery that is in flight now was staged before the passport became dirty, so it may have to be sent again.
    const moving = new Set(
      itemsById(
        tx,
        ids.filter((id) => !staged.has(id)),
      ).flatMap(({ id, state }) => (state !== null && MOVING.includes(state) ? id : [])),
    );
    clearPassportsDirty(
      tx,
      ids.filter((id) => !moving.has(id)),
    );
  }
  return staged;
}

/** Those rows whose next step may be taken now. A withdrawal needs no complete product. */
function mayStepAmong<R extends PassportRow>(
  tx: Tx,
  asks: readonly { row: R; desire: PassportDesire }[],
): ReadonlySet<R> {
  const needComplete = asks.filter(({ row, desire }) => needsComplete(row, desire)).map(({ row }) => row);
  const complete = completeAmong(tx, needComplete);
  return new Set(asks.flatMap(({ row, desire }) => (!needsComplete(row, desire) || complete.has(row.id) ? row : [])));
}

function needsComplete(row: PassportRow, desire: PassportDesire): boolean {
  const step = nextStep(statusIn(row.baseline), desire.status);
  return step !== null && step.operation !== 'passport.unpublish';
}

export function askForPassports(
  tx: Tx,
  { products, status }: { products: readonly string[]; status: 'published' | 'unpublished' },
): PassportAnswer[] {
  const named = new Map(
    SQL.productsNamed(tx)
      .all({ names: JSON.stringify(products) })
      .map((row) => [row.asked, row]),
  );
  const rows = [...new Map([...named.values()].map((row) => [row.id, row])).values()];
  const blockers = status === 'published' ? blockersFor(tx, rows) : null;
  // A passport that was never initialised is not public. A stored request would only prevent the policy from
  // publishing it later.
  const asked = rows.filter(({ id, passportId }) =>
    blockers === null ? passportId !== null : blockers(id).length === 0,
  );
  const desired = desirePassports(
    tx,
    asked.map((owner) => ({ owner, desire: { status, because: 'person' } })),
  );
  const ids = [...desired.values()];
  const staged = reconcileAll(tx, ids, true);
  hastenDeliveries(tx, ids);
  const open = new Set(itemsById(tx, ids).flatMap(({ id, state }) => (isOpenState(state) ? id : [])));
  return products.map((name): PassportAnswer => {
    const row = named.get(name);
    if (row === undefined) return { asked: name, key: null, naturalKey: null, result: 'unknown', blockers: [] };
    const answer = { asked: name, key: row.key, naturalKey: row.naturalKey };
    const found = blockers?.(row.id) ?? [];
    if (found.length > 0) return { ...answer, result: 'incomplete', blockers: found };
    const id = desired.get(row.key);
    const isStaged = id !== undefined && staged.has(id);
    const result = isStaged ? 'staged' : id !== undefined && open.has(id) ? 'busy' : 'settled';
    return { ...answer, result, blockers: [] };
  });
}

/** The first blockers of these products, by the id of the product. */
function blockersFor(reads: Reads, rows: readonly PassportRow[]): (id: number) => string[] {
  const common = rows.length === 0 ? [] : commonBlockers(reads, BLOCKERS_MAX);
  const blockers = blockersOfAll(reads, rows, BLOCKERS_MAX);
  return (id) => [...common, ...(blockers.get(id) ?? [])].slice(0, BLOCKERS_MAX);
}

export function unpublishedPassports(
  reads: Reads,
  { afterKey, limit }: { afterKey: string | null; limit: number },
): UnpublishedPage {
  const rows = SQL.unpublished(reads).all({ afterKey: afterKey ?? '', limit, published: statusText('published') });
  const page: UnpublishedPage = { complete: [], incomplete: [], withdrawn: 0, lastKey: null };
  const blockersOfRow = blockersFor(reads, rows);
  for (const { id, key, naturalKey, desired } of rows) {
    const desire = desireIn(desired);
    const blockers = blockersOfRow(id);
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
  const selected = selectedBy(tx, selection);
  if (selected?.type !== 'deliveries') return replayed;
  const stuck = SQL.stuck(tx)
    .all(parametersOf(selected.selection))
    .flatMap((row) => {
      const desire = desireIn(row.desired);
      return desire === null || row.passportId === null ? [] : { row, desire };
    });
  const ready = stuck.filter(({ row }) => row.state !== 'in_doubt');
  const steps = mayStepAmong(tx, ready);
  const ids = ready.flatMap(({ row }) => (steps.has(row) ? (row.passportId ?? []) : []));
  replayed.leftUnconfirmed = stuck.length - ready.length;
  replayed.incomplete = ready.length - ids.length;
  replayed.asked = ids.length;
  if (!dryRun) reconcileAll(tx, ids, true);
  return replayed;
}
