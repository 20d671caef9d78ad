import type Database from 'better-sqlite3';
import { keyWithoutPadding, recordKey } from '../../../domain/record.ts';

/** So many records are read at once. */
const RECORDS_AT_ONCE = 5_000;

interface RecordKey {
  id: number;
  streamId: number;
  key: string;
}

/**
 * White space, byte order marks and padding around the values of a key are no part of the key any more. Without this
 * step, the next read would not find the records that have such keys, and would count them as missing.
 */
export function removePaddingFromKeys(db: Database.Database): void {
  const sql = {
    page: db.prepare<[number, number], RecordKey>(
      'SELECT id, stream_id AS streamId, key FROM records WHERE id > ? ORDER BY id LIMIT ?',
    ),
    isTaken: db.prepare<[number, string], number>('SELECT 1 FROM records WHERE stream_id = ? AND key = ?').pluck(),
    rename: db.prepare<[string, number]>('UPDATE records SET key = ? WHERE id = ?'),
  };
  /** The first key that no other record has: rows with the same key are numbered. */
  const freeKey = (streamId: number, key: string): string => {
    for (let occurrence = 1; ; occurrence++) {
      const free = recordKey(key, occurrence);
      if (sql.isTaken.get(streamId, free) === undefined) return free;
    }
  };
  let afterId = 0;
  for (;;) {
    const records = sql.page.all(afterId, RECORDS_AT_ONCE);
    for (const { id, streamId, key } of records) {
      const plain = keyWithoutPadding(key);
      if (plain !== key) sql.rename.run(freeKey(streamId, plain), id);
    }
    const last = records.at(-1);
    if (last === undefined) return;
    afterId = last.id;
  }
}
