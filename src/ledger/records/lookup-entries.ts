// The entries of lookup tables: rows of files, and of records whose streams are looked up.

import type { Issue } from '../../domain/issue.ts';
import {
  LOOKUP_VALUES_MAX,
  type LookupEntry,
  type LookupStream,
  type LookupTable,
  lookupRow,
} from '../../domain/lookup.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { column, parseJson, parseJsonOrNull, type Reads, statement, type Tx } from '../store/tx.ts';

/** This many records are read at once, because a stream may have more than fit into memory. */
const FILLED_AT_ONCE = 500;

const SQL = {
  ofRecords: statement<[string], StoredEntry>(
    `SELECT e.lookup_id AS lookupId, e.key, e.record_id AS recordId, e.value FROM json_each(?) r
     CROSS JOIN lookup_entries e ON e.record_id = r.value AND e.record_id > 0`,
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

/** A lookup table as the ledger stores it. */
export interface StoredTable {
  id: number;
  name: string;
  owner: string;
  /** Null for the table of a file. */
  columns: Pick<LookupStream, 'key' | 'value'> | null;
}

/** The name of entries. */
export interface Changed {
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
export interface LookedUpRecord {
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
export function putEntries(tx: Tx, tables: readonly StoredTable[], records: readonly LookedUpRecord[]): Changed[] {
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

/** Replaces the rows of files. Returns the entries that have changed. */
export function replaceFileEntries(
  tx: Tx,
  files: readonly { id: number; entries: NonNullable<LookupTable['entries']> }[],
): Changed[] {
  if (files.length === 0) return [];
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
  return [...removed, ...added];
}

/** Reads the rows of new tables from the records that their stream has. */
export function fillEntries(tx: Tx, tables: readonly StoredTable[], streamId: number): void {
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
export function findEntries(reads: Pick<Reads, 'db'>, keys: readonly { id: number; key: string }[]) {
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

export const NO_ENTRY: LookupEntry = { values: [], isRead: false };

/** The entry that a record has in a table; null if it has none. */
function entryOf(
  { id: lookupId, columns }: StoredTable,
  { id: recordId, raw, issues }: Omit<LookedUpRecord, 'isNew'>,
): StoredEntry | null {
  const row = columns === null ? null : lookupRow(parseJson<JsonObject>(raw), columns, issues);
  return row === null ? null : { lookupId, key: row.key, recordId, value: canonicalJson(row.value) };
}
