// Stores the lookup tables, their entries, and which records have used which entries.
//
// When an entry changes, only records that have used its key wait for another mapping. If an entry changes between the
// mapping of a record and its staging, the record is not staged and waits for another mapping.

import { fault } from '../../domain/faults.ts';
import {
  foundNothing,
  type LookupEntry,
  type LookupKey,
  type LookupTable,
  type LookupUse,
  stampOf,
} from '../../domain/lookup.ts';
import { parseJsonOrNull } from '../store/context.ts';
import { column, perDatabase, statement } from '../store/statement.ts';
import type { Reads, Tx } from '../store/tx.ts';
import {
  fillEntries,
  findEntry,
  type LookedUpRecord,
  putEntries,
  removeEntries,
  replaceFileEntries,
  type StoredTable,
} from './lookup-entries.ts';
import { countRows } from './run-accounts.ts';

interface TableRow extends Omit<StoredTable, 'columns'> {
  title: string | null;
  columns: string | null;
}

const SQL = {
  tables: statement<[], TableRow>('SELECT id, name, owner, title, columns FROM lookups'),
  tablesOfStream: statement<[number], TableRow>(
    `SELECT l.id, l.name, l.owner, l.title, l.columns FROM lookups l JOIN streams s ON s.source = l.source AND s.name = l.stream
     WHERE s.id = ?`,
  ),
  insert: statement<[string, string, string | null, string | null, string | null]>(
    'INSERT INTO lookups (name, owner, source, stream, columns) VALUES (?, ?, ?, ?, ?)',
  ),
  setTitle: statement<[string, number]>('UPDATE lookups SET title = ? WHERE id = ?'),
  keysByHand: column<[string], string>('SELECT key FROM lookup_values WHERE lookup = ?'),
  remove: statement<[number]>('DELETE FROM lookups WHERE id = ?'),
  streamId: column<[string, string], number>('SELECT id FROM streams WHERE source = ? AND name = ?'),
  wasRead: statement<[number]>('UPDATE streams SET was_read = 1 WHERE id = ? AND was_read = 0'),
  requeueKey: statement<[number, string], Requeued>(requeueUsers('lookup_id = ? AND key = ?')),
  requeueAbsent: statement<[number], Requeued>(
    requeueUsers(`lookup_id = ? AND NOT EXISTS (SELECT 1 FROM lookup_entries e
      WHERE e.lookup_id = lookup_uses.lookup_id AND e.key = lookup_uses.key)`),
  ),
  insertUse: statement<[number, number, string]>(
    'INSERT OR IGNORE INTO lookup_uses (record_id, lookup_id, key) VALUES (?, ?, ?)',
  ),
  dropUses: statement<[number]>('DELETE FROM lookup_uses WHERE record_id = ?'),
};

/** The ids of the tables by name, and the tables of streams by stream. Each record asks. Read again after each change. */
const known = perDatabase((of) => ({
  ids: idsByName(SQL.tables(of).all()),
  ofStream: new Map<number, readonly StoredTable[]>(),
}));

function idsByName(tables: readonly Pick<TableRow, 'id' | 'name'>[]): Map<string, number> {
  return new Map(tables.map(({ name, id }) => [name, id]));
}

/**
 * Stores the lookup tables of sources, and the present rows of their files. A table that a source does not have any
 * more is removed. With `isAll`, the tables of all other sources are removed as well.
 */
export function defineLookups(tx: Tx, tables: ReadonlyMap<string, readonly LookupTable[]>, isAll: boolean): void {
  const wanted = new Set([...tables.values()].flat().map(({ id }) => id));
  for (const { id, name, owner } of SQL.tables(tx).all()) {
    if ((isAll || tables.has(owner)) && !wanted.has(name)) SQL.remove(tx).run(id);
  }
  const present = idsByName(SQL.tables(tx).all());
  for (const [owner, own] of tables) {
    for (const table of own) if (!present.has(table.id)) addTable(tx, table, owner);
  }
  nameTables(tx, [...tables.values()].flat());
  const stored = SQL.tables(tx).all().map(storedTable);
  known(tx).ids = idsByName(stored);
  known(tx).ofStream.clear();
  const files = new Map([...tables.values()].flat().map(({ id, entries: rows }) => [id, rows]));
  for (const table of stored) {
    const rows = files.get(table.name) ?? null;
    if (rows !== null) requeue(tx, table.id, replaceFileEntries(tx, table, rows));
  }
}

