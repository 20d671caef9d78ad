import type { Clock } from '../../lib/clock.ts';
import type { Sqlite } from './database.ts';
import type { GroupCommit } from './group-commit.ts';

/** Keeps waits as long as they were meant to be, and what came first before what came later, when the clock is set. */
export interface FollowClock {
  /**
   * Takes notice of a clock that was set since the last call, and resolves once what waits has followed it. Call it before
   * times are compared with the present.
   */
  notice(): Promise<void>;
  /** Takes notice of a clock that was set back since the file was written last. For use inside a transaction. */
  atStart(): void;
}

/** A clock that is slewed drifts by less than this within hours; whoever sets it by less does no harm. */
const JUMP_MS = 1_000;

/** Items with a delivery whose time is yet to come, each by the index that has them. */
const SCHEDULED = ["state IN ('due', 'in_doubt') AND due_at > 0", "state = 'blocked' AND due_at > 0"];

interface FollowClockOptions {
  db: Sqlite;
  clock: Clock;
  commit: Pick<GroupCommit, 'run'>;
}

/**
 * Waits are kept in wall time, since they have to outlast the process. That the clock was set shows where wall time and a
 * clock that nobody sets disagree; that it was set back while no process ran shows in times that are yet to come.
 */
export function createFollowClock({ db, clock, commit }: FollowClockOptions): FollowClock {
  const sql = {
    // What was decided before the clock was set forward has that much longer to wait, on the new clock.
    setForward: SCHEDULED.map((scheduled) =>
      db.prepare<[{ ms: number; before: number }]>(
        `UPDATE items SET due_at = due_at + @ms, settled_at = settled_at + @ms
         WHERE ${scheduled} AND settled_at <= @before`,
      ),
    ),
    // What was decided later than now waits from the beginning: nobody knows how much of its wait is over, and an unconfirmed write
    // that is looked at too early would be taken for absent.
    setBack: SCHEDULED.map((scheduled) =>
      db.prepare<[{ now: number }]>(
        `UPDATE items SET due_at = @now + max(0, due_at - settled_at), settled_at = @now
         WHERE ${scheduled} AND settled_at > @now`,
      ),
    ),
    latestRun: db.prepare<[], { at: number | null }>(
      'SELECT max(max(started_at, ifnull(ended_at, 0))) AS at FROM runs',
    ),
    moveRuns: db.prepare<[{ ms: number; now: number }]>(
      `UPDATE runs SET started_at = started_at + iif(started_at > @now, @ms, 0),
         ended_at = ended_at + iif(ended_at > @now, @ms, 0) WHERE started_at > @now OR ended_at > @now`,
    ),
    moveItems: db.prepare<[{ ms: number; now: number }]>(
      'UPDATE items SET appeared_at = appeared_at + @ms WHERE appeared_at > @now',
    ),
  };
  const offset = (): number => Math.round(clock.now() - clock.ticks());
  let known = offset();

  let following: Promise<void> | null = null;

  async function follow(ms: number): Promise<void> {
    await commit.run(() => {
      const now = clock.now();
      if (ms < 0) bringBack(now, ms);
      else for (const statement of sql.setForward) statement.run({ ms, before: now - Math.round(ms / 2) });
    });
    // Only what is durable has been followed: a jump that could not be stored is noticed again.
    known += ms;
  }

  return {
    async notice() {
      const ms = offset() - known;
      if (following === null && Math.abs(ms) < JUMP_MS) return;
      following ??= follow(ms).finally(() => {
        following = null;
      });
      await following;
    },
    atStart() {
      const now = clock.now();
      bringBack(now, Math.min(0, now - (sql.latestRun.get()?.at ?? 0)));
    },
  };

  function bringBack(now: number, ms: number): void {
    for (const statement of sql.setBack) statement.run({ now });
    if (ms === 0) return;
    // What came after the last read of a source is told by these times, and must not seem to have come before it.
    sql.moveRuns.run({ ms, now });
    sql.moveItems.run({ ms, now });
  }
}
