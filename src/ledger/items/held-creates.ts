// New items of streams that were read before. Their creates wait until the guard has decided whether the items that the
// stream had are gone.

import type { Reason } from '../../domain/delivery/reason.ts';
import { insertMany } from '../store/insert-many.ts';
import { column, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';

/** Why the create of a new item waits for the guard. */
export const HELD_CREATE: Reason = {
  code: 'guarded',
  message:
    'The item is new, and its stream had other items before. It is created when the read has shown that these are not gone.',
};

const insertHeldCreates = insertMany({ into: 'held_creates', columns: ['item_id', 'stream_id'] });

const SQL = {
  any: column<[], number>('SELECT 1 FROM streams WHERE holds_creates > 0 LIMIT 1'),
  holding: statement<[string], { recordId: number; streamId: number }>(
    `SELECT r.id AS recordId, r.stream_id AS streamId FROM records r JOIN streams s ON s.id = r.stream_id
     WHERE r.id IN (SELECT value FROM json_each(?)) AND s.holds_creates > 0`,
  ),
  has: column<[number], number>('SELECT 1 FROM held_creates WHERE item_id = ?'),
  newRecords: column<[number], number>(
    `SELECT DISTINCT i.record_id FROM held_creates h CROSS JOIN items i ON i.id = h.item_id
     WHERE h.stream_id = ? AND i.record_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM items o
       WHERE o.record_id = i.record_id AND o.id NOT IN (SELECT item_id FROM held_creates))`,
  ),
  keys: column<[number, string, number], string>(
    `SELECT i.key FROM held_creates h CROSS JOIN items i ON i.id = h.item_id
     WHERE h.stream_id = ? AND i.kind = ? ORDER BY h.item_id LIMIT ?`,
  ),
  count: column<[number, string], number>(
    `SELECT count(*) FROM held_creates h CROSS JOIN items i ON i.id = h.item_id WHERE h.stream_id = ? AND i.kind = ?`,
  ),
};

/** Of these records, those whose new items have to wait, with their streams. */
export function heldStreamsOf(tx: Tx, recordIds: readonly number[]): ReadonlyMap<number, number> {
  if (SQL.any(tx).get() === undefined) return new Map();
  const rows = SQL.holding(tx).all(JSON.stringify([...new Set(recordIds)]));
  return new Map(rows.map(({ recordId, streamId }) => [recordId, streamId]));
}

export function addHeldCreates(tx: Tx, creates: readonly { itemId: number; streamId: number }[]): void {
  if (creates.length > 0)
    insertHeldCreates(
      tx,
      creates.map(({ itemId, streamId }) => [itemId, streamId]),
    );
}

export function isHeldCreate(tx: Tx, itemId: number): boolean {
  return SQL.has(tx).get(itemId) !== undefined;
}

/** The records that make nothing but held creates: the stream did not have them before. */
export function newRecordsOf(tx: Tx, streamId: number): Set<number> {
  return new Set(SQL.newRecords(tx).all(streamId));
}

/** The keys of the held creates, by kind. At most `limit` keys. */
export function heldKeysOf(tx: Tx, streamId: number, kind: string, limit: number): string[] {
  return SQL.keys(tx).all(streamId, kind, limit);
}

/** How many creates of a kind are held. */
export function countHeldCreates(tx: Tx, streamId: number, kind: string): number {
  return SQL.count(tx).get(streamId, kind) ?? 0;
}
