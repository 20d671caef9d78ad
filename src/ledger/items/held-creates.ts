import type { Reason } from '../../domain/delivery/reason.ts';
import type { Sqlite } from '../store/database.ts';
import { createInsertMany } from '../store/insert-many.ts';

/** Why the create of a new item waits for the guard. */
export const HELD_CREATE: Reason = {
  code: 'guarded',
  message:
    'The item is new, and its stream had other items before. It is created when the read has shown that these are not gone.',
};

/**
 * New items of streams that were read before. Their creates wait until the guard has decided whether the items that the
 * stream had are gone. Call each function inside a transaction.
 */
export interface HeldCreates {
  /** Of these records, those whose new items have to wait, with their streams. */
  holding(recordIds: readonly number[]): ReadonlyMap<number, number>;
  add(creates: readonly { itemId: number; streamId: number }[]): void;
  has(itemId: number): boolean;
  /** The records that make nothing but held creates: the stream did not have them before. */
  newRecords(streamId: number): Set<number>;
  /** The keys of the held creates, by kind. At most `limit` keys. */
  keys(streamId: number, kind: string, limit: number): string[];
  /** How many creates of a kind are held. */
  count(streamId: number, kind: string): number;
}

export function createHeldCreates(db: Sqlite): HeldCreates {
  const insert = createInsertMany(db, { into: 'held_creates', columns: ['item_id', 'stream_id'] });
  const sql = {
    any: db.prepare<[], number>('SELECT 1 FROM streams WHERE holds_creates > 0 LIMIT 1').pluck(),
    holding: db.prepare<[string], { recordId: number; streamId: number }>(
      `SELECT r.id AS recordId, r.stream_id AS streamId FROM records r JOIN streams s ON s.id = r.stream_id
       WHERE r.id IN (SELECT value FROM json_each(?)) AND s.holds_creates > 0`,
    ),
    has: db.prepare<[number], number>('SELECT 1 FROM held_creates WHERE item_id = ?').pluck(),
    newRecords: db
      .prepare<[number], number>(
        `SELECT DISTINCT i.record_id FROM held_creates h CROSS JOIN items i ON i.id = h.item_id
         WHERE h.stream_id = ? AND i.record_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM items o
           WHERE o.record_id = i.record_id AND o.id NOT IN (SELECT item_id FROM held_creates))`,
      )
      .pluck(),
    keys: db
      .prepare<[number, string, number], string>(
        `SELECT i.key FROM held_creates h CROSS JOIN items i ON i.id = h.item_id
         WHERE h.stream_id = ? AND i.kind = ? ORDER BY h.item_id LIMIT ?`,
      )
      .pluck(),
    count: db
      .prepare<[number, string], number>(
        `SELECT count(*) FROM held_creates h CROSS JOIN items i ON i.id = h.item_id WHERE h.stream_id = ? AND i.kind = ?`,
      )
      .pluck(),
  };
  return {
    holding(recordIds) {
      if (sql.any.get() === undefined) return new Map();
      const rows = sql.holding.all(JSON.stringify([...new Set(recordIds)]));
      return new Map(rows.map(({ recordId, streamId }) => [recordId, streamId]));
    },
    add(creates) {
      if (creates.length > 0) insert(creates.map(({ itemId, streamId }) => [itemId, streamId]));
    },
    has: (itemId) => sql.has.get(itemId) !== undefined,
    newRecords: (streamId) => new Set(sql.newRecords.all(streamId)),
    keys: (streamId, kind, limit) => sql.keys.all(streamId, kind, limit),
    count: (streamId, kind) => sql.count.get(streamId, kind) ?? 0,
  };
}
