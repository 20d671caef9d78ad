import { lstat, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCodeOf } from '../../lib/errors.ts';
import { makeFolder } from '../../lib/files/make-folder.ts';
import { syncFolder } from '../../lib/files/sync-folder.ts';
import type { BackupFile } from '../care.ts';

/**
 * The backups of one ledger in a folder. Their names contain the ledger's id and the time of the backup. No file with
 * another name is read, replaced or removed, so that several ledgers and other people can use the same folder.
 */
export interface BackupFolder {
  /** The path for a backup of this time. */
  pathFor(at: number): string;
  /** The newest first; empty if there is no such folder. */
  list(): Promise<BackupFile[]>;
  /** Makes the folder if it is missing, and removes the files of a killed attempt. */
  prepare(): Promise<void>;
  /**
   * Keeps this many backups and removes the older ones. A backup with a later time than the last one is from before the
   * clock was set back, and counts as older than the last one.
   *
   * @param lastAt the time of the backup that was made last, which is always kept
   * @returns the removed files
   */
  removeOld(keep: number, lastAt: number): Promise<string[]>;
}

const ID_CHARS = 12;
/** A backup that is not complete, or a file that SQLite makes beside it. */
const PARTIAL = /^\.(.+)\.part(?:-journal|-wal|-shm)?$/;

export function createBackupFolder({ folder, ledgerId }: { folder: string; ledgerId: string }): BackupFolder {
  const prefix = `dpp-sync-${ledgerId.replaceAll(/[^A-Za-z0-9]/g, '').slice(0, ID_CHARS)}-`;

  /** When a backup of this name was made; null if the name is not that of a backup. */
  function madeAt(name: string): number | null {
    if (!name.startsWith(prefix) || !name.endsWith('.db')) return null;
    const [, year, month, day, hour, minute, second] =
      /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(name.slice(prefix.length, -'.db'.length)) ?? [];
    if (year === undefined) return null;
    const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
    return Number.isNaN(at) ? null : at;
  }

  async function names(): Promise<string[]> {
    try {
      return await readdir(folder);
    } catch (error) {
      if (systemCodeOf(error) === 'ENOENT') return [];
      throw error;
    }
  }

  async function list(): Promise<BackupFile[]> {
    const files: BackupFile[] = [];
    for (const name of await names()) {
      const at = madeAt(name);
      if (at === null) continue;
      const file = join(folder, name);
      const stats = await lstat(file).catch(() => null);
      // A link or a folder with this name is not a backup of this daemon.
      if (stats?.isFile()) files.push({ file, madeAt: at, bytes: stats.size });
    }
    return files.sort((a, b) => b.madeAt - a.madeAt);
  }

  return {
    pathFor: (at) =>
      join(folder, `${prefix}${new Date(at).toISOString().replaceAll(/[-:]/g, '').replace(/\.\d+/, '')}.db`),
    list,
    async prepare() {
      await makeFolder(folder, 0o700);
      for (const name of await names()) {
        const [, of] = PARTIAL.exec(name) ?? [];
        if (of !== undefined && madeAt(of) !== null) await unlink(join(folder, name));
      }
    },
    async removeOld(keep, lastAt) {
      const files = await list();
      const [later, others] = [
        files.filter((file) => file.madeAt > lastAt),
        files.filter((file) => file.madeAt <= lastAt),
      ];
      const old = [...others, ...later].slice(keep);
      for (const { file } of old) await unlink(file);
      if (old.length > 0) await syncFolder(folder);
      return old.map(({ file }) => file);
    },
  };
}
