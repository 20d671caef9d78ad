import { describe, expect, it } from 'vitest';
import { createFairShare } from '../../../src/delivery/rate/fair-share.ts';
import type { EndedStop } from '../../../src/delivery/rate/stop.ts';

/** A stop after `openMs` milliseconds in which `rate` requests were accepted per second. */
const stopAfter = (openMs: number, rate: number): EndedStop => ({
  openMs,
  accepted: (openMs * rate) / 1000,
  stopMs: 0,
  isLong: false,
  peak: rate,
  goodput: () => rate,
});

/** The shares of a limit after so many refusals. Each client is refused in proportion to its rate. */
function shares(rates: readonly number[], refusals: number): number[] {
  const limit = rates.reduce((sum, one) => sum + one, 0);
  const clients = rates.map((rate) => {
    const share = createFairShare();
    share.start(rate, 0);
    return share;
  });
  const debts = rates.map(() => 0);
  let now = 0;
  for (let refusal = 0; refusal < refusals && now < 10_000_000; ) {
    now += 100;
    const present = clients.map((share) => share.rate(now));
    const sum = present.reduce((total, one) => total + one, 0);
    if (sum <= limit) continue;
    refusal += 1;
    for (const [index, one] of present.entries()) debts[index] = (debts[index] ?? 0) + one / sum;
    const refused = debts.indexOf(Math.max(...debts));
    debts[refused] = (debts[refused] ?? 0) - 1;
    clients[refused]?.reduce(present[refused] ?? 0, stopAfter(100, 1), now);
  }
  return clients.map((share) => share.rate(now));
}

describe('the fair share', () => {
  it.each([[[1, 1, 28]], [[0.3, 3, 6.7]], [[20, 120, 360]]])('the fair share makes the shares %j equal', (rates) => {
    const after = shares(rates, 150);
    const mean = after.reduce((sum, one) => sum + one, 0) / after.length;
    for (const one of after) expect(Math.abs(one / mean - 1)).toBeLessThan(0.25);
  });

  it('the fair share assumes other clients after three pieces of evidence, and a steady period removes one piece', () => {
    const share = createFairShare();
    share.addEvidence();
    share.addEvidence();
    share.steadyPeriodPassed(10);
    share.addEvidence();
    expect(share.hasOthers()).toBe(false);
    share.addEvidence();
    expect(share.hasOthers()).toBe(true);
  });

  it('the fair share assumes other clients if steady rates rise more often than an unchanged limit allows', () => {
    const share = createFairShare();
    for (const steady of [100, 100.4, 100.8]) share.steadyPeriodPassed(steady);
    expect(share.evidence()).toBe(0);
    for (const steady of [102, 104, 106]) share.steadyPeriodPassed(steady);
    expect(share.hasOthers()).toBe(true);
  });

  it('the fair share does not take a rate that is regained for evidence', () => {
    const share = createFairShare();
    share.steadyPeriodPassed(100);
    share.addEvidence(0.5, 106);
    for (const steady of [102, 104, 106]) share.steadyPeriodPassed(steady);
    expect(share.evidence()).toBe(0);
  });

  it('the fair share takes a raise far above every steady rate for evidence', () => {
    const share = createFairShare();
    share.raiseRefused(200);
    expect(share.evidence()).toBe(0);
    share.steadyPeriodPassed(100);
    share.raiseRefused(105);
    expect(share.evidence()).toBe(0);
    share.raiseRefused(112);
    expect(share.evidence()).toBe(1);
    share.reset();
    share.raiseRefused(200);
    expect(share.evidence()).toBe(0);
  });

  it('the fair share makes the shares of clients equal that are refused at the same moments', () => {
    const clients = [300, 100].map((rate) => {
      const share = createFairShare();
      share.start(rate, 0);
      return share;
    });
    const [lucky, unlucky] = clients;
    // The second client is refused again and again for a while.
    for (let now = 3000; now <= 15_000; now += 3000) unlucky?.reduce(50, stopAfter(3000, 50), now);
    lucky?.reduce(300, stopAfter(15_000, 280), 15_000);
    let now = 15_000;
    for (let round = 0; round < 60; ) {
      now += 100;
      const rates = clients.map((share) => share.rate(now));
      if (rates.reduce((sum, one) => sum + one, 0) <= 400) continue;
      round += 1;
      for (const [index, share] of clients.entries()) share.reduce(rates[index] ?? 0, stopAfter(100, 1), now);
    }
    expect((lucky?.rate(now) ?? 0) / (unlucky?.rate(now) ?? 1)).toBeLessThan(1.1);
  });

  it('the fair share does not rise while it is unused, and rises faster and faster without refusals', () => {
    const share = createFairShare();
    share.start(100, 0);
    expect(share.rate(0)).toBe(85);
    share.skipUnused(60_000, 60_000);
    expect(share.rate(60_000)).toBe(85);
    const rates = [60, 75, 90, 105].map((second) => share.rate(second * 1000));
    const gains = rates.slice(1).map((rate, index) => rate - (rates[index] ?? 0));
    expect(gains).toEqual(gains.toSorted((a, b) => a - b));
    expect(share.rate(115_000)).toBeGreaterThan(850);
  });

  it('the fair share ends after equal rounds in a row, and needs more of them each time it has ended too early', () => {
    const share = createFairShare();
    const roundsNeeded = (): number => {
      share.start(10, 0);
      for (let count = 1; count <= 100; count += 1) {
        if (share.reduce(10, stopAfter(15_000, 9.3), count * 15_000) !== null) return count;
      }
      return Number.POSITIVE_INFINITY;
    };
    expect(Array.from({ length: 5 }, roundsNeeded)).toEqual([4, 8, 16, 32, 32]);
  });

  it('the fair share continues while the rounds differ', () => {
    const share = createFairShare();
    share.start(10, 0);
    const steady = Array.from({ length: 50 }, (_, round) =>
      share.reduce(10, stopAfter(15_000, round % 3 === 0 ? 7 : 9), round * 15_000),
    );
    expect(steady.every((one) => one === null)).toBe(true);
  });
});
