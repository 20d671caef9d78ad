// Waits that the API asks for. Up to a minute a wait is obeyed to the millisecond. A longer one may be a mistake, or may end early.
// Therefore a reopen probe is sent during it: after one minute, then after 2, 4 and 8 minutes, then every 15 minutes.

/** A wait beyond a minute. Times are ticks of a clock. */
export interface LongWait {
  /** When the first request was refused. */
  since: number;
  /** The end that the API named; null if it named none and keeps refusing. */
  until: number | null;
  /** When the next reopen probe is sent. */
  askAgainAt: number;
}

/** A minute, and two seconds that the rounding of two dates to whole seconds may add. */
const OBEYED_MS = 62_000;
const PROBE = { firstMs: 60_000, factor: 2, lastMs: 900_000 };
/** Several waits of at most a minute are a long wait if together they last this much longer than a minute. */
const TOLERATED_MS = 5000;
/** If nothing is sent after the end of a long wait, the wait counts as over after this time. */
const FORGOTTEN_MS = 60_000;

/** The length of one stop of all requests. Pure: times are ticks of a clock. */
export interface StopWait {
  /** Call it when a request that was sent before the stop was refused as well. @returns for how long nothing is sent */
  alsoRefused(askedMs: number, now: number): number;
  /**
   * Call it when the first request of the stop or a reopen probe was refused.
   *
   * @param askedMs the wait that the API asks for, or null
   * @param backoffMs the wait if the API has named no time, or that time has passed
   * @returns for how long nothing is sent
   */
  refused(askedMs: number | null, backoffMs: () => number, now: number): number;
  /** The stop as a long wait; null if it lasts up to a minute. @param closedUntil when the next reopen probe is sent */
  long(closedUntil: number, now: number): LongWait | null;
}

export function createStopWait(since: number): StopWait {
  let until = Number.NEGATIVE_INFINITY;
  let probeMs = PROBE.firstMs;
  let longestMs = 0;
  return {
    alsoRefused(askedMs, now) {
      until = Math.max(until, now + askedMs);
      longestMs = Math.max(longestMs, askedMs);
      return askedMs <= OBEYED_MS ? askedMs : PROBE.firstMs;
    },
    refused(askedMs, backoffMs, now) {
      if (askedMs !== null) until = now + askedMs;
      longestMs = Math.max(longestMs, askedMs ?? 0);
      const leftMs = until - now;
      if (leftMs <= 0) return backoffMs();
      if (leftMs <= OBEYED_MS) return leftMs;
      const waitMs = Math.min(leftMs, probeMs);
      probeMs = Math.min(PROBE.lastMs, probeMs * PROBE.factor);
      return waitMs;
    },
    long(closedUntil, now) {
      const end = Math.max(until, closedUntil);
      const isLong = longestMs > OBEYED_MS || Math.max(end, now) - since > OBEYED_MS + TOLERATED_MS;
      if (!isLong || now >= end + FORGOTTEN_MS) return null;
      return { since, until: until > now ? until : null, askAgainAt: closedUntil };
    },
  };
}
