import type { BigIntStats } from 'node:fs';
import { constants, copyFile, open, readdir, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemCodeOf } from '../../lib/errors.ts';
import { makeFolder } from '../../lib/files/make-folder.ts';
import { syncFolder } from '../../lib/files/sync-folder.ts';
import type { Entry, FileStore } from './file-store.ts';
import type { Location } from './location.ts';
import { localVersionOf, statOf, unreadableFault } from './source-file.ts';

/** The file store for the folders of this machine. */
export function createLocalStore({ pattern }: Pick<Location, 'pattern'>): FileStore {
  return {
    async stat(path) {
      const stats = await stat(path, { bigint: true }).catch((error: unknown) => {
        if (isAbsent(error)) return null;
        throw unreadableFault(path, pattern, error);
      });
      return stats === null ? null : entryOf(path, stats);
    },
    async list(folder, wanted) {
      const entries: Entry[] = [];
      const found = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
        throw unreadableFault(folder, pattern, error);
      });
      for (const one of found) {
        if (!wanted.matches(one.name)) continue;
        // Saves the `stat` of an entry that cannot be wanted.
        if (wanted.kind === 'file' ? one.isDirectory() : !one.isDirectory() && !one.isSymbolicLink()) continue;
        entries.push(entryOf(one.name, await statOf(join(folder, one.name), pattern)));
      }
      return entries;
    },
    copy: async (file) => ({ file: { ...file, bytes: file.bytes ?? 0 }, async release() {} }),
    async move(file, path) {
      await makeFolder(dirname(path));
      return await moveFile(file.path, path);
    },
    remove: (file) => unlink(file.path),
    async close() {},
  };
}

function entryOf(name: string, stats: BigIntStats): Entry {
  const kind = stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other';
  return { name, kind, bytes: Number(stats.size), version: localVersionOf(stats) };
}

function isAbsent(error: unknown): boolean {
  const code = systemCodeOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/**
 * Moves a file to a free path, which may be on another file system. An empty file reserves the path first, so that no
 * other file is ever replaced. After a crash the file is at the old path, at the new path, or at both.
 */
async function moveFile(from: string, to: string): Promise<boolean> {
  try {
    await (await open(to, 'wx', 0o600)).close();
  } catch (error) {
    if (systemCodeOf(error) === 'EEXIST') return false;
    throw error;
  }
  try {
    await rename(from, to).catch(async (error: unknown) => {
      if (systemCodeOf(error) !== 'EXDEV') throw error;
      await copyAcross(from, to);
    });
  } catch (error) {
    for (const left of [to, `${to}.part`]) await unlink(left).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(to));
  return true;
}

/** The copy is synced to the disk under its name before the original is deleted. */
async function copyAcross(from: string, to: string): Promise<void> {
  const part = `${to}.part`;
  await copyFile(from, part, constants.COPYFILE_FICLONE);
  const handle = await open(part, 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(part, to);
  await syncFolder(dirname(to));
  await unlink(from);
}
