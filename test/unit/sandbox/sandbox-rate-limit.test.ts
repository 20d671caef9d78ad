import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ActiveLimit, createRateLimiter } from '../../../src/sandbox/access/admission.ts';

const HOW = { status: 429, per: 'key', retryAfter: 'seconds', headers: 'none' } as const;

const anyCellRate = fc.record({
  kind: fc.constantFrom('token-bucket' as const, 'gcra' as const),
  ratePerSecond: fc.double({ min: 0.01, max: 5000, noNaN: true }),
  burst: fc.integer({ min: 1, max: 50 }),
});
const anyWindow = fc.record({
  kind: fc.constantFrom('fixed-window' as const, 'sliding-window' as const),
  limit: fc.integer({ min: 1, max: 50 }),
  windowMs: fc.integer({ min: 1, max: 100_000 }),
});
const anyLimit: fc.Arbitrary<ActiveLimit> = fc.oneof(anyCellRate, anyWindow).map((limit) => ({ ...HOW, ...limit }));

const gaps = fc.array(fc.nat(2000), { minLength: 1, maxLength: 200 });
const START = Date.UTC(2026, 0, 1);

test('a client that waits as long as the answer asks is let in the next time', () => {
  fc.assert(
    fc.property(anyLimit, gaps, (limit, waits) => {
      const limiter = createRateLimiter(limit);
      let now = START;
      for (const wait of waits) {
        now += wait;
        const admission = limiter.admit(now);
        if (admission.allowed) continue;
        expect(admission.retryAfterMs).toBeGreaterThan(0);
        now += admission.retryAfterMs;
        expect(limiter.admit(now).allowed).toBe(true);
      }
    }),
  );
});

test('a token bucket lets in its burst and what the rate adds, and nothing above', () => {
  fc.assert(
    fc.property(anyCellRate, gaps, (limit, waits) => {
      const limiter = createRateLimiter({ ...HOW, ...limit });
      let now = START;
      let admitted = 0;
      for (const wait of waits) {
        now += wait;
        if (limiter.admit(now).allowed) admitted += 1;
      }
      const earned = ((now - START) / 1000) * limit.ratePerSecond;
      expect(admitted).toBeLessThanOrEqual(Math.floor(limit.burst + earned + 1e-6));
    }),
  );
});

test('a fixed window lets in exactly its limit', () => {
  const limiter = createRateLimiter({ ...HOW, kind: 'fixed-window', limit: 3, windowMs: 1000 });
  const admitted = Array.from({ length: 2000 }, (_, ms) => limiter.admit(START + ms).allowed);
  expect(admitted.filter(Boolean)).toHaveLength(6);
  expect(admitted.slice(1000, 1003)).toEqual([true, true, true]);
});

test('a sliding window lets in no more than its limit in any stretch of its length', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 5000 }), gaps, (limit, windowMs, waits) => {
      const limiter = createRateLimiter({ ...HOW, kind: 'sliding-window', limit, windowMs });
      const admitted: number[] = [];
      let now = START;
      for (const wait of waits) {
        now += wait;
        if (limiter.admit(now).allowed) admitted.push(now);
      }
      for (const end of admitted) {
        expect(admitted.filter((at) => at > end - windowMs && at <= end).length).toBeLessThanOrEqual(limit);
      }
    }),
  );
});

test('a rate limit states truly how many more requests it would let in at once', () => {
  fc.assert(
    fc.property(anyLimit, gaps, fc.nat(5000), (limit, waits, pause) => {
      const limiter = createRateLimiter(limit);
      let now = START;
      for (const wait of waits) {
        now += wait;
        limiter.admit(now);
      }
      now += pause;
      const { remaining } = limiter.admit(now);
      // Rounding of a rate that is no whole number may cost one.
      let admitted = 0;
      while (admitted <= remaining && limiter.admit(now).allowed) admitted += 1;
      expect(Math.abs(admitted - remaining)).toBeLessThanOrEqual(limit.kind === 'fixed-window' ? 0 : 1);
    }),
  );
});
