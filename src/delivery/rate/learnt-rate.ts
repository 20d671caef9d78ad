// The rate that is learnt from all answers. A limit that answers 429 and a limit that answers 503 each have a rate
// controller, and a request needs a slot of both. When 503s turn out to be no limit, only their controller is dropped: the rate
// that was learnt from 429s is as before.

import type { Observation } from '../observation.ts';
import { createLimitBy503 } from './limit-by-503.ts';
import { createRateController, type RateController } from './rate-controller.ts';

export interface LearntRate extends RateController {
  /** True if a request was answered with 503 a short time ago. */
  sees503s(now: number): boolean;
  /** True from a 503 of a limit until a reopen probe has succeeded. */
  isStoppedBy503(): boolean;
}

/** A 503 among successes stops all requests for no longer than this, whatever wait it asks for. */
const ASKED_MS_MAX = 60_000;

/**
 * @param ceiling requests per second, or null for no ceiling
 * @param random numbers in [0, 1), so that many processes do not send their probes together
 */
export function createLearntRate(ceiling: number | null, random: () => number): LearntRate {
  const by429 = createRateController(ceiling, random);
  const signs = createLimitBy503();
  let by503 = createRateController(null, random);

  function waitMs(now: number): number {
    return Math.max(by429.waitMs(now), by503.waitMs(now));
  }

  function take(now: number): void {
    by429.take(now);
    by503.take(now);
  }

  return {
    waitMs,
    take,
    admit(now) {
      const ms = waitMs(now);
      if (ms === 0) take(now);
      return ms;
    },
    sentBeside(now) {
      by429.sentBeside(now);
      by503.sentBeside(now);
    },
    closedForMs: (now) => Math.max(by429.closedForMs(now), by503.closedForMs(now)),
    wait: (now) => by429.wait(now),
    setCeiling: (maxRate) => by429.setCeiling(maxRate),
    concurrency(now) {
      const inFlight = by429.concurrency(now);
      // Without a rate of its own, a controller bounds the growth, and one bound of the growth is enough.
      return Number.isFinite(by503.rate(now)) ? Math.min(inFlight, by503.concurrency(now)) : inFlight;
    },
    rate: (now) => Math.min(by429.rate(now), by503.rate(now)),
    isStopped: () => by429.isStopped() || by503.isStopped(),
    sees503s: (now) => signs.isRecent(now),
    isStoppedBy503: () => by503.isStopped(),

    observe(observation, latencyMs, now) {
      const is503 = observation.kind === 'failed' && observation.is503 === true;
      const wasLimit = signs.isLimit();
      const rate = by503.rate(now);
      if (is503) signs.refused(rate, now);
      else if (observation.kind === 'answered') signs.succeeded(rate, now);
      if (!is503 || !signs.isLimit()) {
        by429.observe(observation, latencyMs, now);
        // A stated limit is that of the 429s.
        const shown: Observation =
          observation.kind === 'answered' ? { kind: 'answered', by: observation.by } : { kind: 'unused' };
        by503.observe(shown, latencyMs, now);
      } else {
        by429.observe({ kind: 'unused' }, latencyMs, now);
        const { retryAfterMs } = observation;
        const askedMs = retryAfterMs === null ? null : Math.min(retryAfterMs, ASKED_MS_MAX);
        by503.observe({ kind: 'throttled', retryAfterMs: askedMs }, latencyMs, now);
      }
      if (wasLimit && !signs.isLimit()) by503 = createRateController(null, random);
    },
  };
}
