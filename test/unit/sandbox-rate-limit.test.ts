import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRateLimiter } from '../../src/sandbox/rate-limit.ts';
import type { RateLimit } from '../../src/sandbox/settings.ts';

const anyLimit: fc.Arbitrary<RateLimit> = fc.oneof(
  fc.record({
    kind: fc.constant('token-bucket' as const),
    ratePerSecond: fc.double({ min: 0.01, max: 5000, noNaN: true }),
    burst: fc.integer({ min: 1, max: 50 }),
    retryAfter: fc.constant('seconds' as const),
  }),
  fc.record({
    kind: fc.constant('fixed-window' as const),
    limit: fc.integer({ min: 1, max: 50 }),
    windowMs: fc.integer({ min: 1, max: 100_000 }),
    retryAfter: fc.constant('seconds' as const),
  }),
);

const gaps = fc.array(fc.nat(2000), { minLength: 1, maxLength: 200 });
const START = Date.UTC(2026, 0, 1);

test('a client that waits as long as it is told is let in the next time', () => {
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
        expect(limiter.admit(now)).toEqual({ allowed: true });
      }
    }),
  );
});

test('a token bucket lets in its burst and what the rate adds, and nothing above', () => {
  const bucket = anyLimit.filter((limit) => limit.kind === 'token-bucket');
  fc.assert(
    fc.property(bucket, gaps, (limit, waits) => {
      const limiter = createRateLimiter(limit);
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
  const limiter = createRateLimiter({ kind: 'fixed-window', limit: 3, windowMs: 1000, retryAfter: 'none' });
  const admitted = Array.from({ length: 2000 }, (_, ms) => limiter.admit(START + ms).allowed);
  expect(admitted.filter(Boolean)).toHaveLength(6);
  expect(admitted.slice(1000, 1003)).toEqual([true, true, true]);
});
