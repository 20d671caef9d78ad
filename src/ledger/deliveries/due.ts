// Finds deliveries that are due now, without those that are suspended, and what else is left to deliver, for a process that
// waits for the end of the work.
//
// The deliveries are read by operation. Those of a refused scope may be a million, and must not be read to find the few
// deliveries of other scopes.

import { OPERATIONS, type Operation } from '../../domain/delivery/operation.ts';
import { NO_REASON, storedReason } from '../../domain/delivery/stored-reason.ts';
import type { Denials, DueDelivery, LeftAway, SuspendedWork, WorkOf } from '../../domain/ports/deliveries.ts';
import type { DeliveryLedger } from '../../domain/ports/ledger/delivery-ledger.ts';
import { suspendedCreates } from '../contact/contact.ts';
import { reasonHas } from '../items/item-row.ts';
import { column, type Reads, statement } from '../store/tx.ts';

const NOTHING_SUSPENDED: SuspendedWork = {
  operations: [],
  unconfirmed: { operations: [], kinds: [], reasons: [] },
};

/**
 * SQL condition: true if the item `i` has an unconfirmed delivery that is suspended. Takes the parameters of
 * `suspendedUnconfirmed`.
 */
export const IS_SUSPENDED_UNCONFIRMED = `((i.operation IN (SELECT value FROM json_each(@unconfirmedOperations))
  OR (i.kind IN (SELECT value FROM json_each(@unconfirmedKinds))
    AND i.reason ->> '$.code' IN (SELECT value FROM json_each(@unconfirmedReasons)))) AND (@unconfirmedAnswered = 1 OR NOT ${reasonHas('i', 'was_answered')}))`;

interface SuspendedUnconfirmed {
  unconfirmedOperations: string;
  unconfirmedKinds: string;
  unconfirmedReasons: string;
  /** 1 or 0. */
  unconfirmedAnswered: number;
}

/** The parameters of `IS_SUSPENDED_UNCONFIRMED`. */
export function suspendedUnconfirmed({ unconfirmed }: SuspendedWork = NOTHING_SUSPENDED): SuspendedUnconfirmed {
  return {
    unconfirmedOperations: JSON.stringify(unconfirmed.operations),
    unconfirmedKinds: JSON.stringify(unconfirmed.kinds),
    unconfirmedReasons: JSON.stringify(unconfirmed.reasons),
    unconfirmedAnswered: unconfirmed.answered === true ? 1 : 0,
  };
}

const DUE_COLUMNS = 'i.id, i.kind, i.key, i.revision, i.operation, i.source';

/** SQL condition: true if the delivery of the item `i` is due at some time without a person, and is not suspended. */
const IS_SCHEDULED = `i.state IN ('due', 'in_doubt') AND i.due_at > 0
  AND CASE i.state WHEN 'due' THEN i.operation NOT IN (SELECT value FROM json_each(@operations))
      ELSE ${IS_SUSPENDED_UNCONFIRMED} IS NOT TRUE END`;

/** SQL condition: true if the API could not accept the delivery of the item `i` since a time before `@before`. */
const IS_LEFT_AWAY = `i.state = 'due' AND ${reasonHas('i', 'api_away')} AND i.reason ->> '$.since' <= @before`;

type Scheduled = SuspendedUnconfirmed & Of & { operations: string };

/** SQL condition: true if a `WorkOf` selects the item `i`. Takes the parameters of `ofWork`. */
const IS_OF = `(@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources)))
  AND (@products = '[]' OR (i.kind = 'passport' AND i.key IN (SELECT value FROM json_each(@products))))`;
interface Of {
  sources: string;
  products: string;
}

