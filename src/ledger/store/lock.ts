import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { fault } from '../../domain/faults.ts';
import { type Fault, systemCodeOf } from '../../lib/errors.ts';
import { makeDurableFolder } from './durable-folder.ts';
import { accessFault, makePrivateFile } from './file-access.ts';
import { watchFile } from './file-watch.ts';
import { describeHolder, type LedgerHolder } from './holder.ts';
import { assertLedgerFile } from './is-ledger.ts';
import { ledgerFaultOf } from './ledger-fault.ts';
import { ledgerPath } from './ledger-path.ts';
import { assertLocalDisk } from './local-disk.ts';

export interface LedgerLock {
  /** Why this process may not write any more; null while it may. Costs one `stat`. */
  lost(): Fault | null;
  release(): void;
}

/**
 * Takes the lock that makes this process the ledger's only writer: an exclusive transaction on `<ledger>.lock` that is
 * never committed. The kernel releases it when the process ends in any way, so a lock is never stale. Only the owner
 * can open the file, because every user who can read it could lock it.
 *
 * @param readHolder called only when another process has the lock, to name that process
 * @throws Fault `ledger.held`, `ledger.network` or `ledger.unwritable`, and the faults of `assertLedgerFile`
 */
export function acquireLock(ledgerFile: string, readHolder: () => LedgerHolder | null): LedgerLock {
  const place = preparePlace(ledgerFile);
  const db = openLock(place);
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    if (systemCodeOf(error)?.startsWith('SQLITE_BUSY') !== true) throw ledgerFaultOf(error) ?? error;
    throw lockedFault(ledgerFile, { place, holder: readHolder() });
  }
  const change = watchFile(place, { alone: false });
  let lost: Fault | null = null;
  return {
    lost() {
      const what = change();
      if (what !== null) lost ??= lostFault(place, what);
      return lost;
    },
    release: () => void db.close(),
  };
}

function openLock(place: string): Database.Database {
  try {
    return new Database(place, { timeout: 0 });
  } catch (error) {
    throw ledgerFaultOf(error) ?? error;
  }
}

function preparePlace(ledgerFile: string): string {
  try {
    makeDurableFolder(dirname(ledgerFile));
    const ledger = ledgerPath(ledgerFile);
    assertLocalDisk(ledger);
    // No file is made beside the database of another program.
    assertLedgerFile(ledgerFile);
    const place = `${ledger}.lock`;
    makePrivateFile(place);
    return place;
  } catch (error) {
    throw accessFault(ledgerFile, error);
  }
}

function lostFault(place: string, what: string): Fault {
  return fault('ledger.lock_lost', `${place} ${what} while this process held it.`, {
    path: 'ledger',
    suggestion:
      'Another process may write to the ledger now, so this process no longer writes. Stop every process that uses the ledger, then start one again. Never remove the lock file: the lock ends with its process.',
  });
}

function lockedFault(ledgerFile: string, { place, holder }: { place: string; holder: LedgerHolder | null }): Error {
  const { who, find } = describeHolder(holder, place);
  const cure =
    holder?.command === 'start'
      ? 'If the daemon starts or stops at this moment, run the command again in a moment. Otherwise stop the daemon, run the command, and start the daemon again.'
      : 'Wait until that process has ended, or stop it.';
  return fault('ledger.held', `The ledger ${ledgerFile} is in use by ${who}.`, {
    path: 'ledger',
    suggestion: `${cure} Only one process may write to a ledger. ${find}`.trimEnd(),
  });
}
