import { readdir } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { fault } from '../../domain/faults.ts';
import { findFiles } from '../../sdk/files/find-files.ts';
import { objectIn } from './find-objects.ts';
import { readHead } from './recognise-format.ts';

/** Files that are one stream of a config: one file, or files of a folder that are one object each. */
export interface FileSet {
  /** The file that is looked at. */
  first: string;
  /** The pattern that the path of the stream has; null for one file. */
  pattern: string | null;
  /** True for files that are one JSON object each. */
  isObjects: boolean;
}

/** A folder may have any number of files with objects, but each other file becomes a source. */
const SOURCES_MAX = 20;
/** In a folder with many JSON files, this many of them are looked at. */
const LOOKED_AT_MAX = 50;

/**
 * The files that the command line names: files, patterns, and folders. Several JSON files of a folder that are one object each
 * belong to one stream. A shell may have replaced a pattern by its files.
 *
 * @throws Fault `usage` for a folder without files, or with too many
 */
export async function fileSetsOf(given: readonly string[], signal: AbortSignal): Promise<FileSet[]> {
  const named = (await Promise.all(given.map(filesOf))).flat();
  const files = [...new Set(named.map((file) => resolve(file)))];
  const byFolder = Map.groupBy(files, (file) => join(dirname(file), `*${extname(file).toLowerCase()}`));
  const sets: FileSet[] = [];
  for (const [pattern, together] of byFolder) {
    const [first = ''] = together;
    const isObjects = together.length > 1 && pattern.endsWith('.json') && (await areObjects(together, signal));
    if (isObjects) sets.push({ first, pattern: patternOf(given, pattern), isObjects });
    else sets.push(...together.map((file) => ({ first: file, pattern: null, isObjects: false })));
  }
  if (sets.length > SOURCES_MAX) {
    throw fault('usage', `These are ${sets.length} files, of which each would become a source.`, {
      suggestion: `Name the files that belong together, ${SOURCES_MAX} at most. Files with the same columns can be one stream: docs/connectors/files.md.`,
    });
  }
  // The order of the command line is that of the config.
  return sets.toSorted((one, other) => files.indexOf(one.first) - files.indexOf(other.first));
}

async function filesOf(given: string): Promise<string[]> {
  const entries = await readdir(given, { withFileTypes: true }).catch(() => null);
  if (entries !== null) {
    const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.')).map(({ name }) => name);
    if (files.length === 0) {
      throw fault('usage', `The folder ${resolve(given)} has no files.`, {
        suggestion: 'Name a folder with exported files, or the files.',
      });
    }
    return files.sort().map((name) => join(given, name));
  }
  if (!/[*?]/.test(basename(given))) return [given];
  const found = await findFiles({ pattern: given, select: 'all', resolvePath: (path) => resolve(path) });
  return found.map(({ path }) => path);
}

/** The pattern that a person has written, if there is one for these files. */
function patternOf(given: readonly string[], pattern: string): string {
  const written = given
    .map((one) => resolve(one))
    .find((one) => /[*?]/.test(basename(one)) && dirname(one) === dirname(pattern));
  return written ?? pattern;
}

async function areObjects(files: readonly string[], signal: AbortSignal): Promise<boolean> {
  for (const file of files.slice(0, LOOKED_AT_MAX)) {
    if (objectIn(await readHead(file, signal)) === null) return false;
  }
  return true;
}
