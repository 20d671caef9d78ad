// The rows of lookup tables. Each function reports the keys whose entries it changes.

import type { Issue } from '../../domain/issue.ts';
import {
  LOOKUP_VALUES_MAX,
  type LookupEntry,
  type LookupStream,
  type LookupTable,
  lookupRow,
} from '../../domain/lookup.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { parseJson, parseJsonOrNull } from '../store/context.ts';
import { column, statement } from '../store/statement.ts';
import type { Reads, Tx } from '../store/tx.ts';

/** A lookup table as the ledger stores it. */
export interface StoredTable {
  id: number;
  name: string;
  owner: string;
  /** Null for the table of a file. */
  columns: Pick<LookupStream, 'key' | 'value'> | null;
}

/** A record whose columns may be looked up. */
export interface LookedUpRecord {
  id: number;
  /** The fields as JSON. */
  raw: string;
  /** The issues that the connector has found. */
  issues: readonly Issue[];
}

/** This many records are read at once, because a stream may have more than fit into memory. */
const FILLED_AT_ONCE = 500;

interface StoredRecord {
  id: number;
  key: string;
  raw: string;
  issues: string | null;
  missing: 0 | 1;
}

const SQL = {
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

/** Stores the lookup entries of a new or changed record. */
export function putEntries(tx: Tx, table: StoredTable, record: LookedUpRecord, isNew: boolean): string[] {
  const row = rowOf(table, record);
  const before = isNew ? undefined : SQL.ofRecord(tx).get(record.id, table.id);
  if (before?.key === row?.key && before?.value === row?.value) return [];
  if (before !== undefined) SQL.delete(tx).run(table.id, before.key, record.id);
  if (row !== null) SQL.insert(tx).run(table.id, row.key, record.id, row.value);
  return [...new Set([before?.key, row?.key])].filter((key) => key !== undefined);
}

/** Removes the lookup entries of a record that is gone. */
export function removeEntries(tx: Tx, recordId: number): { lookupId: number; key: string }[] {
  const rows = SQL.allOfRecord(tx).all(recordId);
  for (const { lookupId, key } of rows) SQL.delete(tx).run(lookupId, key, recordId);
  return rows;
}

/** Replaces the rows of a file. */
export function replaceFileEntries(tx: Tx, table: StoredTable, entries: NonNullable<LookupTable['entries']>): string[] {
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
export function fillEntries(tx: Tx, table: StoredTable, streamId: number): void {
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
export function findEntry(reads: Reads, lookupId: number, key: string): LookupEntry {
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
