import { statSync } from 'node:fs';
import { messageOf } from '../../lib/errors.ts';

/**
 * Watches a file that this process has open. Each look costs one `stat` of the path.
 *
 * @param alone whether a second name (a hard link) counts as a change
 * @returns the change as the end of a sentence; null while there is none. A change is final: even if the file is back
 *   under its name, another process may have written to it meanwhile.
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
    return `cannot be checked any more (${messageOf(error)})`;
  }
}
