// How much the process has done in the last 24 hours, counted for each minute. The memory is bounded: a minute that is
// older than 24 hours is replaced by a new one.

import type { ProgressEvent } from '../domain/ports/progress.ts';
import type { Clock } from '../lib/clock.ts';
import { createRowsRead } from './event-bus.ts';

/** What happened in a span of time. */
export interface ActivityCounts {
  /** Requests to the API, reads included. */
  requests: number;
  /** Requests that the API refused because they came too fast (429). */
  refused: number;
  delivered: number;
  /** Writes that the API rejected or blocked, or that were given up. */
  failed: number;
  /** Rows that were read from sources. */
  rows: number;
}

export interface ActivitySpan extends ActivityCounts {
  /** When the span begins, in milliseconds since the Unix epoch. */
  at: number;
}

const MINUTE_MS = 60_000;
const MINUTES = 24 * 60;
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

const nothing = (): ActivityCounts => ({ requests: 0, refused: 0, delivered: 0, failed: 0, rows: 0 });

export function createActivity(clock: Clock) {
  const minutes = createCounts(MINUTES, nothing);
  const seconds = createCounts(SECONDS + 1, () => ({ requests: 0 }));
  const startedAt = clock.now();
  const rowsRead = createRowsRead();
  const minuteOf = (at: number): number => Math.floor(at / MINUTE_MS);

  return {
    /** Subscribe it to an event bus. */
    observe(event: ProgressEvent) {
      const now = clock.now();
      if (event.type === 'request') {
        const counts = minutes.at(minuteOf(now));
        counts.requests += 1;
        seconds.at(Math.floor(now / 1000)).requests += 1;
        if (event.outcome === 'throttled') counts.refused += 1;
      } else if (event.type === 'settled') {
        const counts = minutes.at(minuteOf(now));
        if (event.state === 'delivered') counts.delivered += 1;
        if (event.state === 'rejected' || event.state === 'blocked' || event.state === 'parked') counts.failed += 1;
      } else if (event.type === 'page') minutes.at(minuteOf(now)).rows += rowsRead.of(event);
      else if (event.type === 'run_ended') rowsRead.ended(event.source);
    },

    /**
     * The counts of the last 24 hours in spans of `length` minutes, where `length` divides an hour. The oldest span comes
     * first, the present one last.
     */
    spans(length: number): ActivitySpan[] {
      const present = minuteOf(clock.now());
      const last = Math.floor(present / length);
      const first = last - MINUTES / length + 1;
      return Array.from({ length: MINUTES / length }, (_, at) => {
        const begin = (first + at) * length;
        const sum = { at: begin * MINUTE_MS, ...nothing() };
        for (let minute = begin; minute < begin + length && minute <= present; minute += 1) {
          const counts = minutes.look(minute);
          if (counts === null) continue;
          for (const [name, count] of Object.entries(counts)) sum[name as keyof ActivityCounts] += count;
        }
        return sum;
      });
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
      const present = minuteOf(now);
      const delivered = [present - 1, present].reduce((sum, minute) => sum + (minutes.look(minute)?.delivered ?? 0), 0);
      const begin = Math.max((present - 1) * MINUTE_MS, startedAt);
      return delivered / Math.max(1, (now - begin) / 1000);
    },
  };
}
