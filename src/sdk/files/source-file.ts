import type { BigIntStats } from 'node:fs';
import { type FileHandle, readlink, realpath, stat } from 'node:fs/promises';
import { sep } from 'node:path';
import type { AsOf } from '../../domain/ports/source.ts';
import { fileReasonOf, localTroubleOf, systemCodeOf } from '../../lib/errors.ts';
import { sourceFault } from '../connector.ts';

/** A file that was found, with the values by which it is later recognised as the same file. */
export interface SourceFile {
  /** The absolute path on this machine, or the path on the server. */
  path: string;
  /** The name in messages: the path, or the address without credentials. */
  label: string;
  /** The name in places: the path below the pattern's fixed folders, with `/`. */
  name: string;
  /** The stored size of the file; null if the server does not state it. */
  bytes: number | null;
  /**
   * A text that changes whenever the file changes. It begins with the time of the last change, so that versions compare
   * by age.
   */
  version: string;
  /** For a file of this machine that a pattern has found: the real path of the folder that it must be in. */
  within?: string;
}

const TIME_LENGTH = 24;

/** The parts of a version. */
interface VersionParts {
  /** Nanoseconds since the Unix epoch; 0 if the time is not known. */
  modifiedNs: bigint;
  bytes: number | bigint | null;
  /** Another value that is different for another content, such as an inode or an ETag. */
  tag: string;
}

/** The time comes first and has a fixed width, so that versions of several files compare by age. */
export function versionOf({ modifiedNs, bytes, tag }: VersionParts): string {
  return `${String(modifiedNs).padStart(TIME_LENGTH, '0')}/${bytes ?? '?'}/${tag}`;
}

/** The time of a version, as text that can be compared. */
export function timeOf(version: string): string {
  return version.slice(0, TIME_LENGTH);
}

/** The newest of these files, and when each was modified; undefined if a time is not known. */
export function newestOf(files: readonly SourceFile[]): AsOf | undefined {
  const times = files.map(({ name, version }) => ({ file: name, at: Number(BigInt(timeOf(version)) / 1_000_000n) }));
  if (times.length === 0 || times.some(({ at }) => at === 0)) return undefined;
  const newest = times.reduce((former, one) => (one.at >= former.at ? one : former));
  return { ...newest, files: Object.fromEntries(times.map(({ file, at }) => [file, at])) };
}

export function localVersionOf(stats: BigIntStats): string {
  return versionOf({ modifiedNs: stats.mtimeNs, bytes: stats.size, tag: String(stats.ino) });
}

/** The metadata of the file at a path of this machine. */
export async function statOf(path: string, pattern: string): Promise<BigIntStats> {
  return stat(path, { bigint: true }).catch((error: unknown) => {
    throw unreadableFault(path, pattern, error);
  });
}

/** @throws a `sourceFault` if the file has changed since it was found */
export function assertSame(file: SourceFile, stats: BigIntStats): void {
  if (localVersionOf(stats) !== file.version) throw changedFault(file, changeOf(file.bytes, Number(stats.size)));
}

/** Describes by the sizes of a file how it has changed. */
export function changeOf(before: number | null, after: number | null): string {
  if (before === null || after === null || before === after) return 'it was overwritten';
  return `it ${after > before ? 'grew' : 'shrank'} from ${before} to ${after} bytes`;
}

export function changedFault({ label }: SourceFile, how: string): Error {
  const isOfWeb = /^https?:/.test(label);
  return sourceFault(`${label} was changed while it was read: ${how}. No row counts as missing.`, {
    suggestion: `Write the export under a temporary name, rename it when it is complete, and pull again.${isOfWeb ? MADE_PER_REQUEST : ''}`,
  });
}

/** A server that makes its answer for each request often states the time of the request. */
const MADE_PER_REQUEST =
  ' If the server makes a new export for each request, let it send the time of the data as `Last-Modified`, an `ETag` of the content, or neither of them.';

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
        : `cannot be read: ${fileReasonOf(error)}`;
  return sourceFault(`${where} ${why}.`, {
    suggestion:
      code === 'ENOENT' || code === 'ENOTDIR'
        ? 'Check the path, which is relative to the config file, and whether the export has been written.'
        : 'Check the rights of the file and of its folders, and the disk.',
    cause: error,
  });
}

// Files that a pattern has found must be below the pattern's fixed folder, wherever links lead: somebody who may write
// exports there must not choose another file of this machine. A path of the config may be a link, and links within the
// folder are followed. Mounted ConfigMaps need both.

type FoundFile = Pick<SourceFile, 'path' | 'label' | 'within'>;

/** True if a real path is in a folder, which is a real path too. */
export function isWithin(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}

/**
 * Checks the open file itself, because its path may lead elsewhere a moment after it was checked.
 *
 * @throws a `sourceFault` if the file was found by a pattern, and is not in the pattern's fixed folder
 */
export async function assertWithin(file: FoundFile, handle: FileHandle): Promise<void> {
  const { path, label, within } = file;
  if (within === undefined) return;
  const real = await realPathOf(path, handle);
  if (!isWithin(real, within)) throw outsideFault(label, { real, within });
}

/** A path that opens the same file again, even if its name leads elsewhere by now. */
export async function pathOfOpen({ path, within }: FoundFile, fd: number): Promise<string> {
  if (within === undefined) return path;
  const open = `/proc/self/fd/${fd}`;
  return (await readlink(open).catch(() => null)) === null ? path : open;
}

async function realPathOf(path: string, handle: FileHandle): Promise<string> {
  const open = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => null);
  if (open !== null) return open;
  // This system does not name open files, so the file at the real path has to be the open one.
  const real = await realpath(path);
  const [named, opened] = await Promise.all([statOf(real, path), handle.stat({ bigint: true })]);
  return named.ino === opened.ino && named.dev === opened.dev ? real : '';
}

export function outsideFault(label: string, { real, within }: { real: string; within: string }): Error {
  const where = real === '' ? 'out of that folder' : `to ${real}`;
  return sourceFault(
    `${label} is not read: it is a link that leads ${where}, and the pattern only reads files in ${within}.`,
    {
      suggestion:
        'Put the file itself into the folder. If the link is meant, write its path into the config without * and ?.',
    },
  );
}
