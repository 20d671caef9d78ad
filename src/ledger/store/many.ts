// Statements that store many rows of bound values.

import { statement, type Transaction } from './tx.ts';

type Value = string | number | null;

/** Stores many rows. Each row has the values of its columns. */
export type StoreMany = (tx: Transaction, rows: readonly (readonly Value[])[]) => void;

/** How many rows one statement stores. A larger statement is not faster for each row. */
const SIZES = [64, 32, 16, 8, 4, 2, 1];

/** Returns a function that stores many rows with few statements. `textOf` makes the statement for a number of rows. */
function storeMany(textOf: (size: number) => string): StoreMany {
  const statements = SIZES.map((size) => ({ size, store: statement<[Value[]]>(textOf(size)) }));
  return (tx, rows) => {
    let at = 0;
    for (const { size, store } of statements) {
      while (rows.length - at >= size) {
        const values: Value[] = [];
        for (const end = at + size; at < end; at += 1) for (const value of rows[at] ?? []) values.push(value);
        store(tx).run(values);
      }
    }
  };
}

function rowsOf(size: number, columns: readonly unknown[]): string[] {
  return Array.from({ length: size }, () => `(${columns.map(() => '?').join(', ')})`);
}

/** Returns a function that inserts many rows with few statements. */
export function insertMany({ into, columns }: { into: string; columns: readonly string[] }): StoreMany {
  return storeMany((size) => `INSERT INTO ${into} (${columns.join(', ')}) VALUES ${rowsOf(size, columns).join(', ')}`);
}

/**
 * Returns a function that updates many rows by their ids with few statements. For wide rows this takes less time than rows in JSON.
 *
 * @param values the names and types of the values of a row, without the id, which is the first one
 * @param set what is set to the values of a row `v`, which are set to the columns of the same names if it is left out
 */
export function updateMany({
  table,
  values,
  set = Object.keys(values)
    .map((name) => `${name} = v.${name}`)
    .join(', '),
}: {
  table: string;
  values: Readonly<Record<string, 'INTEGER' | 'TEXT'>>;
  set?: string;
}): StoreMany {
  const columns = Object.entries({ id: 'INTEGER', ...values });
  // The first row says the types for PostgreSQL.
  const first = `(${columns.map(([, type]) => `CAST(? AS ${type})`).join(', ')})`;
  return storeMany((size) => {
    const rows = [first, ...rowsOf(size - 1, columns)].join(', ');
    return `WITH v (${columns.map(([name]) => name).join(', ')}) AS (VALUES ${rows})
      UPDATE ${table} SET ${set} FROM v WHERE ${table}.id = v.id`;
  });
}
