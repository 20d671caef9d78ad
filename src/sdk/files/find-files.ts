import { dirname, posix } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sourceFault } from '../connector.ts';
import type { FileStream } from './file-options.ts';
import type { Entry, FileStore } from './file-store.ts';
import { createLocalStore } from './local-store.ts';
import { filterOf, type Location, locate } from './location.ts';
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
 * Finds the files of this machine that a path of the config names. Hidden files need a pattern of their own, and folders
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
  const named = await store.stat(path, signal);
  const other = named === null ? await inOtherForm(store, location, signal) : null;
  const entry = named ?? other;
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
  return [fileFrom(location, other?.name ?? name, entry)];
}

/** The file whose name only differs in the form of its accents; null if there is none. */
async function inOtherForm(store: FileStore, location: Location, signal: AbortSignal): Promise<Entry | null> {
  const [name = ''] = location.segments;
  if (isOnWeb(location) || /^[\x20-\x7e]*$/.test(name)) return null;
  const wanted = filterOf(name, 'file', location.pattern);
  const found = await store.list(folderOf(location, location.pathOf(name)), wanted, signal);
  return found.length === 1 ? (found[0] ?? null) : null;
}

/** A web server has no listing of its files. */
function isOnWeb({ server }: Location): boolean {
  return server?.scheme === 'https' || server?.scheme === 'http';
}

function fileFrom(location: Location, name: string, { bytes, version, within }: Entry): SourceFile {
  const path = location.pathOf(name);
  const file = { path, label: location.label(path), name, bytes, version };
  return within === undefined ? file : { ...file, within };
}

