// What was done in each hour, and the passports by state on each day. A process stores what it has counted about once a minute, as
// sums that are added, so that the processes that work on a ledger one after the other are counted together. A process that is
// killed loses what it has counted since.

import {
  type Activity,
  type ActivityCounts,
  type ActivityHour,
  addActivity,
  DAY_MS,
  type LatenciesByOperation,
} from '../../domain/activity.ts';
import { PASSPORT_STATES, type PassportState } from '../../domain/passport.ts';
import type { CountedActivity } from '../../domain/ports/ledger/care-ledger.ts';
import type { PassportDay, RunDay } from '../../domain/ports/ledger/dashboard-views.ts';
import { readMeta, writeMeta } from '../store/meta.ts';
import { column, parseJson, statement, type Tx } from '../store/tx.ts';
import type { Db } from '../views/view-reads.ts';

/** At most this many hours and days are kept: the newest ones, because a clock that is wrong must not delete them. */
const KEEP = { hours: 90 * 24, days: 100 };
const SINCE = 'activity_since';
const STORED = 'activity_stored';

interface StoredHour extends ActivityCounts {
  hour: number;
  latencies: string;
}

interface Span {
  from: number;
  to: number;
}

const SQL = {
  hours: statement<[Span], StoredHour>(
    `SELECT hour, rows_read AS "rows", requests, refused, delivered, failed, latencies FROM activity_hours
     WHERE hour >= @from AND hour <= @to ORDER BY hour`,
  ),
  store: statement<[StoredHour]>(
    `INSERT INTO activity_hours (hour, rows_read, requests, refused, delivered, failed, latencies)
     VALUES (@hour, @rows, @requests, @refused, @delivered, @failed, @latencies)
     ON CONFLICT (hour) DO UPDATE SET rows_read = excluded.rows_read, requests = excluded.requests, refused = excluded.refused,
       delivered = excluded.delivered, failed = excluded.failed, latencies = excluded.latencies`,
  ),
  pruneHours: statement<[number]>(
    'DELETE FROM activity_hours WHERE hour NOT IN (SELECT hour FROM activity_hours ORDER BY hour DESC LIMIT ?)',
  ),
  days: statement<[Span], { day: number; state: PassportState; count: number }>(
    'SELECT day, state, count FROM passport_days WHERE day >= @from AND day <= @to ORDER BY day, state',
  ),
  storeDay: statement<[{ day: number; state: string; count: number }]>(
    `INSERT INTO passport_days (day, state, count) VALUES (@day, @state, @count)
     ON CONFLICT (day, state) DO UPDATE SET count = excluded.count`,
  ),
  pruneDays: statement<[number]>(
    'DELETE FROM passport_days WHERE day NOT IN (SELECT DISTINCT day FROM passport_days ORDER BY day DESC LIMIT ?)',
  ),
  // The newest run of a source may still be under way. An earlier run without an end was interrupted.
  runs: statement<[Span], RunDay>(
    `SELECT source, day, count(*) AS runs, sum(outcome = 'complete') AS complete, sum(outcome = 'failed') AS failed,
       sum(outcome = 'guarded') AS guarded, sum(outcome = 'held') AS held, sum(outcome = 'interrupted') AS interrupted,
       sum(outcome = 'open') AS "open", sum(changed) AS changed
     FROM (SELECT r.source, r.started_at / ${DAY_MS} * ${DAY_MS} AS day,
         CASE WHEN r.result = 'failed' THEN 'failed'
           WHEN r.result = 'held' THEN 'held'
           WHEN EXISTS (SELECT 1 FROM run_streams a WHERE a.run_id = r.id AND a.guarded IS NOT NULL) THEN 'guarded'
           WHEN r.result = 'complete' THEN 'complete'
           WHEN r.result IS NULL AND r.id = (SELECT max(n.id) FROM runs n WHERE n.source = r.source) THEN 'open'
           ELSE 'interrupted' END AS outcome,
         (SELECT coalesce(sum(a.changed), 0) FROM run_streams a WHERE a.run_id = r.id) AS changed
       FROM runs r WHERE r.cause <> 'upload' AND r.started_at >= @from AND r.started_at <= @to) AS dated
     GROUP BY source, day ORDER BY source, day`,
  ),
  records: column<[], number>('SELECT count(*) AS present FROM records'),
  missing: column<[], number>('SELECT count(*) FROM records WHERE missing_since IS NOT NULL'),
};

/** Adds what a process has counted since it stored its counts last. */
export function storeActivity(tx: Tx, { since, hours, passports }: CountedActivity): void {
  const now = tx.clock.now();
  writeMeta(tx, SINCE, String(Math.min(timeIn(tx, SINCE) ?? since, since, now)));
  writeMeta(tx, STORED, String(now));
  for (const counted of hours) {
    const [stored] = hoursIn(tx, { from: counted.hour, to: counted.hour });
    const sum = structuredClone(counted);
    if (stored !== undefined) addActivity(sum, stored);
    SQL.store(tx).run({ ...sum, latencies: JSON.stringify(sum.latencies) });
  }
  SQL.pruneHours(tx).run(KEEP.hours);
  const day = now - (now % DAY_MS);
  for (const state of PASSPORT_STATES) SQL.storeDay(tx).run({ day, state, count: passports[state] ?? 0 });
  SQL.pruneDays(tx).run(KEEP.days);
}

/** What was done in the hours that begin in this span. */
export function activityIn(reads: Db, span: Span): Activity {
  return { since: timeIn(reads, SINCE), storedAt: timeIn(reads, STORED), hours: hoursIn(reads, span) };
}

/** The passports by state on the days that begin in this span. */
export function passportDaysIn(reads: Db, span: Span): PassportDay[] {
  const byDay = Map.groupBy(SQL.days(reads).all(span), ({ day }) => day);
  return Array.from(byDay, ([day, rows]) => {
    return { day, counts: Object.fromEntries(rows.map(({ state, count }) => [state, count])) };
  });
}

/** The runs that began in this span, by source and day. */
export function runDaysIn(reads: Db, span: Span): RunDay[] {
  return SQL.runs(reads).all(span);
}

/** How many rows the sources have, as they were read last. */
export function presentRows(reads: Db): number {
  return (SQL.records(reads).get() ?? 0) - (SQL.missing(reads).get() ?? 0);
}

function hoursIn(reads: Db, span: Span): ActivityHour[] {
  return SQL.hours(reads)
    .all(span)
    .map((row) => ({ ...row, latencies: parseJson<LatenciesByOperation>(row.latencies) }));
}

function timeIn(reads: Db, name: string): number | null {
  const text = readMeta(reads, name);
  return text === null ? null : Number(text);
}
