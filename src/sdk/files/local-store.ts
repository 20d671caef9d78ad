import type { BigIntStats } from 'node:fs';
import { open, readdir, readlink, realpath, rename, rm, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemCodeOf } from '../../lib/errors.ts';
import { makeFolder, READ_WITHOUT_WAITING, syncFolder } from '../../lib/files.ts';
import { sourceFault } from '../connector.ts';
import type { Entry, FileStore } from './file-store.ts';
import type { Location } from './location.ts';
import {
  assertWithin,
  isWithin,
  localVersionOf,
  outsideFault,
  type SourceFile,
  statOf,
  unreadableFault,
} from './source-file.ts';

/** The file store for the folders of this machine. */
export function createLocalStore(location: Location): FileStore {
  const { pattern } = location;
  const realPathOf = (path: string) =>
    realpath(path).catch((error: unknown) => {
      throw unreadableFault(path, pattern, error);
    });
  return {
    async stat(path) {
      const stats = await stat(path, { bigint: true }).catch(async (error: unknown) => {
        const link = await deadLinkFault(path, error);
        if (link !== null) throw link;
        if (isAbsent(error)) return null;
        throw unreadableFault(path, pattern, error);
      });
      return stats === null ? null : entryOf(path, stats);
    },
    async list(folder, wanted) {
      const entries: Entry[] = [];
      const found = await readdir(folder, { withFileTypes: true }).catch(async (error: unknown) => {
        throw (await deadLinkFault(folder, error)) ?? unreadableFault(folder, pattern, error);
      });
      const within = location.isPattern ? await realPathOf(location.folder) : null;
      const here = within === null ? null : await realPathOf(folder);
      for (const one of found) {
        if (!wanted.matches(one.name)) continue;
        // Saves the `stat` of an entry that cannot be wanted.
        if (wanted.kind === 'file' ? one.isDirectory() : !one.isDirectory() && !one.isSymbolicLink()) continue;
        const path = join(folder, one.name);
        const stats = await (one.isSymbolicLink() ? statOfLink(path, pattern) : statOf(path, pattern));
        const entry = entryOf(one.name, stats);
        if (entry.kind !== 'file' || within === null || here === null) {
          entries.push(entry);
          continue;
        }
        const real = one.isSymbolicLink() ? await realPathOf(path) : join(here, one.name);
        if (!isWithin(real, within)) throw outsideFault(path, { real, within });
        entries.push({ ...entry, within });
      }
      return entries;
    },
    copy: async (file) => ({ file: { ...file, bytes: file.bytes ?? 0 }, async release() {} }),
    async move(file, path) {
      await makeFolder(dirname(path));
      await assertInArchive(file, path);
      return await moveFile(file, path);
    },
    remove: (file) => unlink(file.path),
    async close() {},
  };
}

function entryOf(name: string, stats: BigIntStats): Entry {
  const kind = stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other';
  return { name, kind, bytes: Number(stats.size), version: localVersionOf(stats) };
}

/** @throws a `sourceFault` that names the target of the link, if there is no such file */
async function statOfLink(path: string, pattern: string): Promise<BigIntStats> {
  return stat(path, { bigint: true }).catch(async (error: unknown) => {
    throw (await deadLinkFault(path, error)) ?? unreadableFault(path, pattern, error);
  });
}

/**
 * The error for a path that cannot be found because it is a link that leads nowhere, or is below one, as if a volume is
 * not mounted. Null if there is no such link.
 */
async function deadLinkFault(path: string, cause: unknown): Promise<Error | null> {
  if (!isAbsent(cause) && systemCodeOf(cause) !== 'ELOOP') return null;
  for (let at = path; at !== dirname(at); at = dirname(at)) {
    const target = await readlink(at).catch(() => null);
    if (target === null) continue;
    // A link to a folder that is there is not at fault.
    if (at !== path && (await stat(at).catch(() => null))?.isDirectory() === true) continue;
    const what = at === path ? `${path} is not read: it` : `${path} is not read: ${at}`;
    return sourceFault(
      `${what} is a link to ${target}, and there is no such file or folder. No row counts as missing.`,
      {
        suggestion: 'Write the file that the link names, mount its volume, or remove the link. Then pull again.',
        cause,
      },
    );
  }
  return null;
}

function isAbsent(error: unknown): boolean {
  const code = systemCodeOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/**
 * Refuses a folder below the archive that is a link out of it. The archive's own folder is in the config, so it may be
 * a link.
 */
async function assertInArchive({ name, label }: SourceFile, path: string): Promise<void> {
  const below = name.split('/').length - 1;
  if (below === 0) return;
  const folder = dirname(path);
  const archive = await realpath(join(folder, ...Array.from({ length: below }, () => '..')));
  const real = await realpath(folder);
  if (isWithin(real, archive)) return;
  throw sourceFault(`${label} is not archived: ${folder} is a link to ${real}, out of the folder for archived files.`, {
    suggestion: 'Remove the link. The next pull tries this again.',
  });
}

/**
 * Moves a file to a free path, which may be on another file system. An empty file reserves the path first, so that no
 * other file is ever replaced. After a crash the file is at the old path, at the new path, or at both.
 */
async function moveFile(file: SourceFile, to: string): Promise<boolean> {
  try {
    await (await open(to, 'wx', 0o600)).close();
  } catch (error) {
    if (systemCodeOf(error) === 'EEXIST') return false;
    throw error;
  }
  try {
    await rename(file.path, to).catch(async (error: unknown) => {
      if (systemCodeOf(error) !== 'EXDEV') throw error;
      await copyAcross(file, to);
    });
  } catch (error) {
    for (const left of [to, `${to}.part`]) await unlink(left).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(to));
  return true;
}

/**
 * The copy is synced to the disk under its name before the original is deleted. The copy is a new file: a link that
 * somebody has put in its place is removed, and not followed.
 */
async function copyAcross(file: SourceFile, to: string): Promise<void> {
  const part = `${to}.part`;
  // A killed attempt may have left this file behind.
  await rm(part, { force: true });
  const from = await open(file.path, READ_WITHOUT_WAITING);
  try {
    await assertWithin(file, from);
    const { mode } = await from.stat();
    const copy = await open(part, 'wx', mode & 0o777);
    try {
      await copy.writeFile(from.createReadStream({ autoClose: false }));
      await copy.sync();
    } finally {
      await copy.close();
    }
  } finally {
    await from.close();
  }
  await rename(part, to);
  await syncFolder(dirname(to));
  await unlink(file.path);
}
