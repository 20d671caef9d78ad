import { statSync } from 'node:fs';
import { messageOf } from '../../lib/errors.ts';

/**
 * Watches a file that this process has open, by one `stat` of its path for each look.
 *
 * @param alone whether a second name (a hard link) counts as a change
 * @returns what has happened to the file since, as the end of a sentence; null while it is what it was. A change is final: when
 *   the file is back under its name another process may have written to it meanwhile.
 */
export function watchFile(path: string, { alone }: { alone: boolean }): () => string | null {
  const original = look(path);
  let change = typeof original === 'string' ? original : null;
  return () => {
    if (change !== null || typeof original === 'string') return change;
    const seen = look(path);
    if (typeof seen === 'string') change = seen;
    else if (seen.ino !== original.ino || seen.dev !== original.dev) change = 'was replaced by another file';
    else if (alone && seen.nlink > 1n) change = 'was given a second name (a hard link)';
    return change;
  };
}

function look(path: string): { dev: bigint; ino: bigint; nlink: bigint } | string {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false }) ?? 'was removed';
  } catch (error) {
    return `cannot be looked at any more (${messageOf(error)})`;
  }
}
