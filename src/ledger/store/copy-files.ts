// Copies a database that other processes use by its files. That takes a third of the time of SQLite's own copies, and hardly any
// where the file system shares the blocks of a copy.
//
// Why the copy is whole (https://sqlite.org/walformat.html): a commit only appends to the log. A checkpoint writes pages into the
// database only after they are in the log. And a process that empties the log begins it with another header. So if the log has the same
// header before the database is copied and after the log is copied, the copied log has each page that was written into the database
// meanwhile. SQLite reads such a page from the log, up to the last whole commit, and so the copy is the database at one moment.

import { chmodSync, closeSync, constants, copyFileSync, openSync, readSync, rmSync } from 'node:fs';
import { systemCodeOf } from '../../lib/errors.ts';

/** The bytes of the header of a log, which has a number of its own for each time that the log was begun. */
const HEADER_BYTES = 32;
/** A log is begun again after some thousand pages, which takes longer than a copy of all but huge databases. */
const ATTEMPTS = 3;

const logOf = (file: string): string => `${file}-wal`;

/**
 * Copies the database and its log. Do not call it in a process that has the database open: POSIX ends all locks of a process on a
 * file when the process closes any descriptor of it.
 *
 * @returns false if the log was begun again during each attempt; then there is no copy
 * @throws the system's error
 */
export function copyFiles(from: string, to: string): boolean {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const before = logHeaderOf(from);
    copyFile(from, to);
    if (before !== null) copyFile(logOf(from), logOf(to));
    if (logHeaderOf(from) === before) return true;
    for (const file of [to, logOf(to)]) rmSync(file, { force: true });
  }
  return false;
}

function copyFile(from: string, to: string): void {
  copyFileSync(from, to, constants.COPYFILE_FICLONE);
  // The mode is copied too, and the ledger may be a backup that nobody may write.
  chmodSync(to, 0o600);
}

/** Null for a database without a log, or with an empty one. */
function logHeaderOf(file: string): string | null {
  let handle: number;
  try {
    handle = openSync(logOf(file), 'r');
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return null;
    throw error;
  }
  try {
    const bytes = Buffer.alloc(HEADER_BYTES);
    return readSync(handle, bytes, 0, HEADER_BYTES, 0) === 0 ? null : bytes.toString('base64');
  } finally {
    closeSync(handle);
  }
}
