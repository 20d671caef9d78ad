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
import { type CountedRow, countRows, createCounts } from './streams.ts';

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
  insertTables: column<[string], number>(
    `INSERT INTO lookups (name, owner, source, stream, columns)
     SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?) WHERE TRUE
     ON CONFLICT (name) DO NOTHING RETURNING id`,
  ),
  setTitles: statement<[string]>(
    'UPDATE lookups SET title = t.value ->> 1 FROM json_each(?) t WHERE lookups.id = CAST(t.value ->> 0 AS INTEGER)',
  ),
  keysByHand: statement<[string], { title: string; key: string }>(
    'SELECT lookup AS title, key FROM lookup_values WHERE lookup IN (SELECT value FROM json_each(?))',
  ),
  remove: statement<[string]>('DELETE FROM lookups WHERE id IN (SELECT value FROM json_each(?))'),
  ofStreams: statement<[string], TableRow & { streamId: number }>(
    `SELECT l.id, l.name, l.owner, l.title, l.columns, s.id AS streamId FROM json_each(?) k CROSS JOIN lookups l ON l.id = k.value
     JOIN streams s ON s.source = l.source AND s.name = l.stream ORDER BY l.id`,
  ),
  wasRead: statement<[number]>('UPDATE streams SET was_read = 1 WHERE id = ? AND was_read = 0'),
  requeueKeys: statement<[string], CountedRow>(
    requeueUsers('(lookup_id, key) IN (SELECT CAST(value ->> 0 AS INTEGER), value ->> 1 FROM json_each(?))'),
  ),
  requeueAbsent: statement<[string], CountedRow>(
    requeueUsers(`lookup_id IN (SELECT value FROM json_each(?)) AND NOT EXISTS (SELECT 1 FROM lookup_entries e
      WHERE e.lookup_id = lookup_uses.lookup_id AND e.key = lookup_uses.key)`),
  ),
  insertUses: statement<[string]>(
    `INSERT INTO lookup_uses (record_id, lookup_id, key)
     SELECT CAST(value ->> 0 AS INTEGER), CAST(value ->> 1 AS INTEGER), value ->> 2 FROM json_each(?) WHERE TRUE ON CONFLICT DO NOTHING`,
  ),
  dropUses: statement<[string]>('DELETE FROM lookup_uses WHERE record_id IN (SELECT value FROM json_each(?))'),
  users: column<[string], number>(
    'SELECT DISTINCT record_id FROM lookup_uses WHERE record_id IN (SELECT value FROM json_each(?))',
  ),
  ofRecords: statement<[string], StoredEntry>(
    `SELECT e.lookup_id AS lookupId, e.key, e.record_id AS recordId, e.value FROM json_each(?) r
     CROSS JOIN lookup_entries e ON e.record_id = r.value AND e.record_id > 0`,
  ),
  removeOfRecords: statement<[string], Changed>(
    `DELETE FROM lookup_entries WHERE record_id IN (SELECT value FROM json_each(?)) AND record_id > 0
     RETURNING lookup_id AS lookupId, key`,
  ),
  ofFiles: statement<[string], StoredEntry>(
    `SELECT lookup_id AS lookupId, key, record_id AS recordId, value FROM lookup_entries
     WHERE lookup_id IN (SELECT value FROM json_each(?))`,
  ),
  insert: statement<[string]>(
    `INSERT INTO lookup_entries (lookup_id, key, record_id, value)
     SELECT CAST(value ->> 0 AS INTEGER), value ->> 1, CAST(value ->> 2 AS INTEGER), value ->> 3 FROM json_each(?) WHERE TRUE
     ON CONFLICT (lookup_id, key, record_id) DO UPDATE SET value = excluded.value`,
  ),
  delete: statement<[string]>(
    `DELETE FROM lookup_entries WHERE (lookup_id, key, record_id) IN
       (SELECT CAST(value ->> 0 AS INTEGER), value ->> 1, CAST(value ->> 2 AS INTEGER) FROM json_each(?))`,
  ),
  present: statement<[number, string], StoredRecord>(
    `SELECT id, key, raw, source_issues AS issues, missing_since IS NOT NULL AS missing FROM records
     WHERE stream_id = ? AND key > ? ORDER BY key LIMIT ${FILLED_AT_ONCE}`,
  ),
  byHand: statement<[string], { at: number; value: string }>(
    `SELECT k.key AS at, v.value FROM json_each(?) k CROSS JOIN lookups l ON l.id = CAST(k.value ->> 0 AS INTEGER)
     CROSS JOIN lookup_values v ON v.lookup = l.title AND v.key = k.value ->> 1`,
  ),
  // The order of the values must not depend on the order in which the records were read.
  values: statement<[string], { at: number; values: string }>(
    `SELECT k.key AS at, (SELECT json_group_array(o.value) FROM (SELECT e.value FROM lookup_entries e LEFT JOIN records r ON r.id = e.record_id
       WHERE e.lookup_id = CAST(k.value ->> 0 AS INTEGER) AND e.key = k.value ->> 1 ORDER BY r.key LIMIT ${LOOKUP_VALUES_MAX + 1}) o) AS "values"
     FROM json_each(?) k`,
  ),
  read: column<[string], number>(
    `SELECT l.id FROM lookups l WHERE l.id IN (SELECT value FROM json_each(?)) AND (l.stream IS NULL
       OR EXISTS (SELECT 1 FROM streams s WHERE s.source = l.source AND s.name = l.stream AND s.was_read = 1))`,
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
  const all = [...tables].flatMap(([owner, own]) => own.map((table) => ({ owner, table })));
  const wanted = new Set(all.map(({ table }) => table.id));
  const before = SQL.tables(tx).all();
  removeTables(
    tx,
    before.filter(({ name, owner }) => (isAll || tables.has(owner)) && !wanted.has(name)),
  );
  const present = idsByName(before);
  addTables(
    tx,
    all.filter(({ table }) => !present.has(table.id)),
  );
  nameTables(
    tx,
    all.map(({ table }) => table),
  );
  const stored = SQL.tables(tx).all();
  known(tx).ids = idsByName(stored);
  known(tx).ofStream.clear();
  const files = new Map(all.map(({ table: { id, entries } }) => [id, entries]));
  replaceFileEntries(
    tx,
    stored.flatMap(({ id, name }) => {
      const entries = files.get(name) ?? null;
      return entries === null ? [] : [{ id, entries }];
    }),
  );
}

