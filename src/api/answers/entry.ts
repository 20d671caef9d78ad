// Reads texts and ids of an entry in a list of the platform, at the paths of the profile.

import type { JsonValue } from '../../lib/json.ts';
import type { CleanText } from './clean-text.ts';
import { valueAt } from './json-text.ts';

const WORD_LENGTH_MAX = 255;
const URL_LENGTH_MAX = 2_048;

/** A word of the platform. */
interface Word {
  /** The text itself. It is compared with words of the profile and not stored. */
  said: string;
  /** The text as it may be shown and stored. */
  shown: string;
}

/** The first text or number at one of the paths. */
export function wordAt(entry: JsonValue, paths: readonly string[], clean: CleanText): Word | null {
  for (const path of paths) {
    const said = lineAt(entry, path, clean);
    if (said !== null) return { said, shown: clean(said, WORD_LENGTH_MAX) };
  }
  return null;
}

/** The first text or number at one of the paths, unchanged: an SKU or a time. A text with an API key is left out. */
export function identifierAt(entry: JsonValue, paths: readonly string[], clean: CleanText): string | null {
  for (const path of paths) {
    const line = lineAt(entry, path, clean);
    const identifier = line === null ? null : clean.identifier(line);
    if (identifier !== null) return identifier;
  }
  return null;
}

function lineAt(entry: JsonValue, path: string, clean: CleanText): string | null {
  const value = valueAt(entry, path);
  if (typeof value === 'number') return String(value);
  const line = typeof value === 'string' ? clean.plain(value, WORD_LENGTH_MAX) : '';
  return line === '' ? null : line;
}

/** The first address at one of the paths, made absolute. Only http and https are addresses of a passport. */
export function urlAt(
  entry: JsonValue,
  paths: readonly string[],
  { origin, clean }: { origin: string; clean: CleanText },
): string | null {
  for (const path of paths) {
    const value = valueAt(entry, path);
    if (typeof value !== 'string' || value === '' || value.length > URL_LENGTH_MAX) continue;
    if (clean.identifier(value) === null) continue;
    const url = URL.parse(value, origin);
    if (url !== null && (url.protocol === 'https:' || url.protocol === 'http:')) return url.href;
  }
  return null;
}

/** How the answer to a publication or a withdrawal states the new state of the passport. */
export interface ExpectedState {
  statusPaths: readonly string[];
  /** The states in lower case that mean that the request is done. */
  done: ReadonlySet<string>;
  /** The places of an id in the answer. */
  idPaths: readonly string[];
}

/**
 * The state that an answer names: `done`, or the platform's own words for any other state. A word that is in no list of
 * the profile may mean anything.
 *
 * @returns null if the answer names no state
 */
export function saidOf(
  holders: readonly JsonValue[],
  { statusPaths, done }: ExpectedState,
  clean: CleanText,
): 'done' | { words: string } | null {
  for (const holder of holders) {
    const word = wordAt(holder, statusPaths, clean);
    if (word !== null) return done.has(word.said.toLowerCase()) ? 'done' : { words: word.shown };
  }
  return null;
}

/** The first of the fields that holds a text or a number. */
export function naturalKeyIn(entry: JsonValue, fields: readonly string[]): string | null {
  for (const field of fields) {
    const value = valueAt(entry, field);
    if (typeof value === 'string' && value !== '') return value;
    if (typeof value === 'number') return String(value);
  }
  return null;
}
