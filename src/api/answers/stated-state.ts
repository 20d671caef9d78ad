import type { JsonValue } from '../../lib/json.ts';
import type { CleanText } from './clean-text.ts';
import { wordAt } from './entry.ts';

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
