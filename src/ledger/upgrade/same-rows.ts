import { isDeepStrictEqual } from 'node:util';
import type Database from 'better-sqlite3';

/**
 * Returns whether two files have the same tables with the same rows, apart from the mark of a backup. Reads both files
 * once, row by row with bounded memory, and stops at the first difference.
 */
export function hasSameRows(one: Database.Database, other: Database.Database): boolean {
  const tables = tablesOf(one);
  return isDeepStrictEqual(tables, tablesOf(other)) && tables.every(({ name }) => hasSameRowsIn(name, one, other));
}

interface Table {
  name: string;
  sql: string | null;
}

function tablesOf(db: Database.Database): Table[] {
  return db.prepare<[], Table>("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name").all();
}

function hasSameRowsIn(table: string, one: Database.Database, other: Database.Database): boolean {
  const [rows, otherRows] = [rowsOf(one, table), rowsOf(other, table)];
  try {
    for (;;) {
      const row = rows.next();
      const otherRow = otherRows.next();
      if (row.done === true || otherRow.done === true) return row.done === otherRow.done;
      if (!isDeepStrictEqual(row.value, otherRow.value)) return false;
    }
  } finally {
    // An iterator that is not at its end would keep its file open.
    rows.return?.();
    otherRows.return?.();
  }
}

/** Both files have the same tables and indexes, so SQLite returns their rows in the same order. */
function rowsOf(db: Database.Database, table: string): IterableIterator<unknown> {
  const condition = table === 'meta' ? "WHERE name <> 'backup_at'" : '';
  return db.prepare(`SELECT * FROM "${table}" ${condition}`).raw().safeIntegers().iterate();
}
