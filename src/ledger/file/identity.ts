// What identifies a ledger. An older copy of a ledger is recognised by the mark beside it, so that nothing is written to
// the API twice. The mark is written only after the ledger's identity is in its main file, and its count is never ahead of
// the ledger's commits. So no crash leaves a mark without the ledger that the mark describes.

import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { fault } from '../../domain/faults.ts';
import type { Fault } from '../../lib/errors.ts';
import type { Sqlite } from '../store/database.ts';
import { readMeta, readOrWriteMeta, writeMeta } from '../store/meta.ts';
import { inTransaction } from '../store/tx.ts';
import type { LedgerHolder } from './lock.ts';
import { type Mark, markOf, readMark } from './mark.ts';

/** What identifies a ledger. */
interface Identity {
  /** A random id that never changes for this ledger. */
  id: string;
  /** A random text that a restore renews. It is a part of every idempotency key. */
  epoch: string;
  /** How often the lock was taken. A process whose term has passed may not write any more. */
  term: string;
}

/**
 * Reads the identity of a ledger, or creates it for a new one. Notes this process as the owner of the lock, and begins
 * its term. One transaction.
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
    const term = String(Number(readMeta(tx, 'term') ?? '0') + 1);
    writeMeta(tx, 'term', term);
    return { id: readOrWriteMeta(tx, 'id', randomUUID), epoch: readOrWriteMeta(tx, 'epoch', randomUUID), term };
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

/**
 * Refuses a ledger that is an older copy, has lost its log, or is not the one that was here.
 *
 * @throws Fault `ledger.restored`
 */
export function assertNotRestored(db: Sqlite, file: string): void {
  const backupAt = readMeta({ db }, 'backup_at');
  if (backupAt !== null) throw restoredFault(`The ledger ${file} is a backup of ${backupAt}`);
  const mark = readMark(file);
  if (mark === null) return;
  if (readMeta({ db }, 'id') === null) {
    throw restoredFault(
      `The ledger ${file} is empty, but the mark beside it shows that the ledger had content: the ledger has lost its -wal file, or was created again`,
    );
  }
  assertIsMarked(db, file, mark);
}

/**
 * Refuses a ledger that is gone, has another id than its mark, or fewer commits.
 *
 * @throws Fault `ledger.restored`
 */
export function assertIsMarked(db: Sqlite | null, file: string, mark: Mark): void {
  if (db === null || readMeta({ db }, 'id') === null) throw goneFault(file);
  if (readMeta({ db }, 'id') !== mark.ledgerId) throw foreignFault(file);
  const generation = Number(readMeta({ db }, 'generation') ?? '0');
  if (generation >= mark.generation) return;
  throw restoredFault(`The ledger ${file} is older than the ledger that was here, or has lost its -wal file`);
}

/**
 * Refuses to create a ledger where one has been. A new ledger would not know what was written to the API.
 *
 * @throws Fault `ledger.restored`
 */
export function assertNotGone(file: string): void {
  const isThere = existsSync(file) && statSync(file).size > 0;
  if (!isThere && readMark(file) !== null) throw goneFault(file);
}

function goneFault(file: string): Fault {
  return fault(
    'ledger.restored',
    `The ledger ${file} is gone or empty, but the mark beside it shows that there was a ledger.`,
    {
      path: 'ledger',
      suggestion: `Put the ledger back, or run \`dpp-sync ledger restore BACKUP\`. To start with a new ledger, remove ${markOf(file)}: the next sync lists the platform first and adopts what is there.`,
    },
  );
}

function foreignFault(file: string): Fault {
  return fault('ledger.restored', `The ledger ${file} is not the ledger that the mark beside it names.`, {
    path: 'ledger',
    suggestion: `This ledger does not know what the former ledger wrote to the API. Put the former ledger back, or run \`dpp-sync ledger restore\`: dpp-sync then looks up every item at the platform before it writes the item again. If this ledger belongs here and is the latest one, remove ${markOf(file)}.`,
  });
}

function restoredFault(what: string): Fault {
  return fault('ledger.restored', `${what}: this ledger does not know what was written to the API later.`, {
    path: 'ledger',
    suggestion:
      'If the later ledger still exists, put it back. Otherwise run `dpp-sync ledger restore`: dpp-sync then looks up every item at the platform before it writes the item again.',
  });
}