function nothingFound(location: Location): Error {
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
function folderOf(location: Location, path: string): string {
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

function newer(a: SourceFile, b: SourceFile): SourceFile {
  // Files come in the order of their names, so for equal times the later name is used.
  return timeOf(a.version) > timeOf(b.version) ? a : b;
}

/** A file that matches but must not be read yet. The reason is a sentence without its subject and its full stop. */
interface Unready {
  file: SourceFile;
  why: string;
}

/** The files that a stream has to read now. */
export interface ReadyFiles {
  /** The files to read, in the order of their names. A read of changes sorts them by their times. */
  files: SourceFile[];
  /** Older files that `latest` does not read. They are archived or deleted with the file that is read. */
  outdated: SourceFile[];
  /** Why there is nothing to read, as an error that can be thrown; null if there is a file to read. */
  absent: Error | null;
  /** Why files are left out this time: full sentences. */
  waiting: string[];
}

interface ReadyQuery {
  store: FileStore;
  location: Location;
  stream: FileStream;
}

/** Finds the files of a stream that can be read: those that are complete according to semaphores and a second check. */
export async function findReady({ store, location, stream }: ReadyQuery, signal: AbortSignal): Promise<ReadyFiles> {
  const found = await matchingFiles(store, location, signal);
  if (found.length === 0 && isSkipped(stream)) await assertFolder({ store, location, stream }, signal);
  const matching = found.filter(({ path }) => stream.done === undefined || !path.endsWith(stream.done));
  const unready = [
    ...(await changing(matching, { store, location, stream }, signal)),
    ...(await withoutSemaphore(matching, { store, location, stream }, signal)),
  ];
  const isReady = (file: SourceFile) => unready.every((one) => one.file.path !== file.path);
  const waiting = unready.map(({ file, why }) => `${file.label} is not read yet: ${why}.`);
  const ready = select(matching, isReady, stream);
  const absent = matching.length === 0 ? nothingFound(location) : ready.files.length > 0 ? null : notReady(waiting);
  return { ...ready, absent, waiting };
}

/** True if a pull without a file to read is no failure. */
export function isSkipped({ absent, done, after }: FileStream): boolean {
  return (absent ?? (done !== undefined || after !== 'keep' ? 'skip' : 'fail')) === 'skip';
}

/**
 * Throws if the folder is missing. This does not mean that there are no new files, because a disk may not be mounted.
 */
async function assertFolder({ store, location }: ReadyQuery, signal: AbortSignal): Promise<void> {
  if (location.isPattern || isOnWeb(location)) return;
  const folder = folderOf(location, location.pathOf(location.segments[0] ?? ''));
  await store.list(folder, { prefix: '', kind: 'file', matches: () => false }, signal);
}

/**
 * A snapshot of all files needs every file: without one of them, its records would count as missing. Files of changes
 * are read up to the first one that is not ready, because changes have to be applied in their order.
 */
function select(
  matching: readonly SourceFile[],
  isReady: (file: SourceFile) => boolean,
  { files, contents }: FileStream,
): Pick<ReadyFiles, 'files' | 'outdated'> {
  const ready = matching.filter(isReady);
  if (ready.length === 0) return { files: [], outdated: [] };
  if (files === 'latest') {
    const latest = ready.reduce(newer);
    const outdated = ready.filter((file) => file !== latest && timeOf(file.version) <= timeOf(latest.version));
    return { files: [latest], outdated };
  }
  const blocking = matching.filter((file) => !isReady(file));
  if (contents === 'snapshot') return { files: blocking.length === 0 ? ready : [], outdated: [] };
  const before = (file: SourceFile) => blocking.every((one) => timeOf(file.version) < timeOf(one.version));
  return { files: ready.filter(before), outdated: [] };
}

/** Files whose size or time changes between two checks, because another program still writes them. */
async function changing(
  files: readonly SourceFile[],
  { store, location, stream }: ReadyQuery,
  signal: AbortSignal,
): Promise<Unready[]> {
  if (stream.stableMs === 0 || files.length === 0) return [];
  await delay(stream.stableMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  const later = new Map((await matchingFiles(store, location, signal)).map((file) => [file.path, file.version]));
  return files
    .filter((file) => later.get(file.path) !== file.version)
    .map((file) => ({ file, why: `it has changed within ${stream.stableMs} ms, so it may still be written` }));
}

async function withoutSemaphore(
  files: readonly SourceFile[],
  { store, location, stream: { done } }: ReadyQuery,
  signal: AbortSignal,
): Promise<Unready[]> {
  if (done === undefined || files.length === 0) return [];
  const semaphores = await semaphoresOf(files, { store, location, done }, signal);
  return files.flatMap((file) => {
    const semaphore = semaphores.get(file.path);
    if (semaphore === undefined) return [{ file, why: `its semaphore ${file.name}${done} is not there` }];
    if (timeOf(semaphore.version) >= timeOf(file.version)) return [];
    return [{ file, why: `its semaphore ${file.name}${done} is older than the file` }];
  });
}

/** The existing semaphores, by the paths of their files. */
export async function semaphoresOf(
  files: readonly SourceFile[],
  { store, location, done }: Pick<ReadyQuery, 'store' | 'location'> & { done: string },
  signal: AbortSignal,
): Promise<Map<string, SourceFile>> {
  const found = new Map<string, SourceFile>();
  const folders = Map.groupBy(files, ({ path }) => folderOf(location, path));
  for (const [folder, inFolder] of folders) {
    const wanted = new Map(inFolder.map((file) => [`${file.name.split('/').at(-1) ?? ''}${done}`, file]));
    const filter = { prefix: '', kind: 'file' as const, matches: (name: string) => wanted.has(name) };
    for (const { name, kind, ...entry } of await store.list(folder, filter, signal)) {
      const file = wanted.get(name);
      if (file === undefined || kind !== 'file') continue;
      const path = file.path + done;
      found.set(file.path, { ...entry, path, label: location.label(path), name: file.name + done });
    }
  }
  return found;
}

function notReady(waiting: readonly string[]): Error {
  return sourceFault(waiting.slice(0, 3).join(' '), {
    suggestion: 'Pull again when the export is complete. With `absent: skip` a pull without a file does not fail.',
  });
}
