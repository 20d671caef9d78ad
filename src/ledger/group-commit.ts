import { fault } from '../domain/faults.ts';
import type { Fault } from '../lib/errors.ts';
import type { Sqlite } from './database.ts';
import type { HighWater } from './high-water.ts';
import { ledgerFaultOf } from './ledger-fault.ts';

/** Runs writes in transactions that several of them share, so that one fsync serves many. */
export interface GroupCommit {
  /**
   * Runs `write` in the next transaction. The promise resolves once it is durable. A write that throws is undone by
   * itself; those beside it go on.
   */
  run<T>(write: () => T): Promise<T>;
  /** Commits what waits. Nothing may be run afterwards. */
  close(): void;
}

interface Waiting {
  write: () => unknown;
  resolve: (value: unknown) => void;
  reject: (reason: unknown) => void;
}

/** Bounds how long a transaction keeps the event loop. */
const GROUP_MAX = 256;

/** @param lost why nothing may be written any more, or null; asked before each transaction */
export function createGroupCommit(
  db: Sqlite,
  { highWater, lost }: { highWater: HighWater; lost: () => Fault | null },
): GroupCommit {
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  const savepoint = db.prepare('SAVEPOINT one_write');
  const release = db.prepare('RELEASE one_write');
  const undo = db.prepare('ROLLBACK TO one_write');
  let waiting: Waiting[] = [];
  let scheduled: NodeJS.Immediate | null = null;
  let closed = false;

  function schedule(): void {
    scheduled ??= setImmediate(() => {
      scheduled = null;
      flush();
      if (waiting.length > 0) schedule();
    });
  }

  function flush(): void {
    const group = waiting.slice(0, GROUP_MAX);
    waiting = waiting.slice(GROUP_MAX);
    if (group.length === 0) return;
    const done: { one: Waiting; value: unknown }[] = [];
    const failed: { one: Waiting; error: unknown }[] = [];
    try {
      const reason = lost();
      if (reason) throw reason;
      rollBack();
      begin.run();
      for (const one of group) {
        savepoint.run();
        try {
          done.push({ one, value: one.write() });
          release.run();
        } catch (error) {
          if (!db.inTransaction) throw error;
          undo.run();
          release.run();
          failed.push({ one, error });
        }
      }
      highWater.raise();
      commit.run();
    } catch (error) {
      // The whole group is undone: nobody may hear of a write that is not on the disk.
      const reason = ledgerFaultOf(error) ?? error;
      for (const one of group) one.reject(reason);
      try {
        rollBack();
      } catch {
        // The disk fails that as well, and whoever waits has heard of it: the next group begins with it.
      }
      return;
    }
    highWater.mirror();
    for (const { one, value } of done) one.resolve(value);
    for (const { one, error } of failed) one.reject(ledgerFaultOf(error) ?? error);
  }

  /** Ends what an earlier group has left open. */
  function rollBack(): void {
    if (db.inTransaction) rollback.run();
  }

  return {
    run<T>(write: () => T): Promise<T> {
      if (closed) return Promise.reject(fault('internal', 'The ledger is closed.'));
      return new Promise<T>((resolve, reject) => {
        waiting.push({ write, resolve: resolve as (value: unknown) => void, reject });
        schedule();
      });
    },
    close() {
      closed = true;
      if (scheduled) clearImmediate(scheduled);
      while (waiting.length > 0) flush();
    },
  };
}
