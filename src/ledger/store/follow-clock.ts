import type { Clock } from '../../lib/clock.ts';
import type { GroupCommit } from './group-commit.ts';
import { statement } from './statement.ts';
import type { Tx } from './tx.ts';

/**
 * Corrects the ledger's stored times when somebody sets the system's clock, so that waits keep their length and events
 * their order.
 */
export interface FollowClock {
  /**
   * Finds out whether the clock was set since the last call, and corrects the stored times before it resolves. Call it
   * before stored times are compared with the present.
   */
  notice(): Promise<void>;
  /** Finds out whether the clock was set back while no process ran. */
  atStart(tx: Tx): void;
}

/** A clock that is adjusted gradually drifts by less than this within hours. A smaller jump does no harm. */
const JUMP_MS = 1_000;

/** Conditions for items with a delivery that is due later. Each one repeats the condition of an index. */
const SCHEDULED = ["state IN ('due', 'in_doubt') AND due_at > 0", "state = 'blocked' AND due_at > 0"];

/** SQL expression for a reason with another `since`. A wait for the platform begins at `since`. */
function withSince(value: string): string {
  return `iif(reason ->> '$.since' IS NULL, reason, json_set(reason, '$.since', ${value}))`;
}

interface FollowClockOptions {
  clock: Clock;
  commit: Pick<GroupCommit, 'run'>;
}

const SQL = {
  // Deliveries that were scheduled before the clock was set forward are moved by the same time.
  setForward: SCHEDULED.map((scheduled) =>
    statement<[{ ms: number; before: number }]>(
      `UPDATE items SET due_at = due_at + @ms, settled_at = settled_at + @ms,
         reason = ${withSince("reason ->> '$.since' + @ms")}
       WHERE ${scheduled} AND settled_at <= @before`,
    ),
  ),
  // Deliveries that were scheduled later than now begin their wait again. It is unknown how much of the wait is over,
  // and a read-back that begins too early would find the write absent.
  setBack: SCHEDULED.map((scheduled) =>
    statement<[{ now: number }]>(
      `UPDATE items SET due_at = @now + max(0, due_at - settled_at), settled_at = @now,
         reason = ${withSince("min(reason ->> '$.since', @now)")}
       WHERE ${scheduled} AND settled_at > @now`,
    ),
  ),
  // The latest stored time, read from small tables only.
  latest: statement<[], { at: number }>(
    `SELECT max(ifnull((SELECT max(max(started_at, ifnull(ended_at, 0))) FROM runs), 0),
       ifnull((SELECT max(claimed_at) FROM requests), 0),
       ifnull((SELECT max(max(ifnull(read_at, 0), ifnull(stored_at, 0))) FROM listings), 0)) AS at`,
  ),
  moveRuns: statement<[{ ms: number; now: number }]>(
    `UPDATE runs SET started_at = started_at + iif(started_at > @now, @ms, 0),
       ended_at = ended_at + iif(ended_at > @now, @ms, 0) WHERE started_at > @now OR ended_at > @now`,
  ),
  moveItems: statement<[{ ms: number; now: number }]>(
    `UPDATE items SET appeared_at = appeared_at + iif(appeared_at > @now, @ms, 0),
       sent_at = iif(sent_at > @now, min(@now, sent_at + @ms), sent_at) WHERE appeared_at > @now OR sent_at > @now`,
  ),
  moveHistory: statement<[{ ms: number; now: number }]>(
    'UPDATE history SET sent_at = min(@now, sent_at + @ms) WHERE sent_at > @now',
  ),
  // The age of a list with a time in the future is unknown, so it is read again from its beginning.
  forgetLists: statement<[{ now: number }]>(
    `UPDATE listings SET position = NULL, stored_at = NULL, read_at = NULL, surplus = NULL
     WHERE read_at > @now OR stored_at > @now`,
  ),
};

/**
 * Waits are stored in wall time, because they have to outlast the process. A difference between wall time and the
 * monotonic clock shows that the clock was set. Stored times in the future show that it was set back while no process
 * ran.
 */
export function createFollowClock({ clock, commit }: FollowClockOptions): FollowClock {
  const offset = (): number => Math.round(clock.now() - clock.ticks());
  let known = offset();

  let following: Promise<void> | null = null;

  async function follow(ms: number): Promise<void> {
    await commit.run((tx) => {
      const now = clock.now();
      if (ms < 0) bringBack(tx, ms);
      else for (const setForward of SQL.setForward) setForward(tx).run({ ms, before: now - Math.round(ms / 2) });
    });
    // The jump counts as followed only after its commit: a jump that could not be stored is noticed again.
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
    atStart(tx) {
      bringBack(tx, Math.min(0, clock.now() - (SQL.latest(tx).get()?.at ?? 0)));
    },
  };
}

function bringBack(tx: Tx, ms: number): void {
  const now = tx.clock.now();
  for (const setBack of SQL.setBack) setBack(tx).run({ now });
  SQL.forgetLists(tx).run({ now });
  if (ms === 0) return;
  // The begin of a run separates new rows from older ones, so runs move with the clock as well.
  SQL.moveRuns(tx).run({ ms, now });
  // The order of creates shows how current a list is, so the times of sending move as well.
  SQL.moveItems(tx).run({ ms, now });
  SQL.moveHistory(tx).run({ ms, now });
}
