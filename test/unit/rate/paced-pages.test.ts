import { describe, expect, it } from 'vitest';
import { createApiClient } from '../../../src/api/api-client.ts';
import { createLearntRate } from '../../../src/delivery/rate/learnt-rate.ts';
import { createRequestGate } from '../../../src/delivery/rate/request-gate.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { fixedWindow, gcra, type Limiter, slidingWindow } from '../../bench/rate/simulation/limiters.ts';
import { seededRandom } from '../../support/runner/chaos.ts';
import { createVirtualTime } from '../../support/time/virtual-time.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';

const PRODUCTS = 100_000;
const PAGE = 20;
const LIMIT = 20;
/** When the rate has to be learnt, in seconds. */
const LEARNT_S = 20;

/** Reads a whole list of products in virtual time from a server with a limit. */
async function readList(
  limiter: Limiter,
  options: { retryAfterS: number | null; maxRate?: number; products?: number },
) {
  const { retryAfterS, maxRate = null, products = PRODUCTS } = options;
  const time = createVirtualTime();
  const random = seededRandom(1);
  const startedAt = time.ticks();
  const accepted: number[] = [];
  let refused = 0;

  function answer(path: string) {
    const at = (time.ticks() - startedAt) / 1000;
    if (!limiter.admit(time.ticks()).allowed) {
      refused += 1;
      const headers = retryAfterS === null ? {} : { 'retry-after': String(retryAfterS) };
      return { kind: 'answer' as const, status: 429, headers, body: '{}', cut: null };
    }
    accepted.push(at);
    const page = Number(new URL(`https://x${path}`).searchParams.get('page') ?? 1);
    const from = (page - 1) * PAGE;
    const results = Array.from({ length: Math.min(PAGE, products - from) }, (_, index) => ({
      id: from + index + 1,
      sku: `P-${from + index + 1}`,
    }));
    const next = from + PAGE < products ? `?page=${page + 1}` : null;
    const body = JSON.stringify({ count: products, next, previous: null, results });
    return { kind: 'answer' as const, status: 200, headers: {}, body, cut: null };
  }

  const gate = createRequestGate(createLearntRate(maxRate, random), time);
  const { target } = createApiClient({
    baseUrl: 'https://dpp.example.com',
    profile: Profile.parse({}),
    apiKey: { read: () => Promise.resolve('dpp_test0123456789abcdefghij') },
    secrets: createSecretStore(),
    pacing: gate,
    clock: time,
    log: createRecordingLog(),
    version: '0.0.0',
    random,
    transport: {
      async exchange({ path }) {
        await time.sleep(10 + 10 * random());
        const result = answer(path);
        await time.sleep(10 + 10 * random());
        return result;
      },
      close: async () => undefined,
    },
  });
  let read = 0;
  let isDone = false;
  const listing = target.list('product', (entries) => void (read += entries.length)).finally(() => (isDone = true));
  await time.pass(3_600_000, () => isDone);
  return { listing: await listing, read, accepted, refused, endedS: (time.ticks() - startedAt) / 1000 };
}

const LIMITS: [string, () => Limiter, number | null][] = [
  ['a window of a second with Retry-After', () => fixedWindow(LIMIT, 1000, 300), 1],
  ['a window of a second without Retry-After', () => fixedWindow(LIMIT, 1000, 300), null],
  ['a sliding window of a second', () => slidingWindow(LIMIT, 1000), null],
  ['a bucket', () => gcra(LIMIT, 0.2), 1],
];

describe('a list that is read below a limit', () => {
  it.each(LIMITS)('pages of a list use %s and are hardly refused', async (_, limiter, retryAfterS) => {
    const { listing, read, accepted, refused, endedS } = await readList(limiter(), { retryAfterS });
    expect(listing).toEqual({ complete: true, count: PRODUCTS });
    expect(read).toBe(PRODUCTS);
    const learnt = accepted.filter((at) => at >= LEARNT_S).length;
    expect(learnt / (LIMIT * (endedS - LEARNT_S))).toBeGreaterThan(0.9);
    expect(refused / (accepted.length + refused)).toBeLessThan(0.01);
  });

  it('pages of a list stay below the configured rate', async () => {
    const limiter = gcra(10_000, 1);
    const { accepted } = await readList(limiter, { retryAfterS: null, maxRate: 5, products: 1000 });
    for (const at of accepted)
      expect(accepted.filter((one) => one >= at && one < at + 1).length).toBeLessThanOrEqual(6);
  });
});
