import type { Operation } from '../../../domain/delivery/operation.ts';
import type { ItemRow } from '../../items/item-row.ts';
import type { Sqlite } from '../../store/database.ts';
import { createInsertMany, createNextId } from '../../store/insert-many.ts';

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

/** The claimed requests, with their bytes and keys (I2). Call each function inside a transaction. */
export interface Requests {
  nextId(): number;
  find(id: number): RequestRow | undefined;
  /** Stores requests that are claimed for the first time. */
  insert(requests: readonly RequestRow[], claimedAt: number): void;
  /** Counts another claim of kept requests. */
  claimAgain(ids: readonly number[], claimedAt: number): void;
  /**
   * Takes an item out of its request, whose bytes must not be sent again. All changed products leave their import
   * together: if one of them left it, the same bytes would restore its older content (I3). An import of new products is
   * never sent twice, so a new product leaves it without the others. A request without members is deleted.
   */
  release(item: Pick<ItemRow, 'id' | 'operation' | 'requestId' | 'requestPlace'>): void;
  /**
   * Takes all items with these operations out of their requests. Their deliveries are sent in new requests when they are
   * claimed next.
   */
  releaseAll(operations: readonly Operation[]): void;
  /** Deletes requests that have no members any more. */
  remove(ids: readonly number[]): void;
}

export function createRequests(db: Sqlite): Requests {
  const nextId = createNextId(db, 'requests');
  const insert = createInsertMany(db, {
    into: 'requests',
    columns: ['id', 'operation', 'idempotency_key', 'path', 'body', 'sends', 'claimed_at'],
  });
  const sql = {
    find: db.prepare<[number], RequestRow>(
      'SELECT id, operation, idempotency_key AS idempotencyKey, path, body, sends FROM requests WHERE id = ?',
    ),
    claimAgain: db.prepare<[{ ids: string; now: number }]>(
      'UPDATE requests SET sends = sends + 1, claimed_at = @now WHERE id IN (SELECT value FROM json_each(@ids))',
    ),
    leave: db.prepare<[number]>('UPDATE items SET request_id = NULL, request_place = NULL WHERE id = ?'),
    leaveImport: db.prepare<[number]>(
      'UPDATE items SET request_id = NULL, request_place = NULL WHERE request_place IS NOT NULL AND request_id = ?',
    ),
    hasMembers: db
      .prepare<[number], number>('SELECT 1 FROM items WHERE request_place IS NOT NULL AND request_id = ? LIMIT 1')
      .pluck(),
    leaveAll: db.prepare<[string]>(
      `UPDATE items SET request_id = NULL, request_place = NULL
       WHERE request_id IS NOT NULL AND operation IN (SELECT value FROM json_each(?))`,
    ),
    removeEmpty: db.prepare(
      'DELETE FROM requests WHERE id NOT IN (SELECT request_id FROM items WHERE request_id IS NOT NULL)',
    ),
    remove: db.prepare<[string]>('DELETE FROM requests WHERE id IN (SELECT value FROM json_each(?))'),
  };

  return {
    nextId,
    find: (id) => sql.find.get(id),
    insert(requests, claimedAt) {
      insert(
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
    },
    claimAgain(ids, now) {
      if (ids.length > 0) sql.claimAgain.run({ ids: JSON.stringify(ids), now });
    },
    release({ id, operation, requestId, requestPlace }) {
      if (requestId === null) return;
      if (operation === 'product.import') sql.leaveImport.run(requestId);
      else sql.leave.run(id);
      if (requestPlace !== null && sql.hasMembers.get(requestId) !== undefined) return;
      sql.remove.run(JSON.stringify([requestId]));
    },
    releaseAll(operations) {
      sql.leaveAll.run(JSON.stringify(operations));
      sql.removeEmpty.run();
    },
    remove(ids) {
      if (ids.length > 0) sql.remove.run(JSON.stringify(ids));
    },
  };
}
