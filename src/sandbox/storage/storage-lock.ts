import { realpathSync } from 'node:fs';
import Database from 'better-sqlite3';
import { Fault, messageOf, systemCodeOf } from '../../lib/errors.ts';
import { createPrivateFile } from '../../lib/files/private-file.ts';

/** A lock that a sandbox holds while it uses its file. */
export interface StorageLock {
  release(): void;
}

/**
 * Makes this sandbox the only one on its file: an exclusive transaction on `<file>.lock`, which is never committed. The
 * kernel releases the lock when the process ends in any way, so a lock is never stale. With two sandboxes, each would
 * remember keys that the other has revoked, and count its requests separately.
 *
 * @param storage a file that exists, or `:memory:`, which no other process can use
 * @throws Fault when another sandbox holds it
 */
export function lockStorage(storage: string): StorageLock {
  if (storage === ':memory:') return { release: () => undefined };
  // The lock belongs to the real path, so a file has the same lock for every link to it.
  const file = `${realpathSync(storage)}.lock`;
  let database: Database.Database | undefined;
  try {
    createPrivateFile(file);
    const held = new Database(file, { timeout: 0 });
    database = held;
    held.exec('BEGIN EXCLUSIVE');
    return { release: () => void held.close() };
  } catch (error) {
    database?.close();
    const isBusy = systemCodeOf(error)?.startsWith('SQLITE_BUSY') === true;
    const reason = isBusy ? 'another sandbox uses this file' : `${file} cannot be locked (${messageOf(error)})`;
    throw new Fault('sandbox.storage', 3, `The sandbox cannot use ${storage}: ${reason}.`, {
      suggestion: isBusy
        ? 'Stop the other sandbox, or name another file.'
        : 'Name a file in a folder that can be written to.',
      cause: error,
    });
  }
}
