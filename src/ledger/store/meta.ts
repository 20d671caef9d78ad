// Facts about the ledger itself, by name.

import type { Database } from 'better-sqlite3';
import { column, statement } from './statement.ts';
import type { Transaction } from './transaction.ts';

const SQL = {
  read: column<[string], string>('SELECT value FROM meta WHERE name = ?'),
  write: statement<[string, string]>(
    'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
  ),
  remove: statement<[string]>('DELETE FROM meta WHERE name = ?'),
};

export function readMeta(of: { db: Database }, name: string): string | null {
  return SQL.read(of).get(name) ?? null;
}

export function writeMeta(tx: Transaction, name: string, value: string): void {
  SQL.write(tx).run(name, value);
}

export function removeMeta(tx: Transaction, name: string): void {
  SQL.remove(tx).run(name);
}

/** Returns the fact, which is created if the ledger does not have it. */
export function readOrWriteMeta(tx: Transaction, name: string, create: () => string): string {
  const found = readMeta(tx, name);
  if (found !== null) return found;
  const value = create();
  writeMeta(tx, name, value);
  return value;
}
