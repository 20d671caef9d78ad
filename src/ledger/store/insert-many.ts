import { column, statement } from './statement.ts';
import type { Transaction } from './transaction.ts';

type Value = string | number | null;

/** How many rows one statement inserts. A larger statement is not faster for each row. */
const SIZES = [64, 32, 16, 8, 4, 2, 1];

/** Returns a function that inserts many rows with few statements. */
export function insertMany({
  into,
  columns,
}: {
  into: string;
  columns: readonly string[];
}): (tx: Transaction, rows: readonly (readonly Value[])[]) => void {
  const row = `(${columns.map(() => '?').join(', ')})`;
  const statements = SIZES.map((size) => {
    const values = Array.from({ length: size }, () => row).join(', ');
    return { size, insert: statement<[Value[]]>(`INSERT INTO ${into} (${columns.join(', ')}) VALUES ${values}`) };
  });
  return (tx, rows) => {
    let at = 0;
    for (const { size, insert } of statements) {
      for (; rows.length - at >= size; at += size) insert(tx).run(rows.slice(at, at + size).flat());
    }
  };
}

const sequenceOf = column<[string], number>('SELECT seq FROM sqlite_sequence WHERE name = ?');

/**
 * Returns an id that no row of this AUTOINCREMENT table has ever had. The caller inserts rows with this id and the
 * following ones in the same transaction, which raises the table's sequence.
 */
export function nextId(tx: Transaction, table: 'items' | 'records' | 'requests'): number {
  return (sequenceOf(tx).get(table) ?? 0) + 1;
}