const SQL = {
  due: statement<[Operation, number, number, number], DueDelivery>(
    `SELECT ${DUE_COLUMNS} FROM items i
     WHERE i.state = 'due' AND i.operation = +? AND i.id > +? AND i.due_at <= +? ORDER BY i.id LIMIT +?`,
  ),
  span: statement<[Operation], { least: number | null; most: number | null }>(
    "SELECT min(id) AS least, max(id) AS most FROM items WHERE state = 'due' AND operation = +?",
  ),
  byHand: statement<[{ now: number; limit: number; operations: string }], DueDelivery>(
    `SELECT ${DUE_COLUMNS} FROM items i
     WHERE i.by_hand = 1 AND i.state = 'due' AND i.due_at <= @now
       AND i.operation NOT IN (SELECT value FROM json_each(@operations)) ORDER BY i.id LIMIT @limit`,
  ),
  dueAmong: column<[string, number], number>(
    "SELECT i.id FROM json_each(?) k CROSS JOIN items i ON i.id = k.value WHERE i.state = 'due' AND i.due_at <= ?",
  ),
  denials: statement<[string], { id: number; at: number | null; isAskedAgain: 0 | 1 }>(
    `SELECT i.id, iif(${reasonHas('i', 'scope_denied')}, i.settled_at, NULL) AS at,
       coalesce((SELECT CASE WHEN h.operation = i.operation AND ${reasonHas('h', 'item_forbidden')} THEN 1 ELSE 0 END FROM history h
         WHERE h.item_id = i.id AND h.revision < i.revision ORDER BY h.revision DESC LIMIT 1), 0) AS isAskedAgain
     FROM json_each(?) k CROSS JOIN items i ON i.id = k.value`,
  ),
  // The search begins with the latest delivery, because people mostly ask about the latest changes.
  dueNow: statement<[Of & { operation: Operation }], { id: number }>(
    `SELECT i.id FROM items i WHERE i.state = 'due' AND i.operation = +@operation AND i.due_at = 0 AND ${IS_OF}
     ORDER BY i.id DESC LIMIT 1`,
  ),
  suspended: statement<[Of & { operation: Operation }], { id: number }>(
    `SELECT i.id FROM items i WHERE i.state = 'due' AND i.operation = +@operation AND ${IS_OF}
     ORDER BY i.id DESC LIMIT 1`,
  ),
  sending: column<[Of], number>(`SELECT count(*) FROM items i WHERE i.state = 'sending' AND ${IS_OF}`),
  next: statement<[Scheduled & { after: number }], { at: number }>(
    `SELECT i.due_at AS at FROM items i WHERE ${IS_SCHEDULED} AND i.due_at > @after AND ${IS_OF}
     ORDER BY i.due_at LIMIT 1`,
  ),
  countAway: statement<[Scheduled & { before: number }], { away: number; all: number }>(
    `SELECT count(*) FILTER (WHERE ${IS_LEFT_AWAY}) AS away, count(*) AS "all" FROM items i WHERE ${IS_SCHEDULED} AND ${IS_OF}`,
  ),
  firstAway: statement<[Scheduled & { before: number }], DueDelivery & { reason: string; dueAt: number }>(
    `SELECT ${DUE_COLUMNS}, i.reason, i.due_at AS dueAt
     FROM items i WHERE ${IS_SCHEDULED} AND ${IS_LEFT_AWAY} AND ${IS_OF} ORDER BY i.reason ->> '$.since' NULLS FIRST, i.id LIMIT 1`,
  ),
  countDue: statement<[Operation], { count: number }>(
    "SELECT count(*) AS count FROM items WHERE state = 'due' AND operation = ?",
  ),
  countUnconfirmed: statement<[SuspendedUnconfirmed], { count: number }>(
    `SELECT count(*) AS count FROM items i
     WHERE i.state IN ('due', 'in_doubt') AND i.due_at > 0 AND i.state = 'in_doubt' AND ${IS_SUSPENDED_UNCONFIRMED}`,
  ),
};

/** The operations that are not sent now: those of refused scopes, and creates that wait for a list. */
function suspendedOperations(reads: Reads, { operations }: SuspendedWork): Operation[] {
  return [...operations, ...suspendedCreates(reads)];
}

/** The operations that may be sent now. */
function freeOperations(reads: Reads, suspended: SuspendedWork): Operation[] {
  const stays = suspendedOperations(reads, suspended);
  return OPERATIONS.filter((operation) => !stays.includes(operation));
}

export function dueDeliveries(
  reads: Reads,
  { afterId, limit, suspended = NOTHING_SUSPENDED }: Parameters<DeliveryLedger['dueDeliveries']>[0],
): DueDelivery[] {
  const now = reads.clock.now();
  const found = freeOperations(reads, suspended).flatMap((operation) =>
    SQL.due(reads).all(operation, afterId, now, limit),
  );
  return found.toSorted((a, b) => a.id - b.id).slice(0, limit);
}

