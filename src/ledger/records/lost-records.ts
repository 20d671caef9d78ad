import { column, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';

// The records that a read lacks while the guard holds it.

/**
 * The name of a lost record `l`, as people know it: its first item, else its key in a lookup table, else the key of its
 * row. The parts of a key are separated by a character that cannot be typed.
 */
const NAME = `replace(coalesce(
  (SELECT coalesce(i.natural_key, i.key) FROM items i WHERE i.record_id = l.record_id ORDER BY i.id LIMIT 1),
  (SELECT e.key FROM lookup_entries e WHERE e.record_id = l.record_id AND e.record_id > 0 LIMIT 1),
  (SELECT r.key FROM records r WHERE r.id = l.record_id)), char(31), ' / ')`;

/** SQL: the first names of the lost records of the stream in `streamId`, as rows of one column. */
export function lostNames(streamId: string, limit: string): string {
  return `SELECT ${NAME} AS name FROM lost_records l WHERE l.stream_id = ${streamId} ORDER BY l.record_id LIMIT ${limit}`;
}

/** SQL: the first names of the released items of the stream in `streamId`, as rows of one column. */
export function releasedNames(streamId: string, limit: string): string {
  return `SELECT coalesce(i.natural_key, i.key) AS name FROM released l CROSS JOIN items i ON i.id = l.item_id
    WHERE l.stream_id = ${streamId} ORDER BY l.item_id LIMIT ${limit}`;
}

/** SQL condition on an item `i`: a read that the guard holds lacks its record, or its records no longer make it. */
export const IS_HELD = `(i.record_id IN (SELECT record_id FROM lost_records)
  OR i.id IN (SELECT l.item_id FROM released l JOIN guarded_items g ON g.stream_id = l.stream_id))`;

const SQL = {
  remove: statement<[number]>('DELETE FROM lost_records WHERE stream_id = ?'),
  add: statement<[number, number]>('INSERT INTO lost_records (record_id, stream_id) VALUES (?, ?)'),
  ids: column<[number], number>('SELECT record_id FROM lost_records WHERE stream_id = ?'),
  requeueContenders: statement<[string]>(
    `UPDATE records SET state = 'pending', version = version + 1
     WHERE id IN (
       SELECT c.record_id FROM contenders c CROSS JOIN records r ON r.id = c.record_id
       CROSS JOIN items i ON i.kind = c.kind AND i.key = c.key
       WHERE r.state = 'quarantined' AND r.missing_since IS NULL AND i.record_id <> r.id
         AND i.record_id IN (SELECT value FROM json_each(?)))`,
  ),
  names: column<[number, number], string>(lostNames('?', '?')),
};

/**
 * Stores which records the last read of a stream lacks. An empty list removes them.
 *
 * The reason of a row that contradicts one of these records says that the record is lost. So such rows are mapped again when a
 * record becomes lost, or is lost no more.
 */
export function replaceLostRecords(tx: Tx, streamId: number, recordIds: readonly number[]): void {
  const before = new Set(SQL.ids(tx).iterate(streamId));
  const now = new Set(recordIds);
  const changed = [...recordIds.filter((id) => !before.has(id)), ...[...before].filter((id) => !now.has(id))];
  if (changed.length > 0) SQL.requeueContenders(tx).run(JSON.stringify(changed));
  SQL.remove(tx).run(streamId);
  for (const id of recordIds) SQL.add(tx).run(id, streamId);
}

/** The names of the first lost records of a stream. */
export function namesOfLost(tx: Tx, streamId: number, limit: number): string[] {
  return SQL.names(tx).all(streamId, limit);
}
