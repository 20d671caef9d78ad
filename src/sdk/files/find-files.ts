import { dirname, posix } from 'node:path';
import { sourceFault } from '../faults.ts';
import type { Entry, FileStore } from './file-store.ts';
import { filterOf } from './glob.ts';
import { createLocalStore } from './local-store.ts';
import { type Location, locate } from './location.ts';
import { type SourceFile, timeOf } from './source-file.ts';

export interface FileQuery {
  /** A path of the config. `*` and `?` stand for characters within a file or folder name; nothing else is special. */
  pattern: string;
  /**
   * `all`: every match, by name. `latest`: the match that was modified last; if several have the same time, the last
   * one by name.
   */
  select: 'all' | 'latest';
  resolvePath(path: string): string;
}

/**
 * Finds the files of this machine that a path of the config names. A leading dot must be in the pattern, and folders
 * that match are ignored.
 *
 * @returns at least one file, in the order of their names (by code unit, so that the order is the same everywhere).
 * @throws a `sourceFault` when nothing matches or a folder cannot be read.
 */
export async function findFiles(query: FileQuery): Promise<SourceFile[]> {
  const location = locate(query.pattern, (path) => query.resolvePath(path));
  const files = await matchingFiles(createLocalStore(location), location, new AbortController().signal);
  if (files.length === 0) throw nothingFound(location);
  return query.select === 'all' ? files : [files.reduce(newer)];
}

/**
 * All files at a store that a path of the config names, in the order of their names; none if the last name has no
 * match.
 *
 * @throws a `sourceFault` when a folder cannot be read, or if the name is not that of a file
 */
export async function matchingFiles(store: FileStore, location: Location, signal: AbortSignal): Promise<SourceFile[]> {
  if (!location.isPattern) return await namedFile(store, location, signal);
  const files: SourceFile[] = [];
  const visit = async (folder: string, above: string, [segment = '', ...rest]: readonly string[]): Promise<void> => {
    const wanted = filterOf(segment, rest.length === 0 ? 'file' : 'folder', location.pattern);
    for (const entry of await store.list(folder, wanted, signal)) {
      const name = above + entry.name;
      if (entry.kind !== wanted.kind) continue;
      if (rest.length === 0) files.push(fileFrom(location, name, entry));
      else await visit(location.pathOf(name), `${name}/`, rest);
    }
  };
  await visit(location.folder, '', location.segments);
  return files.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function namedFile(store: FileStore, location: Location, signal: AbortSignal): Promise<SourceFile[]> {
  const [name = ''] = location.segments;
  const path = location.pathOf(name);
  const entry = await store.stat(path, signal);
  if (entry === null) return [];
  const shown = location.server === null ? ` (${path})` : '';
  if (entry.kind === 'folder') {
    throw sourceFault(`${location.pattern} is a folder, not a file${shown}.`, {
      suggestion: `To read the files in it, write a pattern such as ${location.pattern.replace(/\/$/, '')}/*.csv.`,
    });
  }
  if (entry.kind === 'other') {
    throw sourceFault(`${location.pattern} is not a regular file${shown}.`, {
      suggestion: 'Name a file. Write the output of a pipe or a device to a file first.',
    });
  }
  return [fileFrom(location, name, entry)];
}

function fileFrom(location: Location, name: string, { bytes, version, within }: Entry): SourceFile {
  const path = location.pathOf(name);
  const file = { path, label: location.label(path), name, bytes, version };
  return within === undefined ? file : { ...file, within };
}

export function nothingFound(location: Location): Error {
  const { pattern, folder, server } = location;
  if (location.isPattern) {
    const where = server === null ? ` (looked in ${folder})` : '';
    return sourceFault(`No file matches ${pattern}${where}.`, {
      suggestion: 'Check the path and the pattern, and whether the export has been written.',
    });
  }
  const path = location.pathOf(location.segments[0] ?? '');
  const where = server === null && path !== pattern ? `${pattern} (${path})` : pattern;
  return sourceFault(`${where} does not exist.`, {
    suggestion:
      server === null
        ? 'Check the path, which is relative to the config file, and whether the export has been written.'
        : 'Check the path, and whether the export has been written.',
  });
}

/** The folder that a file stands in. */
export function folderOf(location: Location, path: string): string {
  if (location.server === null) return dirname(path);
  const folder = posix.dirname(path);
  // The keys of a bucket begin without a folder, so their top folder is the empty text.
  return folder === '.' && location.server.scheme === 's3' ? '' : folder;
}

/** The text for files in the result of a check: `3 files, 12.4 MB`. */
export function formatFiles(files: readonly SourceFile[]): string {
  const count = files.length === 1 ? '1 file' : `${files.length} files`;
  if (files.some((file) => file.bytes === null)) return count;
  const bytes = files.reduce((sum, file) => sum + (file.bytes ?? 0), 0);
  const size =
    bytes < 1_000
      ? `${bytes} B`
      : bytes < 1_000_000
        ? `${(bytes / 1_000).toFixed(1)} kB`
        : `${(bytes / 1_000_000).toFixed(1)} MB`;
  return `${count}, ${size}`;
}

export function newer(a: SourceFile, b: SourceFile): SourceFile {
  // Files come in the order of their names, so for equal times the later name is used.
  return timeOf(a.version) > timeOf(b.version) ? a : b;
}
