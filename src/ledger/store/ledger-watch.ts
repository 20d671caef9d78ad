import { fault } from '../../domain/faults.ts';
import { type Fault, messageOf } from '../../lib/errors.ts';
import type { HighWater } from '../identity/high-water.ts';
import { watchFile } from './file-watch.ts';
import { ledgerPath } from './ledger-path.ts';
import type { LedgerLock } from './lock.ts';

/**
 * Watches the ledger, its log and its lock while the ledger is open for writing. If one of them is removed or replaced,
 * later commits are lost when this process ends. A link that points elsewhere or a second name counts as a change,
 * because another process would not find the lock there.
 *
 * @param file the path by which other processes find the ledger
 * @returns why this process may not write any more; null while it may. The answer never changes back. Each call costs
 *   one `stat` of three paths.
 */
export function watchLedger(
  file: string,
  { lock, highWater }: { lock: Pick<LedgerLock, 'lost'>; highWater: Pick<HighWater, 'putBack'> },
): () => Fault | null {
  const log = `${ledgerPath(file)}-wal`;
  const fileChange = watchFile(file, { alone: true });
  const logChange = watchFile(log, { alone: false });
  let lost: Fault | null = null;

  function look(): Fault | null {
    const ofFile = fileChange();
    if (ofFile !== null) return lostFault(file, ofFile);
    const ofLog = logChange();
    return ofLog === null ? lock.lost() : lostFault(log, ofLog);
  }

  return () => {
    if (lost !== null) return lost;
    lost = look();
    if (lost === null) return null;
    try {
      // A supervisor may start the next process at once. The high-water mark shows the next process that a ledger was
      // here.
      highWater.putBack();
    } catch (error) {
      lost = withoutMark(lost, error);
    }
    return lost;
  };
}

function lostFault(path: string, what: string): Fault {
  return fault('ledger.lost', `${path} ${what} while this process worked on it.`, {
    path: 'ledger',
    suggestion:
      'Later writes of this process would be lost, so this process stops sending and writing. Stop every process that uses the ledger. If you still have the removed file, put it back. Otherwise run `dpp-sync ledger restore BACKUP`. If the file has a second name, remove that name. Then start again.',
  });
}

function withoutMark({ message, suggestion }: Fault, error: unknown): Fault {
  const more = `The mark beside the ledger could not be put back (${messageOf(error)}), so the next process would treat the ledger as a new one.`;
  return fault('ledger.lost', `${message} ${more}`, {
    path: 'ledger',
    ...(suggestion === undefined ? {} : { suggestion }),
    cause: error,
  });
}
