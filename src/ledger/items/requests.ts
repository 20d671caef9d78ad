// The claimed requests, with their bytes and keys (I2).

import type { Operation } from '../../domain/delivery/operation.ts';
import { column, insertMany, nextId, statement, type Tx } from '../store/tx.ts';
import { type ItemRow, idsOf } from './item-row.ts';

/** A request that was claimed and may be sent again. */
export interface RequestRow {
  id: number;
  operation: Operation;
  idempotencyKey: string;
  path: string;
  body: string | null;
  /** How many times the request was claimed. */
  sends: number;
}

const insertRows = insertMany({
  into: 'requests',
  columns: ['id', 'operation', 'idempotency_key', 'path', 'body', 'sends', 'claimed_at'],
});

const SQL = {
  claimAgain: statement<[{ ids: string; now: number }]>(
    'UPDATE requests SET sends = sends + 1, claimed_at = @now WHERE id IN (SELECT value FROM json_each(@ids))',
  ),
  leave: statement<[string]>(
    'UPDATE items SET request_id = NULL, request_place = NULL WHERE id IN (SELECT value FROM json_each(?))',
  ),
  leaveImports: statement<[string]>(
    `UPDATE items SET request_id = NULL, request_place = NULL
     WHERE request_place IS NOT NULL AND request_id IN (SELECT value FROM json_each(?))`,
  ),
  withMembers: column<[string], number>(
    `SELECT DISTINCT request_id FROM items
     WHERE request_place IS NOT NULL AND request_id IN (SELECT value FROM json_each(?))`,
  ),
  leaveAll: statement<[string]>(
    `UPDATE items SET request_id = NULL, request_place = NULL
     WHERE request_id IS NOT NULL AND operation IN (SELECT value FROM json_each(?))`,
  ),
  removeEmpty: statement(
    'DELETE FROM requests WHERE id NOT IN (SELECT request_id FROM items WHERE request_id IS NOT NULL)',
  ),
  remove: statement<[string]>('DELETE FROM requests WHERE id IN (SELECT value FROM json_each(?))'),
};

export function nextRequestId(tx: Tx): number {
  return nextId(tx, 'requests');
}

/** Stores requests that are claimed for the first time. */
export function insertRequests(tx: Tx, requests: readonly RequestRow[], claimedAt: number): void {
  insertRows(
    tx,
    requests.map(({ id, operation, idempotencyKey, path, body, sends }) => [
      id,
      operation,
      idempotencyKey,
      path,
      body,
      sends,
      claimedAt,
    ]),
  );
}

/** Counts another claim of kept requests. */
export function claimRequestsAgain(tx: Tx, ids: readonly number[], now: number): void {
  if (ids.length > 0) SQL.claimAgain(tx).run({ ids: JSON.stringify(ids), now });
}

/**
 * Takes items out of their requests, whose bytes must not be sent again. All changed products leave their import together: if one
 * of them left it, the same bytes would restore its older content (I3). An import of new products is never sent twice, so a new
 * product leaves it without the others. Requests without members are deleted.
 */
export function leaveRequests(
  tx: Tx,
  items: readonly Pick<ItemRow, 'id' | 'operation' | 'requestId' | 'requestPlace'>[],
): void {
  const members = items.flatMap(({ requestId, ...item }) => (requestId === null ? [] : [{ ...item, requestId }]));
  if (members.length === 0) return;
  const changed = members.filter(({ operation }) => operation === 'product.import');
  const others = members.filter(({ operation }) => operation !== 'product.import');
  if (changed.length > 0) SQL.leaveImports(tx).run(requestsOf(changed));
  if (others.length > 0) SQL.leave(tx).run(JSON.stringify(idsOf(others)));
  const shared = others.filter(({ requestPlace }) => requestPlace !== null);
  const withMembers = new Set(shared.length === 0 ? [] : SQL.withMembers(tx).all(requestsOf(shared)));
  SQL.remove(tx).run(requestsOf(members.filter(({ requestId }) => !withMembers.has(requestId))));
}

function requestsOf(members: readonly { requestId: number }[]): string {
  return JSON.stringify([...new Set(members.map(({ requestId }) => requestId))]);
}

/**
 * Takes all items with these operations out of their requests. Their deliveries are sent in new requests when they are
 * claimed next.
 */
export function leaveRequestsOf(tx: Tx, operations: readonly Operation[]): void {
  SQL.leaveAll(tx).run(JSON.stringify(operations));
  SQL.removeEmpty(tx).run();
}

/** Deletes requests that have no members any more. */
export function removeRequests(tx: Tx, ids: readonly number[]): void {
  if (ids.length > 0) SQL.remove(tx).run(JSON.stringify(ids));
}
