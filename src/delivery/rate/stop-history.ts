/** What is known about a stop of all requests when it has ended. */
export interface EndedStop {
  /** How long requests were sent before the stop, and how many of them were accepted. */
  openMs: number;
  accepted: number;
  /** From the first refusal until a reopen probe was accepted. */
  stopMs: number;
  /** True if a window of one second and other clients of the limit do not explain the length of the stop. */
  isLong: boolean;
  /** The highest recent rate of answers, per second. */
  peak: number;
  /** Accepted requests per second over the last `ms` milliseconds. */
  goodput: (ms: number) => number;
}

/** What the stops so far show: how long they last, and whether a long one has another cause than the limit. */
export interface StopHistory {
  /** The smoothed length of the stops, in milliseconds; 0 before the first one. */
  usualMs(): number;
  /** Requests are sent without a long stop from now on. */
  startFree(now: number): void;
  /** A stop has ended. @returns the length to use for the stop, and whether the stop is long */
  ended(stop: StopFacts, hasLongWindow: boolean, now: number): { stopMs: number; isLong: boolean };
}

/** The facts about a stop that explain its length. */
export interface StopFacts {
  startedAt: number;
  /** Refusals by the limit itself, and the longest wait that they asked for. */
  limitRefusals: number;
  askedMs: number;
  /** A reopen probe got no answer, or the API was away. */
  disturbed: boolean;
}

/**
 * A stop is long if it lasts for `ms` milliseconds and the API has asked for a wait of that length, or has refused more
 * than `probes` times. Other clients of the limit may cause one or two refusals. A window of a minute that was in use
 * for `freeMs` without a long stop does not exist. Then the API refuses for another reason, such as maintenance.
 */
const LONG = { ms: 3000, probes: 8, probesKnown: 2, freeMs: 120_000 };
/** The assumed length of a stop if no other is known. */
const SHORT_MS = 1000;

export function createStopHistory(): StopHistory {
  let usualMs = 0;
  let freeSince = 0;
  return {
    usualMs: () => usualMs,
    startFree(now) {
      freeSince = now;
    },
    ended({ startedAt, limitRefusals, askedMs, disturbed }, hasLongWindow, now) {
      const lastedMs = now - startedAt;
      const probes = hasLongWindow ? LONG.probesKnown : LONG.probes;
      const lastedLong = lastedMs >= LONG.ms && (askedMs >= LONG.ms || limitRefusals > probes);
      // A stop that lasted longer because the API was away shows nothing about the limit.
      const wasAway = disturbed || (lastedLong && !hasLongWindow && startedAt - freeSince > LONG.freeMs);
      if (lastedLong) freeSince = now;
      const stopMs = wasAway ? Math.min(lastedMs, usualMs || SHORT_MS) : lastedMs;
      usualMs = usualMs === 0 ? stopMs : (usualMs + stopMs) / 2;
      return { stopMs, isLong: lastedLong && !wasAway };
    },
  };
}
