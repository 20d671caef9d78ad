import type { Fault } from '../../lib/errors.ts';
import type { HighWater } from '../identity/high-water.ts';
import type { LedgerContext } from './context.ts';
import type { Tx } from './tx.ts';

/** A write of a group. It may change nothing but the database, because it may run twice. */
export interface GroupedWrite {
  write: (tx: Tx) => unknown;
}

type Result = { ok: true; value: unknown } | { ok: false; error: unknown };

interface CommittedGroup {
  /** In the order of the writes. */
  results: Result[];
  /** The count of commits with this one, for the mark beside the ledger. */
  generation: number;
}

interface GroupTransactionOptions {
  highWater: Pick<HighWater, 'raise'>;
  /** Asked before each transaction: why nothing may be written any more, or null. */
  refusal: () => Fault | null;
}

/**
 * Runs the writes of a group in one transaction, and commits it. If a write throws, only that write is undone. The
 * function throws if the group is not committed; then all of its writes are undone.
 */
export function createGroupTransaction(
  context: LedgerContext,
  { highWater, refusal }: GroupTransactionOptions,
): (group: readonly GroupedWrite[]) => CommittedGroup {
  const { db } = context;
  // A write runs only between BEGIN and COMMIT.
  const tx = context as Tx;
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  const savepoint = db.prepare('SAVEPOINT one_write');
  const release = db.prepare('RELEASE one_write');
  const undo = db.prepare('ROLLBACK TO one_write');

  /** Runs the writes of a group in order. If one throws, all are undone and the result is null. */
  function writeAll(group: readonly GroupedWrite[]): Result[] | null {
    try {
      return group.map(({ write }) => ({ ok: true, value: write(tx) }));
    } catch (error) {
      if (!db.inTransaction) throw error;
      rollback.run();
      begin.run();
      return null;
    }
  }

  /** Runs a write that may throw in a separate savepoint, so that only this write can be undone. This is slower. */
  function writeApart({ write }: GroupedWrite): Result {
    savepoint.run();
    try {
      const value = write(tx);
      release.run();
      return { ok: true, value };
    } catch (error) {
      if (!db.inTransaction) throw error;
      undo.run();
      release.run();
      return { ok: false, error };
    }
  }

  /** Ends a transaction that an earlier group has left open. */
  function rollBack(): void {
    if (db.inTransaction) rollback.run();
  }

  return (group) => {
    try {
      const reason = refusal();
      if (reason) throw reason;
      rollBack();
      begin.run();
      const results = writeAll(group) ?? group.map(writeApart);
      const generation = highWater.raise();
      commit.run();
      return { results, generation };
    } catch (error) {
      try {
        rollBack();
      } catch {
        // If the disk fails here too, it also fails the next group, which reports the error.
      }
      throw error;
    }
  };
}
