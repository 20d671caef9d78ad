import { appendFile, rename, truncate, writeFile } from 'node:fs/promises';
import type { Damage } from './fixtures.ts';

/** Damages that can happen to a file while it is read, for the fixtures of connectors that read files. */
export function fileDamages(path: string): Damage[] {
  return [
    { about: 'the file is cut short', now: () => truncate(path, 10) },
    { about: 'the file grows', now: () => appendFile(path, '\n') },
    { about: 'the file is overwritten', now: () => writeFile(path, '') },
    { about: 'the file is renamed', now: () => rename(path, `${path}.old`) },
  ];
}
