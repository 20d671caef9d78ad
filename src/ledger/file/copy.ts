// Copies of a ledger: made step by step under another name, marked as a backup, and synced.

import { closeSync, fsyncSync, openSync, rmSync } from 'node:fs';
import { makeOneFile, openFile } from '../store/database.ts';
import { readOrWriteMeta } from '../store/meta.ts';
import { inTransaction } from '../store/tx.ts';

/** Removes a file that is made step by step, with the files that SQLite makes beside it, as a killed process leaves them. */
export function removePartial(partial: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${partial}${suffix}`, { force: true });
}

/** Marks a file as a backup, unless it is marked already. Afterwards the file has no log beside it. */
export function markAsBackup(file: string, now: number): void {
  const db = openFile(file);
  try {
    makeOneFile(db);
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
