import { closeSync, fsyncSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fault } from '../../domain/faults.ts';
import { type Fault, messageOf, systemCodeOf } from '../../lib/errors.ts';
import { makeFolderSync } from '../../lib/files/make-folder.ts';
import { limitFaultOf } from './ledger-fault.ts';

/** Error codes of systems that cannot fsync a folder, or do not let this user open it. */
const NO_FOLDER_SYNC = new Set(['EINVAL', 'ENOTSUP', 'EISDIR', 'EPERM', 'EACCES']);

/**
 * Makes a folder and the missing folders above it. When the function returns, all of them are on the disk. Without
 * this, a synced file could be lost together with the name of its folder (I8). Only the owner can open the new folders.
 *
 * @throws Fault `ledger.unwritable` when the disk fails, and the system's error when a folder cannot be made
 */
export function makeDurableFolder(folder: string): void {
  const first = makeFolderSync(folder, 0o700);
  if (first === undefined) return;
  // The name of a folder is stored in the folder above it.
  for (let made = resolve(folder); ; made = dirname(made)) {
    syncFolder(dirname(made));
    if (made === first || made === dirname(made)) return;
  }
}

/**
 * Syncs the names in a folder to the disk.
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
    throw diskFault(error);
  }
}

/** The fault of a disk that fails to sync a file or a folder. */
export function diskFault(error: unknown): Fault {
  const limit = limitFaultOf(error);
  if (limit !== null) return limit;
  return fault('ledger.unwritable', `The disk reports an error for the ledger: ${messageOf(error)}.`, {
    path: 'ledger',
    suggestion: 'Check whether the disk is full, read-only or failing, or is a network share that is no longer there.',
    cause: error,
  });
}
