import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { fault } from '../../domain/faults.ts';
import { type Fault, messageOf } from '../../lib/errors.ts';
import type { Sqlite } from './database.ts';
import { ledgerPlace } from './ledger-place.ts';

/** Brings the log of a ledger to the disk. */
export interface LogSync {
  /**
   * Resolves once all that was committed before the call is on the disk.
   *
   * @throws Fault `ledger.unwritable` when the disk fails. Nothing may be written to the ledger by this process then: the
   *   system tells of such a failure once and takes what it could not write for written, so that no later call would tell.
   *   Whoever opens the ledger next finds what is whole of its log, and writes that anew.
   */
  sync(): Promise<void>;
  /** A second call changes nothing. */
  close(): void;
}

const toDisk = promisify(fdatasync);

/**
 * Takes the fsync of each commit over from SQLite, so that the process goes on with other work while the disk is busy. SQLite
 * itself still syncs the log before it moves pages into the database, and the database before it begins the log anew: a
 * power cut takes the latest commits back, in the reverse order, and leaves the ledger whole.
 *
 * @throws Fault `ledger.unwritable` when the log cannot be opened
 */
export function createLogSync(db: Sqlite, file: string): LogSync {
  let handle: number;
  try {
    // It is there since the ledger was opened, and stays the same file for as long as that is open.
    handle = openSync(`${ledgerPlace(file)}-wal`, 'r+');
  } catch (error) {
    throw diskFault(error);
  }
  db.pragma('synchronous = NORMAL');
  let closed = false;
  return {
    async sync() {
      try {
        await toDisk(handle);
      } catch (error) {
        throw diskFault(error);
      }
    },
    close() {
      if (!closed) closeSync(handle);
      closed = true;
    },
  };
}

function diskFault(error: unknown): Fault {
  return fault('ledger.unwritable', `The disk fails the ledger: ${messageOf(error)}.`, {
    path: 'ledger',
    suggestion:
      'Check the disk: is it full, failing, or a network share that has gone away? Then run the command again.',
    cause: error,
  });
}
