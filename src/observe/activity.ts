// Counts what the process does. Once a minute the counts are added to those in the ledger, so that a restart forgets at most the
// last minute. In memory there are only the counts that are not stored yet, and those of the last minutes.

import {
  type Activity,
  type ActivityHour,
  addActivity,
  addLatencies,
  addLatency,
  HOUR_MS,
  type LatenciesByOperation,
  nothingIn,
} from '../domain/activity.ts';
import type { PassportCounts } from '../domain/passport.ts';
import type { CareLedger } from '../domain/ports/ledger/care-ledger.ts';
import type { ProgressEvent } from '../domain/ports/progress.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';
import { createRowsRead, hasFailed } from './event-bus.ts';

const MINUTE_MS = 60_000;
/** The present latency is that of so many minutes. */
const LATEST_MINUTES = 10;
/** The rate of requests is computed over this many seconds. */
const SECONDS = 10;

interface Cell<Counts> {
  /** The number of the minute or second since the Unix epoch. */
  number: number;
  counts: Counts;
}

/** Counts in a fixed number of cells. A cell begins again at 0 when it is used for a later time. */
function createCounts<Counts>(size: number, begin: () => Counts) {
  const cells: (Cell<Counts> | undefined)[] = [];
  return {
    at(number: number): Counts {
      const place = number % size;
      const cell = cells[place];
      if (cell?.number === number) return cell.counts;
      const begun = { number, counts: begin() };
      cells[place] = begun;
      return begun.counts;
    },
    /** Null if nothing happened. */
    look(number: number): Counts | null {
      const cell = cells[number % size];
      return cell?.number === number ? cell.counts : null;
    },
  };
}

export interface ActivityOptions {
  ledger: Pick<CareLedger, 'storeActivity'>;
  /** Counts the passports by state. */
  countPassports: () => Promise<PassportCounts>;
  clock: Clock;
  log: Pick<Logger, 'warn'>;
}

