import type { BigIntStats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { messageOf, systemCodeOf } from '../../lib/errors.ts';
import { localTroubleOf } from '../../lib/local-trouble.ts';
import { sourceFault } from '../faults.ts';

/** A file that was found, with what is needed to tell later that it is still the same. */
export interface SourceFile {
  /** Absolute. */
  path: string;
  /** For places and messages: the path below the pattern's fixed folders, with `/`. */
  name: string;
  bytes: number;
  version: string;
}

export interface FileQuery {
  /** A path of the config. `*` and `?` stand for characters within a file or folder name; nothing else is special. */
  pattern: string;
  /** `all`: every match, by name. `latest`: the match modified last; of several at one instant the last by name. */
  select: 'all' | 'latest';
  resolvePath(path: string): string;
}

/**
 * Finds the files that a path of the config names. A leading dot must be written out, and folders that match are passed
 * over.
 *
 * @returns at least one file, in the order of their names (by code unit, so that the order is the same everywhere).
 * @throws a `sourceFault` when nothing matches or a folder cannot be read.
 */
export async function findFiles(query: FileQuery): Promise<SourceFile[]> {
  const segments = query.pattern.split(sep === '/' ? '/' : /[\\/]/);
  const wild = segments.findIndex(isWild);
  if (wild === -1) {
    const path = query.resolvePath(query.pattern);
    return [await describeFile(path, segments.at(-1) ?? query.pattern, query.pattern)];
  }
  const root = query.resolvePath(segments.slice(0, wild).join('/') || (wild === 0 ? '.' : '/'));
  const files: SourceFile[] = [];
  for (const name of await expand(root, segments.slice(wild), query.pattern)) {
    const path = join(root, name);
    const stats = await statOf(path, query.pattern);
    if (stats.isFile()) files.push(fileFrom(path, name, stats));
  }
  if (files.length === 0) {
    throw sourceFault(`No file matches ${query.pattern} (looked in ${root}).`, {
      suggestion: 'Check the path and the pattern, and whether the export has been written.',
    });
  }
  files.sort((a, b) => (a.name < b.name ? -1 : 1));
  return query.select === 'all' ? files : [files.reduce(newer)];
}

/** `3 files, 12.4 MB`, for probes. */
export function formatFiles(files: readonly SourceFile[]): string {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const size =
    bytes < 1_000
      ? `${bytes} B`
      : bytes < 1_000_000
        ? `${(bytes / 1_000).toFixed(1)} kB`
        : `${(bytes / 1_000_000).toFixed(1)} MB`;
  return `${files.length === 1 ? '1 file' : `${files.length} files`}, ${size}`;
}

async function expand(folder: string, segments: readonly string[], pattern: string): Promise<string[]> {
  const [segment = '', ...rest] = segments;
  if (segment.includes('**')) {
    throw sourceFault(`The path ${pattern} contains **, which is not supported.`, {
      suggestion: 'Name the folders, with * for each level whose name varies.',
    });
  }
  const matcher = matcherOf(segment);
  const names: string[] = [];
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    throw unreadableFault(folder, pattern, error);
  });
  for (const entry of entries) {
    if (!(isWild(segment) ? matcher.test(entry.name) : segment === entry.name)) continue;
    if (entry.name.startsWith('.') && !segment.startsWith('.')) continue;
    if (rest.length === 0) names.push(entry.name);
    else if (entry.isDirectory() || entry.isSymbolicLink()) {
      const below = join(folder, entry.name);
      if (entry.isSymbolicLink() && !(await statOf(below, pattern)).isDirectory()) continue;
      for (const name of await expand(below, rest, pattern)) names.push(`${entry.name}/${name}`);
    }
  }
  return names;
}

function isWild(segment: string): boolean {
  return segment.includes('*') || segment.includes('?');
}

function matcherOf(segment: string): RegExp {
  const source = segment
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*+/g, '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 's');
}

async function describeFile(path: string, name: string, pattern: string): Promise<SourceFile> {
  const stats = await statOf(path, pattern);
  if (stats.isDirectory()) {
    throw sourceFault(`${pattern} is a folder, not a file (${path}).`, {
      suggestion: `To read the files in it, write a pattern such as ${join(pattern, '*.csv')}.`,
    });
  }
  if (!stats.isFile()) throw sourceFault(`${pattern} is not a regular file (${path}).`);
  return fileFrom(path, name, stats);
}

async function statOf(path: string, pattern: string): Promise<BigIntStats> {
  return stat(path, { bigint: true }).catch((error: unknown) => {
    throw unreadableFault(path, pattern, error);
  });
}

function fileFrom(path: string, name: string, stats: BigIntStats): SourceFile {
  return { path, name, bytes: Number(stats.size), version: versionOf(stats) };
}

/** The time comes first and has a fixed width, so that versions of several files compare by age. */
function versionOf(stats: BigIntStats): string {
  return `${String(stats.mtimeNs).padStart(24, '0')}/${stats.size}/${stats.ino}`;
}

function newer(a: SourceFile, b: SourceFile): SourceFile {
  // Files arrive by name, so the later name wins where the times are the same.
  return a.version.split('/', 1).join() > b.version.split('/', 1).join() ? a : b;
}

/** @throws a `sourceFault` if the file is another one than the one that was found */
export function assertSame(file: SourceFile, stats: BigIntStats): void {
  if (versionOf(stats) === file.version) return;
  const bytes = Number(stats.size);
  const sizes = `from ${file.bytes} to ${bytes} bytes`;
  throw changedFault(
    file,
    bytes > file.bytes ? `it grew ${sizes}` : bytes < file.bytes ? `it shrank ${sizes}` : 'it was overwritten',
  );
}

export function changedFault(file: SourceFile, how: string): Error {
  return sourceFault(`${file.path} was changed while it was read: ${how}. No row is taken for missing.`, {
    suggestion: 'Let the export be written under a temporary name and renamed when it is complete, then pull again.',
  });
}

export function unreadableFault(path: string, pattern: string, error: unknown): Error {
  const where = path === pattern ? path : `${pattern} (${path})`;
  const local = localTroubleOf(error);
  if (local !== null)
    return sourceFault(`${where} cannot be read. ${local.what}`, { suggestion: local.cure, cause: error });
  const code = systemCodeOf(error);
  const why =
    code === 'ENOENT' || code === 'ENOTDIR'
      ? 'does not exist'
      : code === 'EACCES' || code === 'EPERM'
        ? 'may not be read by this user: permission denied'
        : `cannot be read: ${messageOf(error)}`;
  return sourceFault(`${where} ${why}.`, {
    suggestion:
      code === 'ENOENT' || code === 'ENOTDIR'
        ? 'Check the path, which is relative to the config file, and whether the export has been written.'
        : 'Check the rights of the file and of its folders, and the disk.',
    cause: error,
  });
}
