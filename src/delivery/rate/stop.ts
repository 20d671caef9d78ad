// The stops of all requests: which answers begin one, how long each one lasts, and what its length shows when it has ended.
//
// A stop lasts as long as the API asks for. If the API names no time, the waits between the reopen probes grow.
// Pure: times are ticks of a clock.

import type { Observation } from '../observation.ts';

/** A refusal that stops all requests for a while. */
export interface Refusal {
  /** The wait that the API asks for; null if it asks for none. */
  retryAfterMs: number | null;
  /** True if the API was away, or if this machine could not send. The refusal then shows nothing about the limit. */
  away: boolean;
}

/** A server that asks for an hour may mean a single delivery. After this time another delivery is sent to find out. */
const AWAY_PAUSE_MAX_MS = 60_000;
/**
 * If this machine has reached one of its local limits, it sends one request after this time to find out whether it can
 * send again.
 */
const LOCAL_PAUSE_MS = 1000;

/** The refusal in an observation; null if no request has to wait. */
export function refusalOf(observation: Observation): Refusal | null {
  switch (observation.kind) {
    case 'throttled':
      return { retryAfterMs: observation.retryAfterMs, away: observation.away === true };
    case 'failed': {
      // While a server is away, no request is sent to it for the time that it names.
      const { retryAfterMs } = observation;
      return retryAfterMs === null ? null : { retryAfterMs: Math.min(retryAfterMs, AWAY_PAUSE_MAX_MS), away: true };
    }
    case 'local':
      return { retryAfterMs: LOCAL_PAUSE_MS, away: true };
    case 'answered':
    case 'unused':
      return null;
  }
}

/** A stop of all requests that has not ended. */
export interface Stop {
  startedAt: number;
  /** How long requests had been sent before the stop, and how many of them were accepted. */
  openMs: number;
  accepted: number;
  /** The next wait if the API does not name one. */
  backoffMs: number;
  refusedProbes: number;
  wait: ReturnType<typeof createStopWait>;
  probeInFlight: boolean;
  /** Refusals by the limit itself, and the longest wait that they asked for. */
  limitRefusals: number;
  askedMs: number;
  /** A reopen probe got no answer, or the API was away. */
  disturbed: boolean;
}

export function startStop(
  { away, ...before }: { openMs: number; accepted: number; backoffMs: number; away: boolean },
  now: number,
): Stop {
  return {
    ...before,
    startedAt: now,
    refusedProbes: 0,
    limitRefusals: 0,
    askedMs: 0,
    wait: createStopWait(now),
    probeInFlight: false,
    disturbed: away,
  };
}

/** Call it when a reopen probe was refused. */
export function probeRefused(stop: Stop, hasLongWindow: boolean, now: number): void {
  stop.probeInFlight = false;
  stop.refusedProbes += 1;
  stop.backoffMs = nextBackoffMs(stop, hasLongWindow, now);
}

/** Call it when a reopen probe got no answer that shows something about the limit. */
export function probeLost(stop: Stop): void {
  stop.probeInFlight = false;
  stop.disturbed = true;
}

/** Records a refusal by the limit itself. @param askedMs the wait that the API asks for, or null */
export function limitRefused(stop: Stop, askedMs: number | null): void {
  stop.limitRefusals += 1;
  stop.askedMs = Math.max(stop.askedMs, askedMs ?? 0);
}

// Waits that the API asks for. Up to a minute a wait is obeyed to the millisecond. A longer one may be a mistake, or may end early.
// Therefore a reopen probe is sent during it: after one minute, then after 2, 4 and 8 minutes, then every 15 minutes.

/** A wait beyond a minute. */
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

/** The length of one stop of all requests. */
export function createStopWait(since: number) {
  let until = Number.NEGATIVE_INFINITY;
  let probeMs = PROBE.firstMs;
  let longestMs = 0;
  return {
    /** Call it when a request that was sent before the stop was refused as well. @returns for how long nothing is sent */
    alsoRefused(askedMs: number, now: number): number {
      until = Math.max(until, now + askedMs);
      longestMs = Math.max(longestMs, askedMs);
      return askedMs <= OBEYED_MS ? askedMs : PROBE.firstMs;
    },
    /**
     * Call it when the first request of the stop or a reopen probe was refused.
     *
     * @param askedMs the wait that the API asks for, or null
     * @param backoffMs the wait if the API has named no time, or that time has passed
     * @returns for how long nothing is sent
     */
    refused(askedMs: number | null, backoffMs: () => number, now: number): number {
      if (askedMs !== null) until = now + askedMs;
      longestMs = Math.max(longestMs, askedMs ?? 0);
      const leftMs = until - now;
      if (leftMs <= 0) return backoffMs();
      if (leftMs <= OBEYED_MS) return leftMs;
      const waitMs = Math.min(leftMs, probeMs);
      probeMs = Math.min(PROBE.lastMs, probeMs * PROBE.factor);
      return waitMs;
    },
    /** The stop as a long wait; null if it lasts up to a minute. @param closedUntil when the next reopen probe is sent */
    long(closedUntil: number, now: number): LongWait | null {
      const end = Math.max(until, closedUntil);
      const isLong = longestMs > OBEYED_MS || Math.max(end, now) - since > OBEYED_MS + TOLERATED_MS;
      if (!isLong || now >= end + FORGOTTEN_MS) return null;
      return { since, until: until > now ? until : null, askAgainAt: closedUntil };
    },
  };
}