export function createActivity({ ledger, countPassports, clock, log }: ActivityOptions) {
  const minutes = createCounts(LATEST_MINUTES + 1, () => ({ delivered: 0, latencies: {} as LatenciesByOperation }));
  const seconds = createCounts(SECONDS + 1, () => ({ requests: 0 }));
  const startedAt = clock.now();
  const rowsRead = createRowsRead();
  let unsaved = new Map<number, ActivityHour>();
  /** The counts that are being stored, and since when. */
  let saving: { hours: ReadonlyMap<number, ActivityHour>; at: number } | null = null;
  let storedAt = clock.ticks();
  let storing: Promise<void> | null = null;
  let failed = false;

  const minuteNow = (): number => Math.floor(clock.now() / MINUTE_MS);

  function hourOf(hour: number): ActivityHour {
    const known = unsaved.get(hour);
    if (known !== undefined) return known;
    const begun = nothingIn(hour);
    unsaved.set(hour, begun);
    return begun;
  }

  function presentHour(): ActivityHour {
    return hourOf(Math.floor(clock.now() / HOUR_MS) * HOUR_MS);
  }

  /** Stores the counts. They stay in memory if this fails, and are stored the next time. */
  async function storeNow(): Promise<void> {
    storedAt = clock.ticks();
    const taken = unsaved;
    try {
      const passports = await countPassports();
      // Counts that came meanwhile are in `taken` too.
      unsaved = new Map();
      saving = { hours: taken, at: clock.now() };
      await ledger.storeActivity({ since: startedAt, hours: [...taken.values()], passports });
      failed = false;
    } catch (error) {
      if (unsaved !== taken) for (const [hour, counts] of taken) addActivity(hourOf(hour), counts);
      const reason = messageOf(error);
      if (!failed) log.warn({ error: reason }, `The counts of the activity could not be stored: ${reason}`);
      failed = true;
    } finally {
      saving = null;
    }
  }

  async function store(): Promise<void> {
    await storing;
    storing = storeNow().finally(() => {
      storing = null;
    });
    await storing;
  }

  return {
    /** Subscribe it to an event bus. */
    observe(event: ProgressEvent) {
      if (event.type === 'request') observeRequest(event);
      else if (event.type === 'settled') {
        if (event.state === 'delivered') {
          presentHour().delivered += 1;
          minutes.at(minuteNow()).delivered += 1;
        }
        if (hasFailed(event)) presentHour().failed += 1;
      } else if (event.type === 'page') {
        const rows = rowsRead.of(event);
        if (rows > 0) presentHour().rows += rows;
      } else if (event.type === 'run_ended') {
        rowsRead.ended(event.source);
      }
    },

    /**
     * Begins to store the counts if a minute has passed since the last time. Where nothing happens, the passports are stored once an
     * hour, so that each day has its figures. Call it at intervals.
     */
    look(): void {
      const passed = clock.ticks() - storedAt;
      if (storing === null && passed >= (unsaved.size > 0 ? MINUTE_MS : HOUR_MS)) void store();
    },

    /** Stores what was counted since the last time. Call it before the ledger is closed. */
    async end(): Promise<void> {
      await storing;
      if (unsaved.size > 0) await store();
    },

    /** Adds to what the ledger has counted what is not stored yet. */
    upToNow(stored: Activity, { from, to }: { from: number; to: number }): Activity {
      const hours = new Map(stored.hours.map((counted) => [counted.hour, structuredClone(counted)]));
      // The ledger has these counts already if it has stored something since.
      const lacks = ({ at }: { at: number }) => stored.storedAt === null || stored.storedAt < at;
      const unstored = saving !== null && lacks(saving) ? [saving.hours, unsaved] : [unsaved];
      for (const counted of unstored.flatMap((counts) => [...counts.values()])) {
        if (counted.hour < from || counted.hour > to) continue;
        const sum = hours.get(counted.hour) ?? nothingIn(counted.hour);
        addActivity(sum, counted);
        hours.set(counted.hour, sum);
      }
      return {
        since: Math.min(stored.since ?? startedAt, startedAt),
        storedAt: clock.now(),
        hours: [...hours.values()].sort((a, b) => a.hour - b.hour),
      };
    },

    /** The latencies of the last minutes. */
    latencies(): LatenciesByOperation {
      const present = minuteNow();
      const sum: LatenciesByOperation = {};
      for (let minute = present - LATEST_MINUTES + 1; minute <= present; minute += 1)
        addLatencies(sum, minutes.look(minute)?.latencies ?? {});
      return sum;
    },

    /** Requests per second over the last ten seconds. */
    requestsPerSecond(): number {
      const now = Math.floor(clock.now() / 1000);
      let requests = 0;
      for (let second = now - SECONDS; second < now; second += 1) requests += seconds.look(second)?.requests ?? 0;
      return requests / SECONDS;
    },

    /** Deliveries per second over the last whole minute and the present one. */
    deliveredPerSecond(): number {
      const now = clock.now();
      const present = minuteNow();
      const delivered = [present - 1, present].reduce((sum, minute) => sum + (minutes.look(minute)?.delivered ?? 0), 0);
      const begin = Math.max((present - 1) * MINUTE_MS, startedAt);
      return delivered / Math.max(1, (now - begin) / 1000);
    },
  };

  function observeRequest({ operation, outcome, latencyMs }: ProgressEvent & { type: 'request' }): void {
    const hour = presentHour();
    hour.requests += 1;
    seconds.at(Math.floor(clock.now() / 1000)).requests += 1;
    if (outcome === 'throttled') hour.refused += 1;
    if (outcome !== 'accepted' || latencyMs === null || operation === 'product.import') return;
    addLatency(hour.latencies, operation, latencyMs);
    addLatency(minutes.at(minuteNow()).latencies, operation, latencyMs);
  }
}

export type ActivityCounter = ReturnType<typeof createActivity>;
