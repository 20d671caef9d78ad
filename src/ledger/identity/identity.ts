import { randomUUID } from 'node:crypto';
import { fault } from '../../domain/faults.ts';
import type { Sqlite } from '../store/database.ts';
import type { LedgerHolder } from '../store/holder.ts';
import { readOrWriteMeta, writeMeta } from '../store/meta.ts';
import { inTransaction } from '../store/transaction.ts';

/** What identifies a ledger. */
export interface Identity {
  /** A random id that never changes for this ledger. */
  id: string;
  /** A random text that a restore renews. It is a part of every idempotency key. */
  epoch: string;
}

/**
 * Reads the identity of a ledger, or creates it for a new one, and notes this process as the owner of the lock. One
 * transaction.
 *
 * @throws Fault `ledger.target`
 */
export function takeIdentity(
  db: Sqlite,
  { file, target, holder }: { file: string; target: string; holder: LedgerHolder },
): Identity {
  return inTransaction({ db }, (tx) => {
    const bound = readOrWriteMeta(tx, 'target', () => target);
    bindTarget(bound, target, file);
    writeMeta(tx, 'holder', JSON.stringify(holder));
    return { id: readOrWriteMeta(tx, 'id', randomUUID), epoch: readOrWriteMeta(tx, 'epoch', randomUUID) };
  });
}

/** @throws Fault `ledger.target` */
export function bindTarget(bound: string, asked: string, file: string): void {
  if (bound === asked) return;
  throw fault('ledger.target', `The ledger ${file} belongs to ${bound}, and the config names ${asked}.`, {
    path: 'target.baseUrl',
    suggestion:
      'Remote ids and idempotency keys of one API are not valid at another API. Use a separate ledger file for each API.',
  });
}
