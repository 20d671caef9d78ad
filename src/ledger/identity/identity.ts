import { randomUUID } from 'node:crypto';
import { fault } from '../../domain/faults.ts';
import type { Sqlite } from '../store/database.ts';
import type { LedgerHolder } from '../store/holder.ts';
import { createMeta } from '../store/meta.ts';

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
  const meta = createMeta(db);
  return db
    .transaction(() => {
      bindTarget(
        meta.getOrCreate('target', () => target),
        target,
        file,
      );
      meta.set('holder', JSON.stringify(holder));
      return { id: meta.getOrCreate('id', randomUUID), epoch: meta.getOrCreate('epoch', randomUUID) };
    })
    .immediate();
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
