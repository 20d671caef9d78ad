import { realpathSync } from 'node:fs';
import Database from 'better-sqlite3';
import { Fault, messageOf, systemCodeOf } from '../../lib/errors.ts';
import { createPrivateFile } from '../../lib/files/private-file.ts';

/** SuspendedWork as long as a sandbox serves from its file. */
export interface StorageLock {
  release(): void;
}

/**
 * Makes this sandbox the only one on its file: an exclusive transaction on `<file>.lock`, which is never committed. The
 * kernel releases it with the process, however that ends, so a lock is never stale. Two sandboxes would each remember
 * keys that the other revoked, and count their requests apart.
 *
 * @param storage a file that exists, or `:memory:`, which nobody else can have
 * @throws Fault when another sandbox holds it
 */
export function lockStorage(storage: string): StorageLock {
  if (storage === ':memory:') return { release: () => undefined };
  // One file has one lock, by whatever link it is reached.
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
    const reason = isBusy ? 'another sandbox is serving from it' : `${file} cannot be locked (${messageOf(error)})`;
    throw new Fault('sandbox.storage', 3, `The sandbox cannot use ${storage}: ${reason}.`, {
      suggestion: isBusy
        ? 'Stop the other one, or name another file.'
        : 'Name a file in a folder that can be written to.',
      cause: error,
    });
  }
}
