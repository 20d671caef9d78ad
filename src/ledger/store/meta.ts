// Facts about the ledger itself, by name.

import type { Database } from 'better-sqlite3';
import type { DaemonNotes } from '../../domain/ports/daemon-notes.ts';
import { column, statement } from './statement.ts';
import { parseJson, type Reads, type Transaction, type Tx } from './tx.ts';

const SQL = {
  read: column<[string], string>('SELECT value FROM meta WHERE name = ?'),
  write: statement<[string, string]>(
    'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
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

const nameOf = (name: keyof DaemonNotes): string => `daemon_${name}`;

/** Stores a note of the daemon; null removes it. */
export function writeDaemonNote<Name extends keyof DaemonNotes>(
  tx: Tx,
  name: Name,
  note: DaemonNotes[Name] | null,
): void {
  if (note === null) removeMeta(tx, nameOf(name));
  else writeMeta(tx, nameOf(name), JSON.stringify(note));
}

export function readDaemonNote<Name extends keyof DaemonNotes>(
  reads: Pick<Reads, 'db'>,
  name: Name,
): DaemonNotes[Name] | null {
  const text = readMeta(reads, nameOf(name));
  return text === null ? null : parseJson<DaemonNotes[Name]>(text);
}
