// Reads the id of an item from an answer.

import type { JsonValue } from '../../lib/json.ts';
import type { CleanText } from './clean-text.ts';
import { valueAt } from './json-text.ts';

const ID_LENGTH_MAX = 255;

/**
 * The remote id in an answer, at the first of the paths that has one, in its JSON type.
 *
 * @returns null if there is none. Text that contains an API key, or that is too long, is no id, because the ledger would
 *   store it (I7). `whyNoId` says why.
 */
export function remoteIdIn(value: JsonValue, paths: readonly string[], clean: CleanText): string | number | null {
  for (const path of paths) {
    const id = valueAt(value, path);
    if (typeof id === 'number' && Number.isSafeInteger(id)) return id;
    if (typeof id === 'string' && isIdText(id, clean)) return id;
  }
  return null;
}

/** True for text that can be an id and may be stored. */
export function isIdText(id: string, clean: CleanText): boolean {
  return isIdForm(id, clean) && clean.identifier(id) !== null;
}

/** Text with tags, control characters or white space at its ends is no id. */
function isIdForm(id: string, clean: CleanText): boolean {
  return id !== '' && id !== '.' && id !== '..' && id.length <= ID_LENGTH_MAX && clean.plain(id, ID_LENGTH_MAX) === id;
}

/** What `remoteIdIn` found in place of an id. */
export type NoId = 'nothing' | 'secret';

/** Why `remoteIdIn` has found no id. */
export function whyNoId(value: JsonValue, paths: readonly string[], clean: CleanText): NoId {
  const hasSecret = paths.some((path) => {
    const id = valueAt(value, path);
    return typeof id === 'string' && isIdForm(id, clean) && clean.identifier(id) === null;
  });
  return hasSecret ? 'secret' : 'nothing';
}