export function findLookups(reads: Reads, keys: readonly LookupKey[]): (LookupEntry & LookupKey)[] {
  const { ids } = known(reads);
  const entries = findEntries(
    reads,
    keys.flatMap(({ table, key }) => {
      const id = ids.get(table);
      return id === undefined ? [] : [{ id, key }];
    }),
  );
  return keys.map(({ table, key }) => {
    const id = ids.get(table);
    return { table, key, ...(id === undefined ? NO_ENTRY : entries.of(id, key)) };
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
  const stamps = () => {
    const entries = findEntries(
      tx,
      named.map(({ id }) => ({ id, key })),
    );
    return named.map(({ id }) => stampOf(entries.of(id, key)));
  };
  const before = stamps();
  change();
  const after = stamps();
  return requeue(
    tx,
    named.filter((_, at) => after[at] !== before[at]).map(({ id }) => ({ lookupId: id, key })),
  );
}

/** True if mappings look up records of this stream. */
export function isLookedUp(tx: Tx, streamId: number): boolean {
  return tablesOf(tx, streamId).length > 0;
}

/** Stores the lookup entries of new or changed records of a stream. */
export function storeLookupEntries(tx: Tx, streamId: number, records: readonly LookedUpRecord[]): void {
  if (records.length === 0) return;
  const tables = tablesOf(tx, streamId);
  if (tables.length > 0) requeue(tx, putEntries(tx, tables, records));
}

/** Removes the lookup entries of records that are gone. */
export function dropLookupEntries(tx: Tx, recordIds: readonly number[]): void {
  if (known(tx).ids.size === 0 || recordIds.length === 0) return;
  requeue(tx, SQL.removeOfRecords(tx).all(JSON.stringify(recordIds)));
}

/** Call it when a read of a stream was complete. */
export function noteStreamRead(tx: Tx, streamId: number): void {
  if (SQL.wasRead(tx).run(streamId).changes === 0) return;
  const ids = tablesOf(tx, streamId).map(({ id }) => id);
  if (ids.length > 0) recount(tx, SQL.requeueAbsent(tx).all(JSON.stringify(ids)));
}

/**
 * Reads the entries that the mappings of records have used. Returns a function that is false if one of the given uses is not
 * current, because its entry has changed since.
 */
export function currentUses(
  reads: Reads,
  all: readonly (readonly LookupUse[] | undefined)[],
): (uses?: readonly LookupUse[]) => boolean {
  const { ids } = known(reads);
  const used = all.flatMap((uses = []) =>
    uses.flatMap(({ table, key }) => {
      const id = ids.get(table);
      return id === undefined ? [] : [{ id, key }];
    }),
  );
  const entries = findEntries(reads, used);
  return (uses = []) =>
    uses.every(({ table, key, stamp }) => {
      const id = ids.get(table);
      return id === undefined || stampOf(entries.of(id, key)) === stamp;
    });
}

/** Those of these records that have looked up something. */
export function usersAmong(reads: Reads, recordIds: readonly number[]): ReadonlySet<number> {
  return new Set(recordIds.length === 0 ? [] : SQL.users(reads).all(JSON.stringify(recordIds)));
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

/** Stores the lookup entries that the mappings of records have used. */
export function storeUses(
  tx: Tx,
  records: readonly { id: number; isNew: boolean; uses: readonly LookupUse[] | undefined }[],
): void {
  const { ids } = known(tx);
  if (ids.size === 0) return;
  const former = records.flatMap(({ id, isNew }) => (isNew ? [] : [id]));
  if (former.length > 0) SQL.dropUses(tx).run(JSON.stringify(former));
  const uses = records.flatMap(({ id, uses: used = [] }) =>
    used.flatMap(({ table, key }) => {
      const lookupId = ids.get(table);
      return lookupId === undefined ? [] : [[id, lookupId, key]];
    }),
  );
  if (uses.length > 0) SQL.insertUses(tx).run(JSON.stringify(uses));
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

function removeTables(tx: Tx, tables: readonly TableRow[]): void {
  if (tables.length > 0) SQL.remove(tx).run(JSON.stringify(tables.map(({ id }) => id)));
}

function addTables(tx: Tx, tables: readonly { owner: string; table: LookupTable }[]): void {
  if (tables.length === 0) return;
  const rows = tables.map(({ owner, table: { id: name, stream } }) => {
    const columns = stream === null ? null : JSON.stringify({ key: stream.key, value: stream.value });
    return [name, owner, stream?.source ?? null, stream?.stream ?? null, columns];
  });
  const ids = SQL.insertTables(tx).all(JSON.stringify(rows));
  const ofStreams = SQL.ofStreams(tx).all(JSON.stringify(ids));
  for (const [streamId, own] of Map.groupBy(ofStreams, (row) => row.streamId)) {
    fillEntries(tx, own.map(storedTable), streamId);
  }
}

/** Takes records out of the count of quarantined rows that wait for another mapping, which counts them again. */
function recount(tx: Tx, requeued: readonly CountedRow[]): number {
  const counts = createCounts();
  for (const row of requeued) counts.add(row, 'quarantined', -1);
  countRows(tx, counts.all());
  return requeued.length;
}

function requeue(tx: Tx, changed: readonly Changed[]): number {
  if (changed.length === 0) return 0;
  return recount(tx, SQL.requeueKeys(tx).all(JSON.stringify(changed.map(({ lookupId, key }) => [lookupId, key]))));
}

/**
 * Stores the names of tables. The values that people give belong to a name, and a changed config may give the name to
 * another table.
 */
function nameTables(tx: Tx, tables: readonly LookupTable[]): void {
  const unnamed = new Map(
    SQL.tables(tx)
      .all()
      .map((row) => [row.name, row]),
  );
  const renamed = tables.flatMap(({ id: name, name: title }) => {
    const row = unnamed.get(name);
    // A config may give two names to one definition. The first name counts.
    unnamed.delete(name);
    return row === undefined || row.title === title ? [] : [{ id: row.id, before: row.title, title }];
  });
  if (renamed.length === 0) return;
  SQL.setTitles(tx).run(JSON.stringify(renamed.map(({ id, title }) => [id, title])));
  const titlesOf = ({ before, title }: { before: string | null; title: string }) => [before ?? [], title].flat();
  const byHand = SQL.keysByHand(tx).all(JSON.stringify(renamed.flatMap(titlesOf)));
  const keysOf = Map.groupBy(byHand, (row) => row.title);
  requeue(
    tx,
    renamed.flatMap((table) =>
      titlesOf(table).flatMap((title) => (keysOf.get(title) ?? []).map(({ key }) => ({ lookupId: table.id, key }))),
    ),
  );
}

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

/** The name of entries. */
interface Changed {
  lookupId: number;
  key: string;
}

/** An entry as it is stored. */
interface StoredEntry extends Changed {
  /** 0 for a row of a file. */
  recordId: number;
  /** JSON. */
  value: string;
}

/** A record whose columns may be looked up. */
interface LookedUpRecord {
  id: number;
  /** The fields as JSON. */
  raw: string;
  /** The issues that the connector has found. */
  issues: readonly Issue[];
  /** True if the record has no entries yet. */
  isNew: boolean;
}

interface StoredRecord {
  id: number;
  key: string;
  raw: string;
  issues: string | null;
  missing: 0 | 1;
}

/** Stores the lookup entries of new or changed records. Returns the entries that have changed. */
function putEntries(tx: Tx, tables: readonly StoredTable[], records: readonly LookedUpRecord[]): Changed[] {
  const former = records.flatMap(({ id, isNew }) => (isNew ? [] : [id]));
  const stored = former.length === 0 ? [] : SQL.ofRecords(tx).all(JSON.stringify(former));
  const name = (lookupId: number, recordId: number) => `${lookupId} ${recordId}`;
  const before = new Map(stored.map((entry) => [name(entry.lookupId, entry.recordId), entry]));
  const removed: StoredEntry[] = [];
  const added: StoredEntry[] = [];
  for (const table of tables) {
    for (const record of records) {
      const row = entryOf(table, record);
      const entry = before.get(name(table.id, record.id));
      if (entry?.key === row?.key && entry?.value === row?.value) continue;
      if (entry !== undefined) removed.push(entry);
      if (row !== null) added.push(row);
    }
  }
  changeEntries(tx, { removed, added });
  return [...removed, ...added];
}

function changeEntries(
  tx: Tx,
  { removed, added }: { removed: readonly StoredEntry[]; added: readonly StoredEntry[] },
): void {
  if (removed.length > 0) {
    SQL.delete(tx).run(JSON.stringify(removed.map(({ lookupId, key, recordId }) => [lookupId, key, recordId])));
  }
  if (added.length > 0) {
    SQL.insert(tx).run(
      JSON.stringify(added.map(({ lookupId, key, recordId, value }) => [lookupId, key, recordId, value])),
    );
  }
}

/** Replaces the rows of files. */
function replaceFileEntries(
  tx: Tx,
  files: readonly { id: number; entries: NonNullable<LookupTable['entries']> }[],
): void {
  if (files.length === 0) return;
  const stored = Map.groupBy(
    SQL.ofFiles(tx).all(JSON.stringify(files.map(({ id }) => id))),
    ({ lookupId }) => lookupId,
  );
  const removed: StoredEntry[] = [];
  const added: StoredEntry[] = [];
  for (const { id: lookupId, entries } of files) {
    const before = new Map((stored.get(lookupId) ?? []).map((entry) => [entry.key, entry]));
    for (const [key, json] of entries) {
      const value = canonicalJson(json);
      if (before.get(key)?.value !== value) added.push({ lookupId, key, recordId: 0, value });
    }
    for (const entry of before.values()) if (!entries.has(entry.key)) removed.push(entry);
  }
  changeEntries(tx, { removed, added });
  requeue(tx, [...removed, ...added]);
}

/** Reads the rows of new tables from the records that their stream has. */
function fillEntries(tx: Tx, tables: readonly StoredTable[], streamId: number): void {
  let afterKey = '';
  for (let page = SQL.present(tx).all(streamId, afterKey); page.length > 0; ) {
    const records = page
      .filter(({ missing }) => missing === 0)
      .map(({ id, raw, issues }) => ({ id, raw, issues: parseJsonOrNull<Issue[]>(issues) ?? [] }));
    const added = tables.flatMap((table) => records.flatMap((record) => entryOf(table, record) ?? []));
    changeEntries(tx, { removed: [], added });
    afterKey = page.at(-1)?.key ?? afterKey;
    page = SQL.present(tx).all(streamId, afterKey);
  }
}

/** The entries of tables for keys. A value that a person has added replaces the values of rows. */
function findEntries(reads: Reads, keys: readonly { id: number; key: string }[]) {
  const found = new Map<string, LookupEntry>();
  const name = (id: number, key: string) => `${id} ${key}`;
  const wanted = [...new Map(keys.map((one) => [name(one.id, one.key), one])).values()];
  if (wanted.length > 0) {
    const listed = JSON.stringify(wanted.map(({ id, key }) => [id, key]));
    const read = new Set(SQL.read(reads).all(JSON.stringify([...new Set(wanted.map(({ id }) => id))])));
    const byHand = new Map(
      SQL.byHand(reads)
        .all(listed)
        .map(({ at, value }) => [at, value]),
    );
    for (const { at, values: texts } of SQL.values(reads).all(listed)) {
      const { id, key } = wanted[at] ?? { id: 0, key: '' };
      const given = byHand.get(at);
      const values =
        given === undefined ? parseJson<string[]>(texts).map((text) => parseJson<JsonValue>(text)) : [given];
      found.set(name(id, key), { values, isRead: values.length > 0 || read.has(id) });
    }
  }
  return { of: (id: number, key: string): LookupEntry => found.get(name(id, key)) ?? NO_ENTRY };
}

const NO_ENTRY: LookupEntry = { values: [], isRead: false };

/** The entry that a record has in a table; null if it has none. */
function entryOf(
  { id: lookupId, columns }: StoredTable,
  { id: recordId, raw, issues }: Omit<LookedUpRecord, 'isNew'>,
): StoredEntry | null {
  const row = columns === null ? null : lookupRow(parseJson<JsonObject>(raw), columns, issues);
  return row === null ? null : { lookupId, key: row.key, recordId, value: canonicalJson(row.value) };
}
