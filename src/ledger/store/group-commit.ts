// All writes of the ledger go through one group commit, the only writer beside the openings of a ledger.

import { fault } from '../../domain/faults.ts';
import { Fault } from '../../lib/errors.ts';
import { ledgerFaultOf } from './ledger-fault.ts';
import type { LedgerContext, Transaction, Tx } from './tx.ts';

/**
 * Runs several writes in one transaction, so that they share one fsync. While one group is written to the disk, the
 * writes of the next group are collected.
 */
export interface GroupCommit {
  /**
   * Runs `write` in the next transaction. The promise resolves when the commit is on the disk. If a write throws, only
   * that write is undone, and the other writes of its group are run again. So `write` may change nothing but the
   * database.
   */
  run<T>(write: (tx: Tx) => T): Promise<T>;
  /** Resolves when the writes that were run earlier have ended, and their callers have gone on. */
  ended(): Promise<void>;
  /** Why a write was refused in the last seconds: the disk is full, read-only or locked. Null if none was. */
  refused(): Fault | null;
  /** Why nothing can be written any more, or null: the disk has failed to store a commit, or the lock is lost. */
  failed(): Fault | null;
  /** Resolves when all waiting writes are committed. Nothing may be run afterwards. */
  close(): Promise<void>;
}

interface Waiting extends GroupedWrite {
  resolve: (value: unknown) => void;
  reject: (reason: unknown) => void;
}

/** Bounds for how long one transaction blocks the event loop. */
const GROUP_MAX = 256;
/** Work that was refused is tried again every second. As long as it is refused, small writes may still succeed. */
const REFUSED_FOR_MS = 5000;

interface GroupCommitOptions {
  /** Counts the commits: in the transaction, and after the commit is on the disk. */
  highWater: { raise(tx: Transaction): number; mirror(generation: number): void };
  /** Resolves when all earlier commits are on the disk. */
  log: { sync(): Promise<void> };
  /** Asked before each transaction: why this process may not write any more, or null. */
  lost: () => Fault | null;
}

export function createGroupCommit(context: LedgerContext, { highWater, log, lost }: GroupCommitOptions): GroupCommit {
  const { clock } = context;
  let waiting: Waiting[] = [];
  let scheduled: NodeJS.Immediate | null = null;
  let underWay: Promise<void> | null = null;
  let failed: Fault | null = null;
  let refused: { by: Fault; at: number } | null = null;
  let closed = false;
  const commitGroup = createGroupTransaction(context, { highWater, refusal: () => failed ?? lost() });

  function schedule(): void {
    if (underWay !== null) return;
    scheduled ??= setImmediate(() => {
      scheduled = null;
      storeNext();
    });
  }

  function storeNext(): void {
    const group = waiting.slice(0, GROUP_MAX);
    waiting = waiting.slice(GROUP_MAX);
    underWay = store(group).finally(() => {
      underWay = null;
      // `close` commits the remaining writes itself. A group that runs at the same time would not be on the disk yet
      // when the files are closed.
      if (waiting.length > 0 && !closed) schedule();
    });
  }

  /** Commits a group, and resolves or rejects the promises of its writes. */
  async function store(group: readonly Waiting[]): Promise<void> {
    try {
      const { results, generation } = commitGroup(group);
      await toDisk();
      highWater.mirror(generation);
      for (const [index, { resolve, reject }] of group.entries()) {
        const result = results[index];
        if (result?.ok) resolve(result.value);
        else reject(reasonOf(result?.error));
      }
    } catch (error) {
      if (error instanceof Fault && error.code === 'ledger.lock_lost') failed = error;
      // No promise resolves before its write is on the disk.
      const reason = reasonOf(error);
      for (const one of group) one.reject(reason);
    }
  }

  function reasonOf(error: unknown): unknown {
    const by = ledgerFaultOf(error, context.db.name);
    if (by !== null) refused = { by, at: clock.ticks() };
    return by ?? error;
  }

  async function toDisk(): Promise<void> {
    try {
      await log.sync();
    } catch (error) {
      // I8: a commit that is not on the disk cannot be undone here, so nothing may be built on it.
      if (error instanceof Fault) failed = error;
      throw error;
    }
  }

  return {
    run<T>(write: (tx: Tx) => T): Promise<T> {
      if (closed) return Promise.reject(fault('internal', 'The ledger is closed.'));
      return new Promise<T>((resolve, reject) => {
        waiting.push({ write, resolve: resolve as (value: unknown) => void, reject });
        schedule();
      });
    },
    ended() {
      if (closed) return Promise.resolve();
      return new Promise((resolve) => {
        const end = () => setImmediate(resolve);
        waiting.push({ write: () => undefined, resolve: end, reject: end });
        schedule();
      });
    },
    refused: () => (refused !== null && clock.ticks() - refused.at < REFUSED_FOR_MS ? refused.by : null),
    failed: () => failed,
    async close() {
      closed = true;
      if (scheduled) clearImmediate(scheduled);
      scheduled = null;
      for (;;) {
        if (underWay !== null) await underWay;
        else if (waiting.length > 0) storeNext();
        else return;
      }
    },
  };
}

/** A write of a group. It may change nothing but the database, because it may run twice. */
interface GroupedWrite {
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
  highWater: { raise(tx: Transaction): number };
  /** Asked before each transaction: why nothing may be written any more, or null. */
  refusal: () => Fault | null;
}

/**
 * Runs the writes of a group in one transaction, and commits it. If a write throws, only that write is undone. The
 * function throws if the group is not committed; then all of its writes are undone.
 */
function createGroupTransaction(
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
      const generation = highWater.raise(tx);
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
