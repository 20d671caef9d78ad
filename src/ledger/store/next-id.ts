import type { Sqlite } from './database.ts';

/**
 * Gives the first id that no row of a table with AUTOINCREMENT has ever had: rows that are inserted with this id and those after it
 * move the table's sequence on. For use inside the transaction that inserts them.
 */
export function createNextId(db: Sqlite, table: 'items' | 'records' | 'requests'): () => number {
  const sequence = db.prepare<[string], number>('SELECT seq FROM sqlite_sequence WHERE name = ?').pluck();
  return () => (sequence.get(table) ?? 0) + 1;
}
