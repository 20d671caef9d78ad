// The results of the rate controller for some cells of `npm run bench:rate`, in virtual time.

import { describe, expect, it } from 'vitest';
import { type Cell, LIMITS, type LimitName, runCell, settlingSeconds } from '../../bench/rate/simulation/cells.ts';
import { controlledClient } from '../../bench/rate/simulation/controlled-client.ts';
import { gcra } from '../../bench/rate/simulation/limiters.ts';
import { runSeed, SEEDS } from '../../bench/rate/simulation/seeds.ts';

const names = Object.keys(LIMITS) as LimitName[];
const SEED = 3;
const result = (cell: Omit<Cell, 'seed' | 'processes'> & Partial<Cell>) =>
  runCell({ processes: 1, seed: SEED, ...cell }, (random) => controlledClient(random));
const mean = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

const LIMIT = 'a limit of 50 requests a second';

describe('the rate', () => {
  it.each(['none', 'seconds', 'ratelimit', 'wrong'] as const)(
    `the rate uses 95 % of ${LIMIT} if the answers state it as: %s`,
    (headers) => {
      const cells = names.map((limit) => result({ limit, rate: 50, headers, scenario: 'steady' }));
      expect(mean(cells.map(({ use }) => use))).toBeGreaterThan(0.95);
      expect(Math.min(...cells.map(({ use }) => use))).toBeGreaterThan(0.9);
      expect(mean(cells.map(({ refused }) => refused))).toBeLessThan(0.005);
      for (const [index, { settledS }] of cells.entries()) {
        expect(settledS).toBeLessThanOrEqual(settlingSeconds(names[index] ?? 'fixed 1 s', 20));
      }
    },
  );

  it.each([
    ['fixed window', 0.95, LIMITS['fixed 1 s']],
    ['sliding window', 0.93, LIMITS['sliding 1 s']],
    ...[0.05, 0.1, 0.2, 0.3, 0.4].map((s) => [`bucket of ${s} s`, 0.95, (rate: number) => gcra(rate, s)] as const),
  ] as const)('the rate is near 150 requests a second in each seed, and within 15 s: %s', (_name, least, limiterOf) => {
    for (const seed of SEEDS) {
      const { used, refused, settledS } = runSeed(limiterOf, seed, 180);
      expect({ seed, isUsed: used >= least, used }).toMatchObject({ isUsed: true });
      expect({ seed, isSettled: settledS <= 15, settledS }).toMatchObject({ isSettled: true });
      expect({ seed, isAccepted: refused <= 0.003, refused }).toMatchObject({ isAccepted: true });
    }
  });

  it('the rate is zero before a Retry-After has passed', () => {
    for (const headers of ['seconds', 'date'] as const) {
      for (const scenario of ['÷5', 'outage'] as const) {
        expect(result({ limit: 'fixed 1 s', rate: 50, headers, scenario }).early).toBe(0);
        expect(result({ limit: 'fixed 60 s', rate: 50, headers, scenario }).early).toBe(0);
      }
    }
  });

  it(`the rate finds a fifth of ${LIMIT} of every kind, with few refusals`, () => {
    const cells = names.map((limit) => result({ limit, rate: 50, headers: 'none', scenario: '÷5' }));
    expect(Math.min(...cells.map(({ use }) => use))).toBeGreaterThan(0.8);
    expect(mean(cells.map(({ use }) => use))).toBeGreaterThan(0.9);
    expect(mean(cells.map(({ refused }) => refused))).toBeLessThan(0.05);
  });

  it('the rate finds a limit that is raised from 10 to 100 within half a minute, or two windows', () => {
    const cells = names.map((limit) => result({ limit, rate: 10, headers: 'none', scenario: '×10' }));
    expect(mean(cells.map(({ use }) => use))).toBeGreaterThan(0.9);
    expect(Math.min(...cells.map(({ use }) => use))).toBeGreaterThan(0.75);
  });

  it(`the rate returns to ${LIMIT} after an outage of a minute`, () => {
    for (const headers of ['none', 'seconds'] as const) {
      const { use, refused } = result({ limit: 'GCRA 0.2 s', rate: 50, headers, scenario: 'outage' });
      expect(use).toBeGreaterThan(0.9);
      expect(refused).toBeLessThan(0.02);
    }
  });

  it('the rate is shared equally by three processes that do not know each other', () => {
    const cells = names.map((limit) =>
      result({ limit, rate: 50, headers: 'seconds', scenario: 'steady', processes: 3 }),
    );
    expect(mean(cells.map(({ jain }) => jain))).toBeGreaterThan(0.95);
    expect(mean(cells.map(({ use }) => use))).toBeGreaterThan(0.9);
  });
});