export function findLookups(reads: Reads, keys: readonly LookupKey[]): (LookupEntry & LookupKey)[] {
  const { ids } = known(reads);
  return keys.map(({ table, key }) => {
    const id = ids.get(table);
    const entry = id === undefined ? { values: [], isRead: false } : findEntry(reads, id, key);
    return { table, key, ...entry };
  });
}

/**
 * Changes a value that a person has given for all tables of this name, by calling `change`. Returns how many records
 * wait for the mapping because of it.
 *
 * @throws Fault `lookup.unknown` where a value is given, and no table has this name or takes a plain value
 */
export function changeByHand(
  tx: Tx,
  { lookup, key, value }: { lookup: string; key: string; value?: string },
  change: () => void,
): number {
  const all = SQL.tables(tx).all();
  const named = all.filter(({ title }) => title === lookup);
  if (value !== undefined) assertTakesValue(lookup, { named, all });
  const before = named.map(({ id }) => stampOf(findEntry(tx, id, key)));
  change();
  return named
    .filter(({ id }, at) => stampOf(findEntry(tx, id, key)) !== before[at])
    .reduce((count, { id }) => count + requeue(tx, id, [key]), 0);
}

/** True if mappings look up records of this stream. */
export function isLookedUp(tx: Tx, streamId: number): boolean {
  return tablesOf(tx, streamId).length > 0;
}

/** Stores the lookup entries of new or changed records of a stream. */
export function storeLookupEntries(tx: Tx, streamId: number, records: readonly LookedUpRecord[], isNew: boolean): void {
  for (const table of tablesOf(tx, streamId)) {
    for (const record of records) requeue(tx, table.id, putEntries(tx, table, record, isNew));
  }
}

export function dropLookupEntries(tx: Tx, recordId: number): void {
  if (known(tx).ids.size === 0) return;
  for (const { lookupId, key } of removeEntries(tx, recordId)) requeue(tx, lookupId, [key]);
}

/** Call it when a read of a stream was complete. */
export function noteStreamRead(tx: Tx, streamId: number): void {
  if (SQL.wasRead(tx).run(streamId).changes === 0) return;
  for (const { id } of tablesOf(tx, streamId)) recount(tx, SQL.requeueAbsent(tx).all(id));
}

/** False if one of the entries has changed since it was used. */
export function areUsesCurrent(tx: Tx, uses: readonly LookupUse[] = []): boolean {
  return uses.every(({ table, key, stamp }) => {
    const id = known(tx).ids.get(table);
    return id === undefined || stampOf(findEntry(tx, id, key)) === stamp;
  });
}

/**
 * True if a record has looked up a key in its own stream and found nothing. A later record of the stream may have the
 * key.
 */
export function waitsForOwnStream(tx: Tx, streamId: number, uses: readonly LookupUse[] = []): boolean {
  const open = uses.filter(foundNothing);
  if (open.length === 0) return false;
  const own = new Set(tablesOf(tx, streamId).map(({ name }) => name));
  return open.some(({ table }) => own.has(table));
}

/** Stores the lookup entries that the mapping of a record has used. */
export function storeUses(tx: Tx, recordId: number, uses: readonly LookupUse[] = [], isNew: boolean): void {
  const { ids } = known(tx);
  if (!isNew && ids.size > 0) SQL.dropUses(tx).run(recordId);
  for (const { table, key } of uses) {
    const id = ids.get(table);
    if (id !== undefined) SQL.insertUse(tx).run(recordId, id, key);
  }
}

function tablesOf(tx: Tx, streamId: number): readonly StoredTable[] {
  const { ids, ofStream } = known(tx);
  if (ids.size === 0) return [];
  const found = ofStream.get(streamId);
  if (found !== undefined) return found;
  const tables = SQL.tablesOfStream(tx).all(streamId).map(storedTable);
  ofStream.set(streamId, tables);
  return tables;
}

