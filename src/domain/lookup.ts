import { normalizeDecimal } from '../lib/decimal.ts';
import { sha256Url } from '../lib/hash.ts';
import type { JsonObject, JsonValue } from '../lib/json.ts';

/** A table that mappings look values up in. The ledger keeps its entries, and which records have used which of them. */
export interface LookupTable {
  /** Names the table in the ledger. Another definition has another id. */
  id: string;
  /** The name by which mappings call it. Values that people have added are stored under it. */
  name: string;
  /** The records that are its rows; null for a file. */
  stream: LookupStream | null;
  /** The rows of a file: values by key. Null for a stream. */
  entries: ReadonlyMap<string, JsonValue> | null;
}

/** Records that are looked up by some of their columns. */
export interface LookupStream {
  source: string;
  stream: string;
  /** The columns that make the key. */
  key: readonly string[];
  /** The columns that are looked up: of one column its value, of several an object. */
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

/** Gives the mapper the entries that were read for it; undefined for an entry that was not. */
export type FindEntry = (key: LookupKey) => LookupEntry | undefined;

/** The most rows of one key. A key with more rows is an issue. */
export const LOOKUP_VALUES_MAX = 1000;

const STAMP_LENGTH_MAX = 64;

/** A short text that differs for different entries. */
export function stampOf({ values, isRead }: LookupEntry): string {
  if (values.length === 0) return isRead ? ABSENT : UNREAD;
  const text = JSON.stringify(values);
  return text.length <= STAMP_LENGTH_MAX ? text : sha256Url(text);
}

const ABSENT = 'absent';
const UNREAD = 'unread';

/** True for a use that has found nothing. */
export function foundNothing({ stamp }: LookupUse): boolean {
  return stamp === ABSENT || stamp === UNREAD;
}

/** Separates the parts of a key; it cannot be typed into an ERP field. */
const SEPARATOR = '\u001f';

/** The key of several parts. Null if one of them is empty: such a row or question has no key. */
export function lookupKey(parts: readonly (string | null)[]): string | null {
  const texts = parts.map((part) => part?.trim() ?? '');
  return texts.includes('') ? null : texts.join(SEPARATOR);
}

/** The key and the value that a row has in a table. Null if one of its key columns is empty. */
export function lookupRow(
  fields: JsonObject,
  { key: columns, value }: Pick<LookupStream, 'key' | 'value'>,
): { key: string; value: JsonValue } | null {
  const key = lookupKey(columns.map((column) => partText(valueOf(fields, column))));
  if (key === null) return null;
  if (typeof value === 'string') return { key, value: valueOf(fields, value) };
  return { key, value: Object.fromEntries(value.map((column) => [column, valueOf(fields, column)])) };
}

function valueOf(fields: JsonObject, column: string): JsonValue {
  return Object.hasOwn(fields, column) ? (fields[column] ?? null) : null;
}

/** The text of a key column. Values that are neither text nor a number make no key. */
function partText(value: JsonValue): string | null {
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : normalizeDecimal(String(value));
  return typeof value === 'string' ? value : null;
}
