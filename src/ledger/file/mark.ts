// The mark is a small file beside a ledger. It contains the ledger's id and its count of commits. The mark is written after
// the commit, never before. So after any crash the count in the mark is at most the count of its own ledger. It is greater
// only than the count of an older copy. If the mark is lost or too low, an older copy may not be recognised, but the right
// ledger is never refused.

import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { fault } from '../../domain/faults.ts';
import { systemCodeOf } from '../../lib/errors.ts';
import { sha256Hex } from '../../lib/hash.ts';
import { moveLog, type Sqlite } from '../store/database.ts';
import { CONTINUES } from '../store/ledger-fault.ts';
import { readOrWriteMeta } from '../store/meta.ts';
import { column, inTransaction, type Transaction } from '../store/tx.ts';
import { accessFault, diskFault, ledgerPath, makeDurableFolder, makePrivateFile, syncFolder } from './file.ts';
import { lockLostFault } from './lock.ts';

/** The content of a mark. */
export interface Mark {
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
export function markOf(file: string): string {
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
