// Finds deliveries that are due now, without those that are suspended. remaining.ts finds all other deliveries that are
// left.
//
// The deliveries are read by operation. Those of a refused scope may be a million, and must not be read to find the few
// deliveries of other scopes.

import { OPERATIONS, type Operation } from '../../domain/delivery/operation.ts';
import type { Denials, DueDelivery, SuspendedWork } from '../../domain/ports/due.ts';
import type { DeliveryLedger } from '../../domain/ports/ledger/delivery-ledger.ts';
import { suspendedCreates } from '../contact/contact.ts';
import { statement } from '../store/statement.ts';
import type { Reads } from '../store/tx.ts';
import { reasonHas } from './reason-conditions.ts';

export const NOTHING_SUSPENDED: SuspendedWork = {
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

export interface SuspendedUnconfirmed {
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

export const DUE_COLUMNS = 'i.id, i.kind, i.key, i.revision, i.operation, i.source';

/** The operations that are not sent now: those of refused scopes, and creates that wait for a list. */
export function suspendedOperations(reads: Reads, { operations }: SuspendedWork): Operation[] {
  return [...operations, ...suspendedCreates(reads)];
}

/** The operations that may be sent now. */
export function freeOperations(reads: Reads, suspended: SuspendedWork): Operation[] {
  const stays = suspendedOperations(reads, suspended);
  return OPERATIONS.filter((operation) => !stays.includes(operation));
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
  isDue: statement<[number, number], { id: number }>(
    "SELECT id FROM items WHERE id = ? AND state = 'due' AND due_at <= ?",
  ),
  denials: statement<[number], { at: number | null; isAskedAgain: 0 | 1 }>(
    `SELECT iif(${reasonHas('i', 'scope_denied')}, i.settled_at, NULL) AS at,
       ifnull((SELECT h.operation = i.operation AND ${reasonHas('h', 'item_forbidden')} FROM history h
         WHERE h.item_id = i.id AND h.revision < i.revision ORDER BY h.revision DESC LIMIT 1), 0) AS isAskedAgain
     FROM items i WHERE i.id = ?`,
  ),
};

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

export function isDue(reads: Reads, itemId: number): boolean {
  return SQL.isDue(reads).get(itemId, reads.clock.now()) !== undefined;
}

export function denialsOf(reads: Reads, itemId: number): Denials {
  const { at, isAskedAgain } = SQL.denials(reads).get(itemId) ?? { at: null, isAskedAgain: 0 };
  return { at, isAskedAgain: isAskedAgain === 1 };
}
