import { normalizeDecimal } from '../lib/decimal.ts';
import { sha256Url } from '../lib/hash.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../lib/json.ts';
import { holdingIssues, type ReportedIssue } from './issue.ts';
import { identifyingText } from './natural-key.ts';

/**
 * A table in which mappings look up values. The ledger stores its entries, and which records have used which entries.
 */
export interface LookupTable {
  /** The id of the table in the ledger. A table with another definition has another id. */
  id: string;
  /** The name that mappings use for the table. Values that people have added are stored under this name. */
  name: string;
  /** The records that are the rows of the table; null for a file. */
  stream: LookupStream | null;
  /** The rows of a file: values by key. Null for a stream. */
  entries: ReadonlyMap<string, JsonValue> | null;
}

/** The records of a stream that are the rows of a lookup table. */
export interface LookupStream {
  source: string;
  stream: string;
  /** The columns that make the key. */
  key: readonly string[];
  /** The columns whose values are the result: one column gives its value, and a list gives an object. */
  value: string | readonly string[];
}

/** The entry of a table for a key. */
export interface LookupEntry {
  /** The values of all rows with the key, in the order of their record keys. */
  values: readonly JsonValue[];
  /** False while no read of the stream is complete, so that an absent key proves nothing. */
  isRead: boolean;
}

/** A key that a mapping has looked up. */
export interface LookupKey {
  /** The id of the table. */
  table: string;
  key: string;
}

/** A key that a record has looked up, with its entry at that time. If the entry has changed since, the record is mapped again. */
export interface LookupUse extends LookupKey {
  stamp: string;
}

/** Gives the mapper an entry that was read for it; undefined if the entry was not read. */
export type FindEntry = (key: LookupKey) => LookupEntry | undefined;

/** The most rows of one key. A key with more rows is an issue. */
export const LOOKUP_VALUES_MAX = 1000;

const STAMP_LENGTH_MAX = 64;

/** A short text for comparing entries: different entries give different texts. */
export function stampOf({ values, isRead }: LookupEntry): string {
  if (values.length === 0) return isRead ? ABSENT : UNREAD;
  const text = JSON.stringify(values);
  return text.length <= STAMP_LENGTH_MAX ? text : sha256Url(text);
}

const ABSENT = 'absent';
const UNREAD = 'unread';

/** True if the key that was looked up had no entry. */
export function foundNothing({ stamp }: LookupUse): boolean {
  return stamp === ABSENT || stamp === UNREAD;
}

/** Separates the parts of a key. This character cannot be typed into an ERP field. */
const SEPARATOR = '\u001f';

/**
 * The key of several parts. Null if one of them is empty: such a row or lookup has no key. Not every database can store
 * NUL, so a key that has one becomes a key that no table has.
 */
export function lookupKey(parts: readonly (string | null)[]): string | null {
  const texts = parts.map((part) => identifyingText(part ?? '').text);
  return texts.includes('') ? null : texts.join(SEPARATOR).replaceAll('\0', '\uFFFD');
}

/**
 * The key and the value that a row has in a table. Null if one of its key columns is empty, or if the connector has found
 * an issue in the row that concerns the table.
 */
export function lookupRow(
  fields: JsonObject,
  { key: columns, value }: Pick<LookupStream, 'key' | 'value'>,
  issues: readonly ReportedIssue[] = [],
): { key: string; value: JsonValue } | null {
  if (issues.length > 0 && holdingIssues(issues, new Set([...columns, ...[value].flat()])).length > 0) return null;
  const key = lookupKey(columns.map((column) => partText(valueOf(fields, column))));
  if (key === null) return null;
  if (typeof value === 'string') return { key, value: valueOf(fields, value) };
  return { key, value: Object.fromEntries(value.map((column) => [column, valueOf(fields, column)])) };
}

/** The entries of tables over streams, from rows that are at hand. All tables count as read to their end. */
export function createRowEntries() {
  const values = new Map<string, Map<string, JsonValue[]>>();
  const find: FindEntry = ({ table, key }) => ({ values: values.get(table)?.get(key) ?? [], isRead: true });
  return {
    /** Adds a row of the stream of a table. Nothing is added for a row without a key, or for the table of a file. */
    add: ({ id, stream }: LookupTable, fields: JsonObject, issues: readonly ReportedIssue[] = []): void => {
      const row = stream === null ? null : lookupRow(fields, stream, issues);
      if (row === null) return;
      const ofTable = values.get(id) ?? new Map<string, JsonValue[]>();
      values.set(id, ofTable.set(row.key, [...(ofTable.get(row.key) ?? []), row.value]));
    },
    find,
  };
}

/** The rows of a stream from which a table has an entry, with the columns that the table uses. */
export function rowsOfEntry({ key: columns, value: named }: LookupStream, key: string, values: readonly JsonValue[]) {
  const parts = key.split(SEPARATOR);
  const ofKey = Object.fromEntries(columns.map((column, at) => [column, parts[at] ?? '']));
  return values.map((value): JsonObject => {
    if (typeof named === 'string') return { ...ofKey, [named]: value };
    return isJsonObject(value) ? { ...ofKey, ...value } : ofKey;
  });
}

function valueOf(fields: JsonObject, column: string): JsonValue {
  return Object.hasOwn(fields, column) ? (fields[column] ?? null) : null;
}

/** The text of a key column. Values that are neither text nor a number make no key. */
function partText(value: JsonValue): string | null {
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : normalizeDecimal(String(value));
  return typeof value === 'string' ? value : null;
}
