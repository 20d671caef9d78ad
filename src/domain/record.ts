import { sha256Url } from '../lib/hash.ts';
import type { JsonObject } from '../lib/json.ts';
import { findOddCharacter } from '../lib/text/odd-character.ts';
import type { Issue } from './issue.ts';
import type { Place } from './place.ts';

/** The field under which a connector keeps the text of a row that could not be split into fields. */
export const RAW_FIELD = '_raw';

/** A row that is to be stored: identified, hashed, and without the columns that are never stored. */
export interface IncomingRecord {
  /** The key columns' values, or where the stream has none, a hash of the content; see `recordKey`. */
  identity: string;
  /** SHA-256 of `raw`, base64url. */
  hash: string;
  /** The fields as JSON text, as they are stored. */
  raw: string;
  place: Place;
  /** What the connector found wrong with the row: such a record is quarantined without being mapped. */
  issues: Issue[];
}

/** Separates key parts and occurrence numbers. A value that has it is no key: see `identityOf`. */
const SEPARATOR = '\u001f';

/**
 * Identity of a row: its key columns, or where the stream has none, its content. Rows of one read with the same identity are
 * numbered by their occurrence (from 1), so that none of them is dropped silently.
 */
export function recordKey(identity: string, occurrence: number): string {
  return occurrence === 1 ? identity : `${identity}${SEPARATOR}${occurrence}`;
}

/**
 * The identity that a stream's key columns give a row. Null if one of them is absent or empty, or has characters that no text has:
 * different keys would become one, since the separator is such a character, and SQLite stores U+FFFD for each lone surrogate.
 */
export function identityOf(fields: JsonObject, keyColumns: readonly string[]): string | null {
  const parts: string[] = [];
  for (const column of keyColumns) {
    const value = fields[column];
    if (value === undefined || value === null || value === '') return null;
    parts.push(typeof value === 'string' ? value : JSON.stringify(value));
  }
  return parts.some((part) => findOddCharacter(part) !== null) ? null : parts.join(SEPARATOR);
}

/** A key as people read it: with ` / ` between its parts. */
export function readableKey(key: string): string {
  return key.replaceAll(SEPARATOR, ' / ');
}

/** A key that was read as `readableKey` shows it, as it is stored. */
export function writtenKey(readable: string): string {
  return readable.replaceAll(' / ', SEPARATOR);
}

/**
 * Text and hash under which the fields of a row are stored and compared. The issues of a row count too: another issue with the same
 * fields is a change.
 */
export function serializeFields(fields: JsonObject, issues: readonly Issue[] = []): { raw: string; hash: string } {
  const raw = JSON.stringify(fields);
  return { raw, hash: sha256Url(issues.length === 0 ? raw : raw + JSON.stringify(issues)) };
}
