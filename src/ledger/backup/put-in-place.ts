import { closeSync, copyFileSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { createMeta } from '../store/meta.ts';

/**
 * Puts a backup in the ledger's place, marked as one, so that after a crash on the way it is not taken for the ledger that
 * was there. What was there is kept beside it. For the holder of the ledger's lock.
 *
 * @returns where the former ledger is kept; null where there was none
 */
export function putInPlace(
  backup: string,
  { place, keepAs, now }: { place: string; keepAs: string; now: number },
): string | null {
  const partial = `${place}.part`;
  removePartial(partial);
  try {
    copyInto(partial, backup);
    markAsBackup(partial, now);
    syncFile(partial);
    const before = existsSync(place) ? keepAs : null;
    if (before !== null) {
      // The log of the former file would be taken for the new one's. Without it the former one is older, and recognised so.
      for (const suffix of ['-wal', '-shm']) {
        if (existsSync(`${place}${suffix}`)) renameSync(`${place}${suffix}`, `${before}${suffix}`);
      }
      keep(place, before);
    }
    renameSync(partial, place);
    syncFile(dirname(place));
    return before;
  } catch (error) {
    // A copy as large as the ledger shall not be what fills the disk.
    removePartial(partial);
    throw error;
  }
}

function copyInto(partial: string, backup: string): void {
  const source = new Database(backup, { readonly: true });
  try {
    closeSync(openSync(partial, 'wx', 0o600));
    source.prepare('VACUUM INTO ?').run(partial);
  } finally {
    source.close();
  }
}

function removePartial(partial: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${partial}${suffix}`, { force: true });
}

/** Marks a copy as a backup, unless it says so already. It has no log beside it afterwards. */
export function markAsBackup(file: string, now: number): void {
  const db = new Database(file);
  try {
    db.pragma('journal_mode = DELETE');
    createMeta(db).getOrCreate('backup_at', () => new Date(now).toISOString());
  } finally {
    db.close();
  }
}

/** Brings a file, or a folder's entries, to the disk. */
export function syncFile(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** There is no moment in which the ledger's place is empty: an empty one would be begun anew. */
function keep(place: string, as: string): void {
  try {
    linkSync(place, as);
  } catch {
    // A file system without hard links.
    copyFileSync(place, as);
  }
}
