// What the ledger does to its own rows: it deletes old history, and it follows a clock that was set.

import type { HistoryLimits } from '../../domain/ports/ledger/care-ledger.ts';
import type { Clock } from '../../lib/clock.ts';
import { usedBytes } from './database.ts';
import type { GroupCommit } from './group-commit.ts';
import { readMeta, writeMeta } from './meta.ts';
import { column, statement, type Tx } from './tx.ts';

/**
 * How much history is kept besides the earlier revisions of items. The size of the ledger stays bounded over the years
 * (I9).
 */
const KEEP = { eventsPerItem: 50, runsPerSource: 400, missingRecordDays: 30, actions: 100_000 };

/**
 * At most this many events beyond the limits are removed at once. Runs end often enough to remove all of them in time.
 */
const EVENTS_AT_ONCE = 20_000;
const DAY_MS = 24 * 3_600_000;

const PRUNED_EVENTS = 'pruned_events';

const SQL = {
  runs: statement<[number]>(
    `DELETE FROM runs WHERE id IN (
       SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY source ORDER BY id DESC) AS age FROM runs) AS aged WHERE age > ?)`,
  ),
  // Only items with events since the last pruning are checked.
  noisyItems: column<[number, number], number>(
    `SELECT item_id FROM events WHERE item_id IN (SELECT item_id FROM events WHERE id > ?)
     GROUP BY item_id HAVING count(*) > ? ORDER BY item_id`,
  ),
  actions: statement<[number]>('DELETE FROM actions WHERE id <= (SELECT max(id) FROM actions) - ?'),
  events: statement<[number, number, number]>(
    'DELETE FROM events WHERE item_id = ? AND id NOT IN (SELECT id FROM events WHERE item_id = ? ORDER BY id DESC LIMIT ?)',
  ),
  // Missing records without items. Each change of a row that only its content identifies leaves a missing record.
  records: statement<[number]>(
    `DELETE FROM records WHERE missing_since < ? AND NOT EXISTS (SELECT 1 FROM items WHERE items.record_id = records.id)`,
  ),
  // The last run, the last one that has read its source, and the last complete one always stay: they show the state of
  // each source.
  oldRuns: statement<[number]>(
    `DELETE FROM runs WHERE started_at < ? AND id NOT IN (
       SELECT max(id) FROM runs GROUP BY source
       UNION SELECT max(id) FROM runs WHERE cause <> 'upload' GROUP BY source
       UNION SELECT max(id) FROM runs WHERE cause <> 'upload' AND result = 'complete' GROUP BY source)`,
  ),
  oldestEvents: statement<[{ before: number; limit: number }]>(
    'DELETE FROM events WHERE id IN (SELECT id FROM events ORDER BY id LIMIT @limit) AND at < @before',
  ),
  latestEvent: column<[], number>('SELECT coalesce(max(id), 0) FROM events'),
};

/** Deletes events, runs and records beyond these limits. */
export function pruneHistory(tx: Tx, limits: HistoryLimits = {}): void {
  pruneBeyond(tx, limits);
  SQL.records(tx).run(tx.clock.now() - KEEP.missingRecordDays * DAY_MS);
  SQL.runs(tx).run(KEEP.runsPerSource);
  SQL.actions(tx).run(KEEP.actions);
  for (const id of SQL.noisyItems(tx).all(eventBefore(tx), KEEP.eventsPerItem))
    SQL.events(tx).run(id, id, KEEP.eventsPerItem);
}

/** The last event at the time of the last pruning. The present last event is stored for the next pruning. */
function eventBefore(tx: Tx): number {
  const before = Number(readMeta(tx, PRUNED_EVENTS) ?? 0);
  writeMeta(tx, PRUNED_EVENTS, String(SQL.latestEvent(tx).get() ?? 0));
  return before;
}

