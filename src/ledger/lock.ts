import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { fault } from '../domain/faults.ts';
import { type Fault, systemCodeOf } from '../lib/errors.ts';
import { makeDurableFolder } from './durable-folder.ts';
import { ledgerFaultOf } from './ledger-fault.ts';
import { ledgerPlace } from './ledger-place.ts';

/** Who holds the ledger, for the message that another process gets. */
export interface LedgerHolder {
  pid: number;
  command: string;
  since: string;
}

export interface LedgerLock {
  /** Why this process may write no more, or null while it may. One look at the file's entry. */
  lost(): Fault | null;
  release(): void;
}

/**
 * Takes the lock that makes this process the ledger's only writer: an exclusive transaction on `<ledger>.lock`, which is
 * never committed. The kernel releases it with the process, however that ends, so a lock is never stale.
 *
 * @param readHolder asked only when the lock is taken, to name the holder
 * @throws Fault `ledger.held` or `ledger.unwritable`
 */
export function acquireLock(ledgerFile: string, readHolder: () => LedgerHolder | null): LedgerLock {
  makeDurableFolder(dirname(ledgerFile));
  const place = `${ledgerPlace(ledgerFile)}.lock`;
  const db = new Database(place, { timeout: 0 });
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (systemCodeOf(error)?.startsWith('SQLITE_BUSY') !== true) throw ledgerFaultOf(error) ?? error;
    throw heldFault(ledgerFile, readHolder());
  }
  const held = inodeOf(place);
  let lost: Fault | null = null;
  return {
    lost() {
      // It is not ours again when the file is back: another process may have written meanwhile.
      if (lost === null && (held === null || inodeOf(place) !== held)) lost = lostFault(place);
      return lost;
    },
    release: () => void db.close(),
  };
}

/** Names the file itself, whatever its path comes to stand for; null where there is none. */
function inodeOf(path: string): string | null {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? null : `${stats.dev}:${stats.ino}`;
}

function lostFault(place: string): Fault {
  return fault('ledger.lock_lost', `${place} was removed or replaced while this process held it.`, {
    path: 'ledger',
    suggestion:
      'Another process may write to the ledger now, so this one writes no more. Stop all that use it, and start one again. Never remove the lock file: it is released with its process.',
  });
}

function heldFault(ledgerFile: string, holder: LedgerHolder | null): Error {
  const who = holder
    ? `"dpp-sync ${holder.command}" (process ${holder.pid}, since ${holder.since})`
    : 'another process that has only just started';
  return fault('ledger.held', `The ledger ${ledgerFile} is in use by ${who}.`, {
    path: 'ledger',
    suggestion: 'Wait until it is done, or stop it; only one process may write to a ledger.',
  });
}
