import type { Sqlite } from './database.ts';

/**
 * Returns an id that no row of this AUTOINCREMENT table has ever had. The caller inserts rows with this id and the
 * following ones in the same transaction, which raises the table's sequence.
 */
export function createNextId(db: Sqlite, table: 'items' | 'records' | 'requests'): () => number {
  const sequence = db.prepare<[string], number>('SELECT seq FROM sqlite_sequence WHERE name = ?').pluck();
  return () => (sequence.get(table) ?? 0) + 1;
}
