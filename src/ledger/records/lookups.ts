// Stores the lookup tables, their entries, and which records have used which entries.
//
// When an entry changes, only records that have used its key wait for another mapping. If an entry changes between the
// mapping of a record and its staging, the record is not staged and waits for another mapping.

import { fault } from '../../domain/faults.ts';
import type { Issue } from '../../domain/issue.ts';
import {
  foundNothing,
  LOOKUP_VALUES_MAX,
  type LookupEntry,
  type LookupKey,
  type LookupStream,
  type LookupTable,
  type LookupUse,
  lookupRow,
  stampOf,
} from '../../domain/lookup.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { column, perDatabase, statement } from '../store/statement.ts';
import type { Reads, Tx } from '../store/tx.ts';
import { parseJson, parseJsonOrNull } from '../store/tx.ts';
import { countRows } from './streams.ts';

interface TableRow extends Omit<StoredTable, 'columns'> {
  title: string | null;
  columns: string | null;
}

/** This many records are read at once, because a stream may have more than fit into memory. */
const FILLED_AT_ONCE = 500;

const SQL = {
  tables: statement<[], TableRow>('SELECT id, name, owner, title, columns FROM lookups'),
  tablesOfStream: statement<[number], TableRow>(
    `SELECT l.id, l.name, l.owner, l.title, l.columns FROM lookups l JOIN streams s ON s.source = l.source AND s.name = l.stream
     WHERE s.id = ?`,
  ),
  insertTable: statement<[string, string, string | null, string | null, string | null]>(
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
  ofRecord: statement<[number, number], { key: string; value: string }>(
    'SELECT key, value FROM lookup_entries WHERE record_id = ? AND record_id > 0 AND lookup_id = ?',
  ),
  allOfRecord: statement<[number], { lookupId: number; key: string }>(
    'SELECT lookup_id AS lookupId, key FROM lookup_entries WHERE record_id = ? AND record_id > 0',
  ),
  ofFile: statement<[number], { key: string; value: string }>(
    'SELECT key, value FROM lookup_entries WHERE lookup_id = ?',
  ),
  insert: statement<[number, string, number, string]>(
    'INSERT OR REPLACE INTO lookup_entries (lookup_id, key, record_id, value) VALUES (?, ?, ?, ?)',
  ),
  delete: statement<[number, string, number]>(
    'DELETE FROM lookup_entries WHERE lookup_id = ? AND key = ? AND record_id = ?',
  ),
  present: statement<[number, string], StoredRecord>(
    `SELECT id, key, raw, source_issues AS issues, missing_since IS NOT NULL AS missing FROM records
     WHERE stream_id = ? AND key > ? ORDER BY key LIMIT ${FILLED_AT_ONCE}`,
  ),
  byHand: column<[number, string], string>(
    'SELECT v.value FROM lookups l JOIN lookup_values v ON v.lookup = l.title WHERE l.id = +? AND v.key = +?',
  ),
  // The order of the values must not depend on the order in which the records were read.
  values: column<[number, string], string>(
    `SELECT e.value FROM lookup_entries e LEFT JOIN records r ON r.id = e.record_id
     WHERE e.lookup_id = ? AND e.key = ? ORDER BY r.key LIMIT ${LOOKUP_VALUES_MAX + 1}`,
  ),
  isRead: column<[number], number>(
    `SELECT l.stream IS NULL OR EXISTS (SELECT 1 FROM streams s
       WHERE s.source = l.source AND s.name = l.stream AND s.was_read = 1)
     FROM lookups l WHERE l.id = ?`,
  ),
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
  const id = Number(SQL.insertTable(tx).run(name, owner, source, of, text).lastInsertRowid);
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

/** A lookup table as the ledger stores it. */
interface StoredTable {
  id: number;
  name: string;
  owner: string;
  /** Null for the table of a file. */
  columns: Pick<LookupStream, 'key' | 'value'> | null;
}

/** A record whose columns may be looked up. */
interface LookedUpRecord {
  id: number;
  /** The fields as JSON. */
  raw: string;
  /** The issues that the connector has found. */
  issues: readonly Issue[];
}

interface StoredRecord {
  id: number;
  key: string;
  raw: string;
  issues: string | null;
  missing: 0 | 1;
}

/** Stores the lookup entries of a new or changed record. */
function putEntries(tx: Tx, table: StoredTable, record: LookedUpRecord, isNew: boolean): string[] {
  const row = rowOf(table, record);
  const before = isNew ? undefined : SQL.ofRecord(tx).get(record.id, table.id);
  if (before?.key === row?.key && before?.value === row?.value) return [];
  if (before !== undefined) SQL.delete(tx).run(table.id, before.key, record.id);
  if (row !== null) SQL.insert(tx).run(table.id, row.key, record.id, row.value);
  return [...new Set([before?.key, row?.key])].filter((key) => key !== undefined);
}

/** Removes the lookup entries of a record that is gone. */
function removeEntries(tx: Tx, recordId: number): { lookupId: number; key: string }[] {
  const rows = SQL.allOfRecord(tx).all(recordId);
  for (const { lookupId, key } of rows) SQL.delete(tx).run(lookupId, key, recordId);
  return rows;
}

/** Replaces the rows of a file. */
function replaceFileEntries(tx: Tx, table: StoredTable, entries: NonNullable<LookupTable['entries']>): string[] {
  const changed: string[] = [];
  const known = new Set<string>();
  for (const { key, value } of SQL.ofFile(tx).all(table.id)) {
    known.add(key);
    const present = entries.get(key);
    if (present !== undefined && canonicalJson(present) === value) continue;
    changed.push(key);
    SQL.delete(tx).run(table.id, key, 0);
    if (present !== undefined) SQL.insert(tx).run(table.id, key, 0, canonicalJson(present));
  }
  for (const [key, value] of entries) {
    if (known.has(key)) continue;
    changed.push(key);
    SQL.insert(tx).run(table.id, key, 0, canonicalJson(value));
  }
  return changed;
}

/** Reads the rows of a new table from the records that the stream has. */
function fillEntries(tx: Tx, table: StoredTable, streamId: number): void {
  let afterKey = '';
  for (let page = SQL.present(tx).all(streamId, afterKey); page.length > 0; ) {
    for (const { id, key, raw, issues, missing } of page) {
      const row = missing === 1 ? null : rowOf(table, { id, raw, issues: parseJsonOrNull<Issue[]>(issues) ?? [] });
      if (row !== null) SQL.insert(tx).run(table.id, row.key, id, row.value);
      afterKey = key;
    }
    page = SQL.present(tx).all(streamId, afterKey);
  }
}

/** The entry of a table for a key. A value that a person has added replaces the values of rows. */
function findEntry(reads: Reads, lookupId: number, key: string): LookupEntry {
  const byHand = SQL.byHand(reads).get(lookupId, key);
  if (byHand !== undefined) return { values: [byHand], isRead: true };
  const values = SQL.values(reads)
    .all(lookupId, key)
    .map((text) => parseJson<JsonValue>(text));
  return { values, isRead: values.length > 0 || SQL.isRead(reads).get(lookupId) === 1 };
}

function rowOf({ columns }: StoredTable, { raw, issues }: LookedUpRecord) {
  if (columns === null) return null;
  const row = lookupRow(parseJson<JsonObject>(raw), columns, issues);
  return row === null ? null : { key: row.key, value: canonicalJson(row.value) };
}