// Waits after a refusal that names no time. The first wait is as long as a few requests take. If recent stops lasted
// longer, the first wait is nearly as long as these stops, up to a second. Then the waits grow in steps. Most windows last
// one second, and end after a few refused reopen probes. During the first long window, probes are sent more often, because
// all clients that share the window begin again when the window ends. During a stop of minutes, probes are sent less and
// less often: each wait is a share of the length of the stop. A server that also counts refused requests would never open
// again if the probes kept the same pace.

const BACKOFF = {
  /** The first wait while no rate is known. */
  unknownMs: 100,
  /** The first wait is as long as this number of requests takes, within these bounds. */
  requests: 3,
  requestsMs: { min: 20, max: 600 },
  /** The first wait is also at least this share of a usual stop, up to this length. */
  ofStop: 0.8,
  stopMsMax: 1000,
  factor: 2,
  /** This many probes are repeated quickly. */
  quick: { probes: 2, msMax: 250 },
  afterQuickMsMin: 700,
  msMax: { first: 3000, known: 8000 },
  lasting: { share: 0.05, msMax: 60_000 },
};

/**
 * The first wait of a stop, in milliseconds.
 *
 * @param rate requests per second before the stop; infinite if they were not paced
 * @param usualStopMs how long the recent stops lasted, smoothed
 */
export function firstBackoffMs(rate: number, usualStopMs: number): number {
  const { min, max } = BACKOFF.requestsMs;
  const byRateMs = Number.isFinite(rate)
    ? Math.min(max, Math.max(min, (1000 * BACKOFF.requests) / rate))
    : BACKOFF.unknownMs;
  return Math.max(byRateMs, Math.min(BACKOFF.stopMsMax, BACKOFF.ofStop * usualStopMs));
}

/** The next wait of a stop, in milliseconds, after another reopen probe was refused. */
function nextBackoffMs(stop: Stop, hasLongWindow: boolean, now: number): number {
  const { quick, afterQuickMsMin, msMax, lasting, factor } = BACKOFF;
  const longer = stop.backoffMs * factor;
  if (stop.refusedProbes <= quick.probes) return Math.max(stop.backoffMs, Math.min(quick.msMax, longer));
  const lastsMs = Math.min(lasting.msMax, lasting.share * (now - stop.startedAt));
  const most = Math.max(hasLongWindow ? msMax.known : msMax.first, lastsMs);
  return Math.max(stop.backoffMs, Math.min(most, Math.max(afterQuickMsMin, longer)));
}

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

/**
 * A stop is long if it lasts for `ms` milliseconds and the API has asked for a wait of that length, or has refused more
 * than `probes` times. Other clients of the limit may cause one or two refusals. A window of a minute that was in use
 * for `freeMs` without a long stop does not exist. Then the API refuses for another reason, such as maintenance.
 */
const LONG = { ms: 3000, probes: 8, probesKnown: 2, freeMs: 120_000 };
/** The assumed length of a stop if no other is known. */
const SHORT_MS = 1000;

/** What the stops so far show: how long they last, and whether a long one has another cause than the limit. */
export function createStopHistory() {
  let usualMs = 0;
  let freeSince = 0;
  return {
    /** The smoothed length of the stops, in milliseconds; 0 before the first one. */
    usualMs: () => usualMs,
    /** Requests are sent without a long stop from now on. */
    startFree(now: number) {
      freeSince = now;
    },
    /** A stop has ended. @returns the length to use for the stop, and whether the stop is long */
    ended(
      { startedAt, limitRefusals, askedMs, disturbed }: Stop,
      hasLongWindow: boolean,
      now: number,
    ): { stopMs: number; isLong: boolean } {
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

const EARLY = { ms: 1000, requests: 5 };

/**
 * Counts stops that begin soon after the previous stop has ended. Requests that other clients sent before may explain
 * the first of these stops. The second one is evidence about the rate.
 */
export function createRefusalStreak() {
  let count = 0;
  let first = { from: 0, accepted: 0 };
  let open = { at: 0, accepted: 0 };
  return {
    accepted(now: number, isOpen: boolean) {
      first.accepted += 1;
      open.accepted += 1;
      if (isOpen && now - open.at > EARLY.ms && open.accepted > EARLY.requests) count = 0;
    },
    reopened(now: number) {
      open = { at: now, accepted: 0 };
    },
    /** True if this stop began soon after the previous one. A stop that did not begin soon ends the streak. */
    isEarly({ openMs, accepted }: EndedStop): boolean {
      const isEarly = openMs < EARLY.ms || accepted <= EARLY.requests;
      if (!isEarly) count = 0;
      return isEarly;
    },
    /** How many stops the streak has. */
    count: () => count,
    /** How long the streak has lasted, in milliseconds. */
    lengthMs: (now: number) => (count === 0 ? 0 : now - first.from),
    /** Adds a stop that began at `from`. */
    add(from: number) {
      if (count === 0) first = { from, accepted: 0 };
      count += 1;
    },
    clear() {
      count = 0;
    },
    /** Accepted requests per second since the first stop of the streak began. */
    acceptedRate: (now: number) => (1000 * first.accepted) / Math.max(1, now - first.from),
  };
}

export type RefusalStreak = ReturnType<typeof createRefusalStreak>;
