import pLimit from 'p-limit';
import { systemClock } from '../../lib/clock.ts';
import type { RestLimits } from './rest-options.ts';

/** The slowest pace that is learnt, as milliseconds between two requests. */
const SLOWEST_MS = 60_000;
/** The first pace after a refusal is at least so slow. */
const SLOW_AT_FIRST_MS = 100;
const SLOWER = 2;
const FASTER = 0.95;

/**
 * Lets requests begin at a pace. A refusal doubles the time between two requests, and each answer takes 5 % of it away, down to the
 * pace of the config.
 */
export function createRequestPace({ concurrent, perSecond }: Pick<RestLimits, 'concurrent' | 'perSecond'>) {
  const limit = pLimit(concurrent);
  const fastest = 1_000 / perSecond;
  let between = fastest;
  let nextAt = 0;
  const slower = (): number => Math.min(SLOWEST_MS, Math.max(SLOW_AT_FIRST_MS, between * SLOWER));

  return {
    /** Does work when it is its turn. */
    run: <T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> =>
      limit(async () => {
        const now = systemClock.ticks();
        const at = Math.max(now, nextAt);
        nextAt = at + between;
        // Even a timer without a wait takes a millisecond.
        if (at > now) await systemClock.sleep(at - now, signal);
        signal.throwIfAborted();
        return await work();
      }),
    /** Call it for each answer that does not refuse the pace. */
    answered(): void {
      between = Math.max(fastest, between * FASTER);
    },
    /** How long the next request waits after a refusal that asks for this wait. */
    waitAfterRefusal: (waitMs: number): number => Math.max(waitMs, slower()),
    /** Call it for each 429. No request begins before the wait is over. */
    refused(waitMs: number): void {
      between = slower();
      nextAt = Math.max(nextAt, systemClock.ticks() + Math.max(waitMs, between));
    },
  };
}
