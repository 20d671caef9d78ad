// Files that a pattern has found must be below the pattern's fixed folder, wherever links lead: somebody who may write
// exports there must not choose another file of this machine. A path of the config may be a link, and links within the
// folder are followed. Mounted ConfigMaps need both.

import { type FileHandle, readlink, realpath } from 'node:fs/promises';
import { sep } from 'node:path';
import { sourceFault } from '../faults.ts';
import { type SourceFile, statOf } from './source-file.ts';

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
