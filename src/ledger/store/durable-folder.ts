import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fault } from '../../domain/faults.ts';
import { messageOf, systemCodeOf } from '../../lib/errors.ts';

/** What systems say that know no fsync of a folder, or do not let this user open it. */
const NO_FOLDER_SYNC = new Set(['EINVAL', 'ENOTSUP', 'EISDIR', 'EPERM', 'EACCES']);

/**
 * Makes a folder and those above it that are missing, so that they are on the disk when this returns. SQLite does as much for
 * the names of its files, but whatever is fsynced in a folder is lost with it (I8). What is made is its owner's alone.
 *
 * @throws Fault `ledger.unwritable` when the disk fails, and what the system says when a folder cannot be made
 */
export function makeDurableFolder(folder: string): void {
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  // A folder's name lies in the one above it.
  for (let made = resolve(folder); ; made = dirname(made)) {
    syncFolder(dirname(made));
    if (made === first || made === dirname(made)) return;
  }
}

/**
 * Brings the names in a folder to the disk.
 *
 * @throws Fault `ledger.unwritable` when the disk fails
 */
export function syncFolder(folder: string): void {
  try {
    const descriptor = openSync(folder, 'r');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (NO_FOLDER_SYNC.has(systemCodeOf(error) ?? '')) return;
    throw fault('ledger.unwritable', `The disk fails the ledger: ${messageOf(error)}.`, {
      path: 'ledger',
      suggestion: 'Check the disk: is it full, read-only, failing, or a network share that has gone away?',
      cause: error,
    });
  }
}
