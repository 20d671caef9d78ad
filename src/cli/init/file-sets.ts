import { readdir } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { fault } from '../../domain/faults.ts';
import { Fault } from '../../lib/errors.ts';
import { findFiles } from '../../sdk/files/find-files.ts';
import { isHiddenName } from '../../sdk/files/location.ts';
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
  /** How many files that nobody has named the pattern reads too. */
  further: number;
  /** False if only its folder was named, so that the others go on without it. */
  isNamed: boolean;
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
  const named = await Promise.all(given.map(filesOf));
  const files = [...new Set(named.flat().map((file) => resolve(file)))];
  const ownNames = new Set(given.map((one) => resolve(one)));
  const byFolder = Map.groupBy(files, (file) => join(dirname(file), `*${extname(file).toLowerCase()}`));
  const sets: FileSet[] = [];
  for (const [all, together] of byFolder) {
    const [first = ''] = together;
    const made =
      together.length > 1 && all.endsWith('.json') ? await objectsOf(together, { all, given, signal }) : null;
    if (made !== null) sets.push({ first, ...made, isObjects: true, isNamed: true });
    else
      sets.push(
        ...together.map((file) => ({
          first: file,
          pattern: null,
          isObjects: false,
          further: 0,
          isNamed: ownNames.has(file),
        })),
      );
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
    const files = entries.filter((entry) => entry.isFile() && !isHiddenName(entry.name)).map(({ name }) => name);
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

/**
 * The pattern of files that are one object each; null if they are other files. Of files that a folder or a
 * pattern stands for, some may be damaged or foreign.
 *
 * @param all the pattern of all files of the folder
 */
async function objectsOf(
  files: readonly string[],
  { all, given, signal }: { all: string; given: readonly string[]; signal: AbortSignal },
): Promise<Pick<FileSet, 'pattern' | 'further'> | null> {
  const written = given
    .map((one) => resolve(one))
    .find((one) => /[*?]/.test(basename(one)) && dirname(one) === dirname(all));
  const countOf = async (pattern: string): Promise<number> =>
    (await findFiles({ pattern, select: 'all', resolvePath: (path) => path })).length;
  const isAll = (await countOf(all)) === files.length;
  const looked = files.slice(0, LOOKED_AT_MAX);
  const count = await countObjects(looked, signal);
  // Otherwise a person has named each of the files.
  const isGroup = isAll || written !== undefined;
  if (count < looked.length && !(isGroup && count > looked.length / 2)) return null;
  if (isGroup) return { pattern: written ?? all, further: 0 };
  const alike = likePattern(files);
  const pattern = (await countOf(alike)) === files.length ? alike : all;
  return { pattern, further: (await countOf(pattern)) - files.length };
}

/** The pattern of what the names of files have in common at their beginning. */
function likePattern(files: readonly string[]): string {
  const [first = '', ...others] = files;
  let { length } = first;
  while (others.some((file) => !file.startsWith(first.slice(0, length)))) length -= 1;
  const beginning = Math.max(length, join(dirname(first), '/').length);
  return `${first.slice(0, beginning).replace(/\.json$/, '')}*.json`;
}

async function countObjects(files: readonly string[], signal: AbortSignal): Promise<number> {
  let count = 0;
  for (const file of files) {
    try {
      if (objectIn(await readHead(file, signal)) !== null) count += 1;
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      // Such as an empty file. The error is reported when its rows are read.
    }
  }
  return count;
}
