// How far a ledger has come. The ledger counts its commits. The number is mirrored in the mark beside it, after the commit and
// never before, so that the mark is at or behind its own ledger after any crash, and ahead only of an older copy. A mark that
// was lost or lags, as after a power cut, recognises less and never too much.

import { fault } from '../../domain/faults.ts';
import { systemCodeOf } from '../../lib/errors.ts';
import { moveLog, type Sqlite } from './database.ts';
import { readMark, writeMark } from './mark.ts';

/** Keeps the number of commits, in the ledger and in its mark. */
export interface HighWater {
  /** Counts a commit, and gives the number. For use inside its transaction. */
  raise(): number;
  /** Mirrors the number of a transaction in the mark, once that is durable. Costs no fsync. */
  mirror(generation: number): void;
  /**
   * Writes the mark again if it was removed together with its ledger, so that the next process does not create a new ledger.
   *
   * @throws Fault `ledger.unwritable` when it cannot be written
   */
  putBack(): void;
  /** Brings the mark to the disk and lets go of it; a second call changes nothing. */
  close(): void;
}

/**
 * Takes up the count of a ledger that is open for writing, and makes its mark where it has none.
 *
 * I8: nothing is sent before this has returned. The ledger's identity and count are written to its main file, on the disk, and
 * only then to the mark. So a ledger that loses its log later is behind its mark. A ledger whose first opening was interrupted
 * has no mark, and its creation is repeated.
 *
 * @throws Fault `ledger.unwritable` when the mark cannot be written, or `ledger.held` when another program reads for so long that
 *   a new ledger cannot be completed
 */
export function createHighWater(db: Sqlite, file: string, ledgerId: string): HighWater {
  const count = db
    .prepare<[], number>(
      `INSERT INTO meta (name, value) VALUES ('generation', '1')
       ON CONFLICT DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT) RETURNING CAST(value AS INTEGER)`,
    )
    .pluck();
  // A transaction of its own: `get` alone does not tell whether its commit failed, and the mark would be ahead of it.
  let last = db.transaction(() => count.get() ?? 0).immediate();
  // A ledger that has a mark has its identity in the main file already, and waits for no reader.
  const marked = readMark(file) !== null;
  if (!moveLog(db, marked ? 'PASSIVE' : 'FULL') && !marked) throw busyFault(file);
  const mark = writeMark(file, { ledgerId, generation: last });
  let closed = false;

  return {
    raise: () => count.get() ?? last,
    mirror(generation) {
      last = generation;
      try {
        mark.write({ ledgerId, generation });
      } catch (error) {
        // What was committed stands, and whoever waits for it hears so: a mark that lags is written again by the next commit.
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
      } finally {
        mark.close();
      }
    },
  };
}

function busyFault(file: string): Error {
  return fault('ledger.held', `The new ledger ${file} cannot be completed, since another program reads it.`, {
    path: 'ledger',
    suggestion: 'Close what else has the file open, such as a database browser or a backup, and run the command again.',
  });
}
