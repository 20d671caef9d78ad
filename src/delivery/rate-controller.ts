import { type BackoffLimits, fullJitterMs } from '../lib/backoff.ts';

/** What a finished request tells about the API's capacity. */
export type RateSignal =
  | { kind: 'ok' }
  /** A 429, or a 503 that says for how long. */
  | { kind: 'throttled'; retryAfterMs: number | null }
  /** Nothing: the request was admitted and then not sent, or it failed. */
  | { kind: 'unused' };

/** Decides when the next request may go out. Pure: time comes in as `ticks` of a clock, a wait goes out, nothing sleeps. */
export interface RateController {
  /** Milliseconds to wait before asking again; 0 admits the request. */
  admit(now: number): number;
  observe(signal: RateSignal, now: number): void;
}

const BACKOFF: BackoffLimits = { baseMs: 1000, capMs: 60_000 };

/**
 * Admits requests evenly at a ceiling, where there is one, and stops all of them for as long as a 429 asks for, or for a
 * full-jitter backoff where it does not say. After a stop a single request goes out first; the others follow once it has
 * come back well.
 *
 * @param maxRate requests per second, or null for no ceiling
 * @param random numbers in [0, 1)
 */
export function createRateController(maxRate: number | null, random: () => number): RateController {
  const intervalMs = maxRate === null ? 0 : 1000 / maxRate;
  let nextSlotAt = Number.NEGATIVE_INFINITY;
  let closedUntil = Number.NEGATIVE_INFINITY;
  let refusals = 0;
  let canaryOut = false;

  return {
    admit(now) {
      if (now < closedUntil) return closedUntil - now;
      if (refusals > 0 && canaryOut) return CANARY_POLL_MS;
      if (now < nextSlotAt) return nextSlotAt - now;
      nextSlotAt = Math.max(nextSlotAt, now - intervalMs) + intervalMs;
      canaryOut = refusals > 0;
      return 0;
    },
    observe(signal, now) {
      if (signal.kind === 'ok') {
        refusals = 0;
        canaryOut = false;
        return;
      }
      const first = now >= closedUntil;
      canaryOut = false;
      if (signal.kind === 'unused') return;
      // Answers to requests that were under way when the first refusal came are no further evidence.
      if (first) refusals += 1;
      const waitMs = signal.retryAfterMs ?? Math.max(200, fullJitterMs(refusals, BACKOFF, random()));
      closedUntil = first || signal.retryAfterMs !== null ? Math.max(closedUntil, now + waitMs) : closedUntil;
    },
  };
}

/** How often a request that waits for the canary asks again. */
const CANARY_POLL_MS = 25;
