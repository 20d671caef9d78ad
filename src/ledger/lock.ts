import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { fault } from '../domain/faults.ts';
import { systemCodeOf } from '../lib/errors.ts';
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
  const db = new Database(`${ledgerPlace(ledgerFile)}.lock`, { timeout: 0 });
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (systemCodeOf(error)?.startsWith('SQLITE_BUSY') !== true) throw ledgerFaultOf(error) ?? error;
    throw heldFault(ledgerFile, readHolder());
  }
  return { release: () => void db.close() };
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
