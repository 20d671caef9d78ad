// Syncs the log of a ledger to the disk in place of SQLite.

import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { fault } from '../../domain/faults.ts';
import { type Fault, messageOf } from '../../lib/errors.ts';
import { leaveSyncToCaller, neverSync, type Sqlite } from '../store/database.ts';
import { ledgerPath } from './file.ts';

/** Syncs the log of a ledger to the disk. */
export interface LogSync {
  /**
   * Resolves when all earlier commits are on the disk.
   *
   * @throws Fault `ledger.unwritable` when the disk fails. Then this process may not write to the ledger any more: the
   *   system reports such a failure only once, and afterwards treats the lost pages as written. The next process that
   *   opens the ledger copies the sound part of the log into the database.
   */
  sync(): Promise<void>;
  /** A second call changes nothing. */
  close(): void;
}

const toDisk = promisify(fdatasync);

/** The log of a ledger that nobody needs after this process, so that nothing of it need be on the disk. */
export function createNoLogSync(db: Sqlite): LogSync {
  neverSync(db);
  return { sync: () => Promise.resolve(), close: () => undefined };
}

/**
 * Does the fsync of each commit in place of SQLite, so that the process can work while the disk is busy. SQLite still
 * syncs the log before it copies pages into the database, and the database before it starts a new log. So a power cut
 * can only undo the latest commits, and the ledger stays sound.
 *
 * @throws Fault `ledger.unwritable` when the log cannot be opened
 */
export function createLogSync(db: Sqlite, file: string): LogSync {
  let handle: number;
  try {
    // The log exists since the ledger was opened, and stays the same file until the ledger is closed.
    handle = openSync(`${ledgerPath(file)}-wal`, 'r+');
  } catch (error) {
    throw logFault(error);
  }
  leaveSyncToCaller(db);
  let closed = false;
  return {
    async sync() {
      try {
        await toDisk(handle);
      } catch (error) {
        throw logFault(error);
      }
    },
    close() {
      if (!closed) closeSync(handle);
      closed = true;
    },
  };
}

function logFault(error: unknown): Fault {
  return fault('ledger.unwritable', `The disk reports an error for the ledger: ${messageOf(error)}.`, {
    path: 'ledger',
    suggestion:
      'Check whether the disk is full or failing, or is a network share that is no longer there. Then run the command again.',
    cause: error,
  });
}
