import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { readOrWriteMeta } from '../store/meta.ts';
import { inTransaction } from '../store/transaction.ts';

/**
 * Replaces the ledger's file with a copy of a backup, and keeps the former file beside it. The copy is marked as a
 * backup, so after a crash nothing takes it for the former ledger. The caller holds the ledger's lock.
 *
 * @returns the path of the former ledger; null if there was none
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
      // SQLite would apply the former file's log to the new file. The former file without its log is recognised as an
      // older copy.
      for (const suffix of ['-wal', '-shm']) {
        if (existsSync(`${place}${suffix}`)) renameSync(`${place}${suffix}`, `${before}${suffix}`);
      }
      keep(place, before);
    }
    renameSync(partial, place);
    syncFile(dirname(place));
    return before;
  } catch (error) {
    // A failed copy is as large as the ledger, so it must not stay on the disk.
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

/** Removes a file that is made step by step, with the files that SQLite makes beside it, as a killed process leaves them. */
export function removePartial(partial: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${partial}${suffix}`, { force: true });
}

/** Marks a file as a backup, unless it is marked already. Afterwards the file has no log beside it. */
export function markAsBackup(file: string, now: number): void {
  const db = new Database(file);
  try {
    db.pragma('journal_mode = DELETE');
    inTransaction({ db }, (tx) => readOrWriteMeta(tx, 'backup_at', () => new Date(now).toISOString()));
  } finally {
    db.close();
  }
}

/** Writes a file, or the names in a folder, to the disk (fsync). */
export function syncFile(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/**
 * Gives the former ledger a second name. It keeps its first name until the new file replaces it: a process that finds
 * no ledger would create an empty one.
 */
function keep(place: string, as: string): void {
  try {
    linkSync(place, as);
  } catch {
    // This file system has no hard links, so the file is copied. Nothing that has the second name is overwritten.
    copyFileSync(place, as, constants.COPYFILE_EXCL);
  }
}
