import { describe, expect, it } from 'vitest';
import { createLearntRate, createLimitBy503 } from '../../../src/delivery/rate/learnt-rate.ts';
import { controlledClient } from '../../bench/rate/simulation/controlled-client.ts';
import { fixedWindow, gcra, type Limiter, slidingWindow } from '../../bench/rate/simulation/limiters.ts';
import { refusedShare, use } from '../../bench/rate/simulation/measures.ts';
import { simulate, type Trace } from '../../bench/rate/simulation/simulate.ts';
import { seededRandom } from '../../support/runner/chaos.ts';

/** When the rate has to be learnt, in seconds. */
const LEARNT_S = 30;
const CEILING = 200;

function run(
  limiter: Limiter,
  options: { seed?: number; retryAfterS?: number | null; lengthS?: number; maxRate?: number | null },
): Trace {
  const { seed = 1, retryAfterS = null, lengthS = 300, maxRate = null } = options;
  const random = seededRandom(seed);
  return simulate({
    limiter,
    clients: [controlledClient(random, maxRate)],
    headers: ({ allowed }) => (allowed || retryAfterS === null ? {} : { 'retry-after': String(retryAfterS) }),
    untilMs: lengthS * 1000,
    refusesWith: 503,
    random,
  });
}

/** Accepts requests as `allows` decides, and refuses the others. */
function limiterOf(allows: (now: number) => boolean): Limiter {
  return {
    admit: (now) => ({ allowed: allows(now), waitMs: 0 }),
    scale: () => undefined,
    quota: () => ({ requests: 1, windowMs: 1 }),
  };
}

/** Accepted requests per second, from one second to another. */
function acceptedPerSecond({ accepted }: Trace, from: number, to: number): number {
  const seconds = [...(accepted[0] ?? [])].slice(from, to);
  return seconds.reduce((sum, count) => sum + count, 0) / (to - from);
}

const LIMITS: [string, (rate: number) => Limiter][] = [
  ['a bucket, as limit_req of nginx,', (rate) => gcra(rate, 1)],
  ['a small bucket', (rate) => gcra(rate, 0.2)],
  ['a window of a second', (rate) => fixedWindow(rate, 1000, 300)],
  ['a sliding window', (rate) => slidingWindow(rate, 1000)],
];
const CASES = LIMITS.flatMap(([name, limiter]) =>
  [5, 20, 150].flatMap((rate) => [null, 1].map((retryAfterS) => ({ name, limiter, rate, retryAfterS }))),
);

describe('a limit that answers 503', () => {
  it.each(CASES)('$name of $rate a second is used and hardly met, with Retry-After $retryAfterS', (one) => {
    const { limiter, rate, retryAfterS } = one;
    for (const seed of [1, 2]) {
      const trace = run(limiter(rate), { seed, retryAfterS });
      expect(use(trace, rate, LEARNT_S, 300)).toBeGreaterThan(0.87);
      expect(refusedShare(trace, LEARNT_S, 300)).toBeLessThan(0.03);
    }
  });

  it('the former rate returns when the limit has gone', () => {
    const limit = gcra(10, 0.2);
    const isLimited = (now: number): boolean => now >= 60_000 && now < 120_000;
    const limiter = limiterOf((now) => !isLimited(now) || limit.admit(now).allowed);
    const trace = run(limiter, { lengthS: 240, maxRate: CEILING });
    expect(acceptedPerSecond(trace, 30, 60)).toBeGreaterThan(0.95 * CEILING);
    expect(acceptedPerSecond(trace, 90, 120)).toBeGreaterThan(8);
    expect(refusedShare(trace, 90, 120)).toBeLessThan(0.03);
    expect(acceptedPerSecond(trace, 180, 240)).toBeGreaterThan(0.95 * CEILING);
  });
});

describe('503s that are no limit', () => {
  it.each([0.02, 0.1, 0.3])('a share of %d of 503s at every rate does not slow down the rest for long', (share) => {
    const random = seededRandom(7);
    const trace = run(
      limiterOf(() => random() >= share),
      { lengthS: 240, maxRate: CEILING },
    );
    expect(acceptedPerSecond(trace, 120, 240)).toBeGreaterThan(0.9 * CEILING * (1 - share));
  });

  it('503s are an outage when nothing succeeds any more', () => {
    const signs = createLimitBy503();
    const rate = Number.POSITIVE_INFINITY;
    for (let now = 0; now < 1000; now += 20) {
      if (now % 40 === 0) signs.succeeded(rate, now);
      else signs.refused(rate, now);
    }
    expect(signs.isLimit()).toBe(true);
    for (let now = 1000; now < 4500; now += 500) signs.refused(rate, now);
    expect(signs.isLimit()).toBe(false);
    expect([signs.isRecent(10_000), signs.isRecent(20_000)]).toEqual([true, false]);
  });

  it('a platform that was always away with 503 has no limit', () => {
    const learnt = createLearntRate(null, () => 0.5);
    for (let now = 0; now < 10_000; now += 10) {
      learnt.observe({ kind: 'failed', subject: now, is503: true, retryAfterMs: null }, 5, now);
    }
    expect(learnt.rate(10_000)).toBe(Number.POSITIVE_INFINITY);
    expect(learnt.closedForMs(10_000)).toBe(0);
  });
});
