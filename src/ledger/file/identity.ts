// What identifies a ledger. An older copy of a ledger is recognised by the mark beside it, so that nothing is written to
// the API twice. The mark is written only after the ledger's identity is in its main file, and its count is never ahead of
// the ledger's commits. So no crash leaves a mark without the ledger that the mark describes.

import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { fault } from '../../domain/faults.ts';
import { type Fault, systemCodeOf } from '../../lib/errors.ts';
import { sha256Hex } from '../../lib/hash.ts';
import { moveLog, type Sqlite } from '../store/database.ts';
import { CONTINUES } from '../store/ledger-fault.ts';
import { readMeta, readOrWriteMeta, writeMeta } from '../store/meta.ts';
import { column, inTransaction, type Transaction } from '../store/tx.ts';
import { accessFault, diskFault, ledgerPath, makeDurableFolder, makePrivateFile, syncFolder } from './file.ts';
import { type LedgerHolder, lockLostFault } from './lock.ts';

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
  assertNoBackup(db, file);
  const mark = readMark(file);
  if (mark === null) return;
  if (readMeta({ db }, 'id') === null) {
    throw restoredFault(
      `The ledger ${file} is empty, but the mark beside it shows that the ledger had content: the ledger has lost its -wal file, or was created again`,
    );
  }
  assertIsMarked(db, file, mark);
}