function pruneBeyond(tx: Tx, { keepDays, maxBytes }: HistoryLimits): void {
  if (keepDays !== undefined) {
    const before = tx.clock.now() - keepDays * DAY_MS;
    SQL.oldRuns(tx).run(before);
    SQL.oldestEvents(tx).run({ before, limit: EVENTS_AT_ONCE });
  }
  if (maxBytes !== undefined && usedBytes(tx.db) > maxBytes) {
    SQL.oldestEvents(tx).run({ before: Number.MAX_SAFE_INTEGER, limit: EVENTS_AT_ONCE });
  }
}

/**
 * Corrects the ledger's stored times when somebody sets the system's clock, so that waits keep their length and events
 * their order.
 */
interface FollowClock {
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
  return `CASE WHEN reason ->> '$.since' IS NULL THEN reason ELSE json_set(reason, '$.since', ${value}) END`;
}

interface FollowClockOptions {
  clock: Clock;
  commit: Pick<GroupCommit, 'run'>;
}

const TIMES = {
  // Deliveries that were scheduled before the clock was set forward are moved by the same time.
  setForward: SCHEDULED.map((scheduled) =>
    statement<[{ ms: number; before: number }]>(
      `UPDATE items SET due_at = due_at + @ms, settled_at = settled_at + @ms,
         reason = ${withSince("CAST(reason ->> '$.since' AS BIGINT) + @ms")}
       WHERE ${scheduled} AND settled_at <= @before`,
    ),
  ),
  // Deliveries that were scheduled later than now begin their wait again. It is unknown how much of the wait is over,
  // and a read-back that begins too early would find the write absent.
  setBack: SCHEDULED.map((scheduled) =>
    statement<[{ now: number }]>(
      `UPDATE items SET due_at = @now + max(0, due_at - settled_at), settled_at = @now,
         reason = ${withSince("min(CAST(reason ->> '$.since' AS BIGINT), @now)")}
       WHERE ${scheduled} AND settled_at > @now`,
    ),
  ),
  // The latest stored time, read from small tables only.
  latest: statement<[], { at: number }>(
    `SELECT max(coalesce((SELECT max(max(started_at, coalesce(ended_at, 0))) FROM runs), 0),
       coalesce((SELECT max(claimed_at) FROM requests), 0),
       coalesce((SELECT max(max(coalesce(read_at, 0), coalesce(stored_at, 0))) FROM listings), 0)) AS at`,
  ),
  moveRuns: statement<[{ ms: number; now: number }]>(
    `UPDATE runs SET started_at = started_at + CASE WHEN started_at > @now THEN @ms ELSE 0 END,
       ended_at = ended_at + CASE WHEN ended_at > @now THEN @ms ELSE 0 END WHERE started_at > @now OR ended_at > @now`,
  ),
  moveItems: statement<[{ ms: number; now: number }]>(
    `UPDATE items SET appeared_at = appeared_at + CASE WHEN appeared_at > @now THEN @ms ELSE 0 END,
       sent_at = CASE WHEN sent_at > @now THEN min(@now, sent_at + @ms) ELSE sent_at END WHERE appeared_at > @now OR sent_at > @now`,
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
      else for (const setForward of TIMES.setForward) setForward(tx).run({ ms, before: now - Math.round(ms / 2) });
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
      bringBack(tx, Math.min(0, clock.now() - (TIMES.latest(tx).get()?.at ?? 0)));
    },
  };
}

function bringBack(tx: Tx, ms: number): void {
  const now = tx.clock.now();
  for (const setBack of TIMES.setBack) setBack(tx).run({ now });
  TIMES.forgetLists(tx).run({ now });
  if (ms === 0) return;
  // The begin of a run separates new rows from older ones, so runs move with the clock as well.
  TIMES.moveRuns(tx).run({ ms, now });
  // The order of creates shows how current a list is, so the times of sending move as well.
  TIMES.moveItems(tx).run({ ms, now });
  TIMES.moveHistory(tx).run({ ms, now });
}
