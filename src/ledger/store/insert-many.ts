import type { Statement } from 'better-sqlite3';
import type { Sqlite } from './database.ts';

type Value = string | number | null;

/** The most rows in one statement. A larger statement is not faster for each row. */
const ROWS_MAX = 64;

/**
 * Inserts many rows with few statements. The number of rows in a statement is a power of two, so only a few statements
 * are prepared. Call it inside a transaction.
 */
export function createInsertMany(
  db: Sqlite,
  { into, columns }: { into: string; columns: readonly string[] },
): (rows: readonly (readonly Value[])[]) => void {
  const row = `(${columns.map(() => '?').join(', ')})`;
  const statements = new Map<number, Statement<[Value[]]>>();

  function statementOf(count: number): Statement<[Value[]]> {
    const known = statements.get(count);
    if (known !== undefined) return known;
    const values = Array.from({ length: count }, () => row).join(', ');
    const statement = db.prepare<[Value[]]>(`INSERT INTO ${into} (${columns.join(', ')}) VALUES ${values}`);
    statements.set(count, statement);
    return statement;
  }

  return (rows) => {
    let at = 0;
    while (at < rows.length) {
      let count = ROWS_MAX;
      while (count > rows.length - at) count /= 2;
      const values: Value[] = [];
      for (const end = at + count; at < end; at += 1) for (const value of rows[at] ?? []) values.push(value);
      statementOf(count).run(values);
    }
  };
}

/**
 * Returns an id that no row of this AUTOINCREMENT table has ever had. The caller inserts rows with this id and the
 * following ones in the same transaction, which raises the table's sequence.
 */
export function createNextId(db: Sqlite, table: 'items' | 'records' | 'requests'): () => number {
  const sequence = db.prepare<[string], number>('SELECT seq FROM sqlite_sequence WHERE name = ?').pluck();
  return () => (sequence.get(table) ?? 0) + 1;
}
