// Reads texts and ids of an entry in a list of the platform, at the paths of the profile.

import type { JsonValue } from '../../lib/json.ts';
import type { CleanText } from './clean-text.ts';
import { valueAt } from './json-text.ts';

const WORD_LENGTH_MAX = 255;
const URL_LENGTH_MAX = 2_048;

/** The first text or number at one of the paths, ready to be shown. */
export function wordAt(entry: JsonValue, paths: readonly string[], clean: CleanText): string | null {
  for (const path of paths) {
    const value = valueAt(entry, path);
    const text = typeof value === 'number' ? String(value) : value;
    const word = typeof text === 'string' ? clean(text, WORD_LENGTH_MAX) : '';
    if (word !== '') return word;
  }
  return null;
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
    const url = URL.parse(clean(value, URL_LENGTH_MAX), origin);
    if (url !== null && (url.protocol === 'https:' || url.protocol === 'http:')) return url.href;
  }
  return null;
}
