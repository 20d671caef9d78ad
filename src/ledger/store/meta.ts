// Facts about the ledger itself, by name.

import type { Database } from 'better-sqlite3';
import type { Operation } from '../../domain/delivery/operation.ts';
import type { ApiWait } from '../../domain/delivery/outcome.ts';
import type { DaemonNotes } from '../../domain/ports/ledger/care-ledger.ts';
import type { Profile } from '../../domain/profile.ts';
import { sha256Url } from '../../lib/hash.ts';
import { canonicalJson, type JsonValue } from '../../lib/json.ts';
import { column, parseJson, parseJsonOrNull, type Reads, statement, type Transaction, type Tx } from './tx.ts';

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

// What the API has shown of itself: what its answers repeat, and how long it wants to be left alone.

const ECHOES = 'echoes';
const WAIT = 'api_wait';

/** The operations whose answers have repeated what was sent. */
interface Echoes {
  /** The hash of the part of the profile that decides what an answer repeats. */
  under: string;
  operations: Operation[];
}

export function echoedOperations(reads: Reads): Operation[] {
  const stored = parseJsonOrNull<Echoes>(readMeta(reads, ECHOES));
  return stored?.under === formOf(reads.profile) ? stored.operations : [];
}

/** Notes an operation whose answer has repeated what was sent. */
export function storeEcho(tx: Tx, operation: Operation): void {
  const operations = [...new Set([...echoedOperations(tx), operation])];
  writeMeta(tx, ECHOES, JSON.stringify({ under: formOf(tx.profile), operations } satisfies Echoes));
}

/** A hash of the settings that say where an answer repeats the request. If one of them changes, answers are learnt again. */
function formOf({
  naturalKeys,
  idPaths,
  idUrlPaths,
  wireNames,
  refNames,
  requests,
  list,
  publications,
}: Profile): string {
  const { productIdPaths, productUrlPaths } = publications;
  const products = { productIdPaths, productUrlPaths };
  const form = { naturalKeys, idPaths, idUrlPaths, wireNames, refNames, requests, entry: list.entry, ...products };
  return sha256Url(canonicalJson(form as unknown as JsonValue));
}

/** Stores the wait that the API has asked for; null when it is over. */
export function noteApiWait(tx: Tx, wait: ApiWait | null): void {
  if (wait === null) removeMeta(tx, WAIT);
  else writeMeta(tx, WAIT, JSON.stringify(wait));
}

export function readApiWait(reads: Pick<Reads, 'db'>): ApiWait | null {
  const text = readMeta(reads, WAIT);
  return text === null ? null : parseJson<ApiWait>(text);
}