/** @throws Fault `ledger.restored` */
export function assertNoBackup(db: Sqlite, file: string): void {
  const backupAt = readMeta({ db }, 'backup_at');
  if (backupAt !== null) throw restoredFault(`The ledger ${file} is a backup of ${backupAt}`);
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

// The mark is a small file beside a ledger. It contains the ledger's id and its count of commits. The mark is written after
// the commit, never before. So after any crash the count in the mark is at most the count of its own ledger. It is greater
// only than the count of an older copy. If the mark is lost or too low, an older copy may not be recognised, but the right
// ledger is never refused.

/** The content of a mark. */
interface Mark {
  ledgerId: string;
  /** How many commits the ledger had. */
  generation: number;
}

/** A mark that is open for writing. */
interface OpenMark {
  /** Overwrites the mark in place. Costs no fsync. */
  write(mark: Mark): void;
  /** Syncs the mark to the disk. */
  sync(): void;
  close(): void;
}

/** Enough digits for any count. Every mark has the same length, so it can be overwritten in place. */
const DIGITS = 16;
const DIGEST_LENGTH = 16;

/** The path of a ledger's mark. */
function markOf(file: string): string {
  return `${ledgerPath(file)}.mark`;
}

/**
 * Reads the mark beside a ledger. Null if there is no mark, or if the mark is unreadable.
 *
 * @throws Fault `ledger.unwritable` when this process may not open it
 */
export function readMark(file: string): Mark | null {
  let text: string;
  try {
    text = readFileSync(markOf(file), 'utf8');
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return null;
    throw accessFault(`${file}.mark`, error);
  }
  const [ledgerId = '', digits = ''] = text.split(' ');
  const mark = { ledgerId, generation: Number(digits) };
  // A power cut may leave a part of the mark. The digest detects that.
  return Number.isSafeInteger(mark.generation) && markText(mark) === text ? mark : null;
}

/**
 * Writes the mark of a ledger and syncs both its content and its name. A readable mark is overwritten in place, so the
 * ledger is never without a mark.
 *
 * @throws Fault `ledger.unwritable` when the mark cannot be written
 */
function writeMark(file: string, first: Mark): OpenMark {
  try {
    makeDurableFolder(dirname(file));
    const path = markOf(file);
    makePrivateFile(path);
    const handle = openSync(path, readMark(file) === null ? 'w' : 'r+');
    const mark: OpenMark = {
      write: (said) => void writeSync(handle, markText(said), 0),
      sync: () => fsyncSync(handle),
      close: () => closeSync(handle),
    };
    try {
      mark.write(first);
      mark.sync();
      syncFolder(dirname(path));
    } catch (error) {
      mark.close();
      throw error;
    }
    return mark;
  } catch (error) {
    throw accessFault(`${file}.mark`, error);
  }
}

function markText({ ledgerId, generation }: Mark): string {
  const said = `${ledgerId} ${String(generation).padStart(DIGITS, '0')}`;
  return `${said} ${sha256Hex(said).slice(0, DIGEST_LENGTH)}\n`;
}

const SQL = {
  // The term is checked by the same statement: a lock that the system has given to another process is seen here at the
  // latest, and nothing of this transaction is committed.
  count: column<[string], number>(
    `UPDATE meta SET value = CAST(CAST(value AS BIGINT) + 1 AS TEXT) WHERE name = 'generation'
       AND EXISTS (SELECT 1 FROM meta t WHERE t.name = 'term' AND t.value = ?) RETURNING CAST(value AS BIGINT)`,
  ),
};

/** The count of commits, in the ledger and in its mark. */
export interface HighWater {
  /**
   * Counts one commit and returns the new count.
   *
   * @throws Fault `ledger.lock_lost` if another process has taken the lock since; the transaction must be undone
   */
  raise(tx: Transaction): number;
  /** Copies a count to the mark. Call it after the commit is on the disk. Costs no fsync. */
  mirror(generation: number): void;
  /**
   * Writes the mark again if it was removed together with its ledger. The next process then finds the mark and creates
   * no new ledger.
   *
   * @throws Fault `ledger.unwritable` when the mark cannot be written
   */
  putBack(): void;
  /**
   * Syncs the mark to the disk and closes it. A second call does nothing.
   *
   * @throws Fault `ledger.unwritable` when the disk fails
   */
  close(): void;
}

/**
 * Reads the count of a ledger that is open for writing, and creates the mark if there is none.
 *
 * I8: nothing is sent before this returns. The ledger's identity and count are first written to its main file and
 * synced, and only then to the mark. So if a ledger loses its log later, its count is less than that of its mark. A
 * ledger whose first opening was interrupted has no mark, and its creation is repeated.
 *
 * @throws Fault `ledger.unwritable` when the mark cannot be written, or `ledger.held` when another program reads for so
 *   long that a new ledger cannot be completed
 */
export function createHighWater(
  db: Sqlite,
  file: string,
  { id: ledgerId, term }: { id: string; term: string },
): HighWater {
  // `inTransaction` makes this a real commit. A plain read would not show that an earlier commit has failed, and the
  // count of the mark could become greater than that of the ledger.
  let last = inTransaction({ db }, (tx) => {
    readOrWriteMeta(tx, 'generation', () => '0');
    return count(tx);
  });
  // A ledger with a mark has its identity in the main file already, so the new commit need not wait for readers.
  const marked = readMark(file) !== null;
  if (!moveLog(db, marked ? 'PASSIVE' : 'FULL') && !marked) throw busyFault(file);
  const mark = writeMark(file, { ledgerId, generation: last });
  let closed = false;

  function count(tx: Transaction): number {
    const counted = SQL.count(tx).get(term);
    if (counted === undefined) throw lockLostFault(file, 'was taken over by another process');
    return counted;
  }

  return {
    raise: count,
    mirror(generation) {
      last = generation;
      try {
        mark.write({ ledgerId, generation });
      } catch (error) {
        // The commit itself is on the disk, so this error must not make it fail. The next commit writes the mark again.
        if (systemCodeOf(error) === undefined) throw error;
      }
    },
    putBack() {
      if (readMark(file) === null) writeMark(file, { ledgerId, generation: last }).close();
    },
    close() {
      if (closed) return;
      closed = true;
      try {
        mark.sync();
      } catch (error) {
        throw diskFault(error);
      } finally {
        mark.close();
      }
    },
  };
}

function busyFault(file: string): Error {
  return fault('ledger.held', `The new ledger ${file} cannot be completed, because another program reads it.`, {
    path: 'ledger',
    suggestion: `Close other programs that have the file open, such as a database browser or a backup. ${CONTINUES}`,
  });
}
