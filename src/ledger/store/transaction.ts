import type { Database } from 'better-sqlite3';

declare const open: unique symbol;

/** An open transaction of a database. What takes one runs inside a transaction. */
export interface Transaction {
  db: Database;
  readonly [open]: true;
}

/** Runs a write as one transaction, which begins as a writing one. If the write throws, all of it is undone. */
export function inTransaction<Of extends { db: Database }, T>(of: Of, write: (tx: Of & Transaction) => T): T {
  return of.db.transaction(() => write(of as Of & Transaction)).immediate();
}
