// The limits that servers have, in virtual time: what the controller reaches on some cells of `npm run bench:rate`.

import { describe, expect, it } from 'vitest';
import { type Cell, LIMITS, type LimitName, patienceOf, runCell } from '../support/rate-sim/cells.ts';
import { controlledClient } from '../support/rate-sim/controlled-client.ts';

const names = Object.keys(LIMITS) as LimitName[];
const SEED = 3;
const result = (cell: Omit<Cell, 'seed' | 'processes'> & Partial<Cell>) =>
  runCell({ processes: 1, seed: SEED, ...cell }, (random) => controlledClient(random));
const mean = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;

const LIMIT = 'a limit of 50 requests a second';

describe('the rate', () => {
  it.each(['none', 'seconds', 'ratelimit', 'wrong'] as const)(
    `uses 95 % of ${LIMIT} where the answers tell: %s`,
    (told) => {
      const cells = names.map((limit) => result({ limit, rate: 50, told, story: 'steady' }));
      expect(mean(cells.map(({ use }) => use))).toBeGreaterThan(0.95);
      expect(Math.min(...cells.map(({ use }) => use))).toBeGreaterThan(0.9);
      expect(mean(cells.map(({ refused }) => refused))).toBeLessThan(0.005);
      for (const [index, { settledS }] of cells.entries()) {
        expect(settledS).toBeLessThanOrEqual(patienceOf(names[index] ?? 'fixed 1 s', 20));
      }
    },
  );

  it('sends nothing before a Retry-After has passed', () => {
    for (const told of ['seconds', 'date'] as const) {
      for (const story of ['÷5', 'outage'] as const) {
        expect(result({ limit: 'fixed 1 s', rate: 50, told, story }).early).toBe(0);
        expect(result({ limit: 'fixed 60 s', rate: 50, told, story }).early).toBe(0);
      }
    }
  });

  it(`finds a fifth of ${LIMIT}, whatever limit it is, and is rarely refused meanwhile`, () => {
    const cells = names.map((limit) => result({ limit, rate: 50, told: 'none', story: '÷5' }));
    expect(Math.min(...cells.map(({ use }) => use))).toBeGreaterThan(0.8);
    expect(mean(cells.map(({ use }) => use))).toBeGreaterThan(0.9);
    expect(mean(cells.map(({ refused }) => refused))).toBeLessThan(0.05);
  });

  it('finds a limit that is raised from 10 to 100 within half a minute, or two windows', () => {
    const cells = names.map((limit) => result({ limit, rate: 10, told: 'none', story: '×10' }));
    expect(mean(cells.map(({ use }) => use))).toBeGreaterThan(0.9);
    expect(Math.min(...cells.map(({ use }) => use))).toBeGreaterThan(0.75);
  });

  it(`is back at ${LIMIT} after an outage of a minute`, () => {
    for (const told of ['none', 'seconds'] as const) {
      const { use, refused } = result({ limit: 'GCRA 0.2 s', rate: 50, told, story: 'outage' });
      expect(use).toBeGreaterThan(0.9);
      expect(refused).toBeLessThan(0.02);
    }
  });

  it('is shared by three processes that know nothing of each other', () => {
    const cells = names.map((limit) => result({ limit, rate: 50, told: 'seconds', story: 'steady', processes: 3 }));
    expect(mean(cells.map(({ jain }) => jain))).toBeGreaterThan(0.95);
    expect(mean(cells.map(({ use }) => use))).toBeGreaterThan(0.9);
  });
});