function addTable(tx: Tx, { id: name, stream }: LookupTable, owner: string): void {
  const { source = null, stream: of = null, key, value } = stream ?? {};
  const columns = stream === null ? null : { key: key ?? [], value: value ?? [] };
  const text = columns === null ? null : JSON.stringify(columns);
  const id = Number(SQL.insert(tx).run(name, owner, source, of, text).lastInsertRowid);
  const streamId = source === null || of === null ? undefined : SQL.streamId(tx).get(source, of);
  if (streamId !== undefined) fillEntries(tx, { id, name, owner, columns }, streamId);
}

/** Takes records out of the count of quarantined rows that wait for another mapping, which counts them again. */
function recount(tx: Tx, requeued: readonly Requeued[]): number {
  for (const { runId, streamId } of requeued) {
    if (runId !== null) countRows(tx, { runId, streamId, ...ONE_LESS_QUARANTINED });
  }
  return requeued.length;
}

function requeue(tx: Tx, lookupId: number, keys: readonly string[]): number {
  return keys.reduce((count, key) => count + recount(tx, SQL.requeueKey(tx).all(lookupId, key)), 0);
}

/**
 * Stores the names of tables. The values that people give belong to a name, and a changed config may give the name to
 * another table.
 */
function nameTables(tx: Tx, tables: readonly LookupTable[]): void {
  const rows = SQL.tables(tx).all();
  const named = new Map(rows.map((row) => [row.name, row]));
  for (const { id: name, name: title } of tables) {
    const row = named.get(name);
    // A config may give two names to one definition. The first name counts.
    named.delete(name);
    if (row === undefined || row.title === title) continue;
    const before = row.title === null ? [] : SQL.keysByHand(tx).all(row.title);
    SQL.setTitle(tx).run(title, row.id);
    requeue(tx, row.id, [...before, ...SQL.keysByHand(tx).all(title)]);
  }
}

/** A record that waits for another mapping. `runId` is the run that counts its result; null if the result is not counted. */
interface Requeued {
  streamId: number;
  runId: number | null;
}

const ONE_LESS_QUARANTINED = { read: 0, unchanged: 0, mapped: 0, excluded: 0, quarantined: -1 };

/**
 * Makes the records that have used some entries wait for another mapping. A waiting record will be mapped with the
 * present entries anyway, and a missing record is mapped when it is back.
 *
 * A row that is in quarantine only because a table was not read yet has waited for this mapping. So the run in which it
 * was quarantined counts it by the new result.
 */
function requeueUsers(uses: string): string {
  return `UPDATE records SET state = 'pending', version = version + 1,
      run_id = iif(state = 'quarantined' AND NOT EXISTS
          (SELECT 1 FROM json_each(issues) e WHERE e.value ->> 'code' <> 'lookup.unread'),
        (SELECT max(a.run_id) FROM run_streams a JOIN runs u ON u.id = a.run_id
          WHERE a.stream_id = records.stream_id AND a.quarantined > 0 AND u.started_at <= quarantined_at), NULL)
    WHERE id IN (SELECT record_id FROM lookup_uses WHERE ${uses})
      AND state IN ('mapped', 'excluded', 'quarantined') AND missing_since IS NULL
    RETURNING stream_id AS streamId, run_id AS runId`;
}

function assertTakesValue(
  lookup: string,
  { named, all }: { named: readonly TableRow[]; all: readonly TableRow[] },
): void {
  if (named.length === 0) {
    const titles = [...new Set(all.flatMap(({ title }) => title ?? []))];
    const known =
      titles.length === 0 ? 'No mapping uses a lookup table.' : `Name one of these tables: ${titles.join(', ')}.`;
    throw fault('lookup.unknown', `No mapping uses a lookup table "${lookup}".`, { suggestion: known });
  }
  if (named.some(({ columns }) => Array.isArray(storedColumns(columns)?.value))) {
    throw fault(
      'lookup.unknown',
      `The lookup table "${lookup}" gives several columns, but a value by hand is only one text.`,
      {
        suggestion: 'Correct the row in the system that the table comes from.',
      },
    );
  }
}

function storedColumns(text: string | null): StoredTable['columns'] {
  return parseJsonOrNull<NonNullable<StoredTable['columns']>>(text);
}

function storedTable({ id, name, owner, columns }: TableRow): StoredTable {
  return { id, name, owner, columns: storedColumns(columns) };
}