export function someDueDelivery(
  reads: Reads,
  { place, suspended = NOTHING_SUSPENDED }: Parameters<DeliveryLedger['someDueDelivery']>[0],
): DueDelivery | null {
  const ids = freeOperations(reads, suspended).flatMap((operation) => {
    const { least = null, most = null } = SQL.span(reads).get(operation) ?? {};
    return least === null || most === null ? [] : [least, most];
  });
  if (ids.length === 0) return null;
  const least = Math.min(...ids);
  const afterId = least - 1 + Math.floor(place * (Math.max(...ids) - least + 1));
  return dueDeliveries(reads, { afterId, limit: 1, suspended })[0] ?? null;
}

export function dueByHand(
  reads: Reads,
  { limit, suspended = NOTHING_SUSPENDED }: Parameters<DeliveryLedger['dueByHand']>[0],
): DueDelivery[] {
  return SQL.byHand(reads).all({
    now: reads.clock.now(),
    limit,
    operations: JSON.stringify(suspendedOperations(reads, suspended)),
  });
}

export function dueAmong(reads: Reads, itemIds: readonly number[]): ReadonlySet<number> {
  return new Set(SQL.dueAmong(reads).all(JSON.stringify(itemIds), reads.clock.now()));
}

export function denialsOf(reads: Reads, itemIds: readonly number[]): ReadonlyMap<number, Denials> {
  const rows = SQL.denials(reads).all(JSON.stringify(itemIds));
  return new Map(rows.map(({ id, at, isAskedAgain }) => [id, { at, isAskedAgain: isAskedAgain === 1 }]));
}

export function nextDueAt(
  reads: Reads,
  { after, suspended = NOTHING_SUSPENDED, of }: Parameters<DeliveryLedger['nextDueAt']>[0] = {},
): number | null {
  if (after === undefined && isDueNow(reads, suspended, of)) return 0;
  return SQL.next(reads).get({ ...scheduled(reads, suspended, of), after: after ?? 0 })?.at ?? null;
}

export function leftAway(
  reads: Reads,
  { before, suspended = NOTHING_SUSPENDED, of }: Parameters<DeliveryLedger['leftAway']>[0],
): LeftAway | null {
  if (isDueNow(reads, suspended, of)) return null;
  const parameters = { ...scheduled(reads, suspended, of), before };
  const { away, all } = SQL.countAway(reads).get(parameters) ?? { away: 0, all: 0 };
  const first = away > 0 && away === all ? SQL.firstAway(reads).get(parameters) : undefined;
  return first ? { count: away, first: { ...first, reason: storedReason(first.reason) ?? NO_REASON } } : null;
}

export function countSending(reads: Reads, of: WorkOf): number {
  return SQL.sending(reads).get(ofWork(of)) ?? 0;
}

export function hasSuspended(reads: Reads, of: WorkOf): boolean {
  return suspendedCreates(reads).some((operation) => SQL.suspended(reads).get({ operation, ...ofWork(of) }));
}

export function countSuspended(reads: Reads, suspended: SuspendedWork): { due: number; unconfirmed: number } {
  const due = suspended.operations.reduce(
    (sum, operation) => sum + (SQL.countDue(reads).get(operation)?.count ?? 0),
    0,
  );
  return { due, unconfirmed: SQL.countUnconfirmed(reads).get(suspendedUnconfirmed(suspended))?.count ?? 0 };
}

function scheduled(reads: Reads, suspended: SuspendedWork, of: WorkOf | undefined): Scheduled {
  return {
    ...suspendedUnconfirmed(suspended),
    ...ofWork(of),
    operations: JSON.stringify(suspendedOperations(reads, suspended)),
  };
}

function isDueNow(reads: Reads, suspended: SuspendedWork, of: WorkOf | undefined): boolean {
  return freeOperations(reads, suspended).some((operation) => SQL.dueNow(reads).get({ operation, ...ofWork(of) }));
}

function ofWork(of: WorkOf | undefined): Of {
  const sources = of !== undefined && 'sources' in of ? of.sources : [];
  const products = of !== undefined && 'passportsOf' in of ? of.passportsOf : [];
  return { sources: JSON.stringify(sources), products: JSON.stringify(products) };
}
