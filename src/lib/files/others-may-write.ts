import { realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** Who may change a file, besides its owner. */
export interface OthersMayWrite {
  who: 'everybody' | 'group';
  /** The file itself, or the folder above it in which the file can be replaced. */
  place: string;
}

const [EVERYBODY, GROUP, STICKY] = [0o002, 0o020, 0o1000];

/**
 * Finds out by the rights of a file and of the folders above it whether other users may change or replace the file. A
 * path may be a link, so the folders of the link count as well as those of the file.
 *
 * @returns null if only the owners and root may, or if the file does not exist
 */
export async function othersMayWrite(path: string): Promise<OthersMayWrite | null> {
  if (process.getuid === undefined) return null;
  const real = await realpath(path).catch(() => null);
  if (real === null) return null;
  const places = new Set([real, ...foldersAbove(real), ...foldersAbove(resolve(path))]);
  let found: OthersMayWrite | null = null;
  for (const place of places) {
    const stats = await stat(place).catch(() => null);
    // In a sticky folder, nobody replaces the files of others.
    if (stats === null || (stats.isDirectory() && (stats.mode & STICKY) !== 0)) continue;
    if ((stats.mode & EVERYBODY) !== 0) return { who: 'everybody', place };
    // The group of root, and a group with the number of its only member, have nobody else.
    const isShared = stats.gid !== 0 && stats.gid !== stats.uid;
    if ((stats.mode & GROUP) !== 0 && isShared) found ??= { who: 'group', place };
  }
  return found;
}

function foldersAbove(path: string): string[] {
  const folder = dirname(path);
  return folder === path ? [] : [folder, ...foldersAbove(folder)];
}
