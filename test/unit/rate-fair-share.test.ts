import { describe, expect, it } from 'vitest';
import type { Block } from '../../src/delivery/rate/refusal-streak.ts';
import { createCrowd } from '../../src/delivery/rate/fair-share.ts';

/** A block after so long, in which so many were accepted in each second. */
const block = (openMs: number, rate: number): Block => ({
  openMs,
  accepted: (openMs * rate) / 1000,
  blockMs: 0,
  isLong: false,
  peak: rate,
  goodput: () => rate,
});

/** Shares of a limit after so many refusals; each strikes whoever sends most, or the next one as often as its share says. */
function shares(rates: readonly number[], refusals: number): number[] {
  const limit = rates.reduce((sum, one) => sum + one, 0);
  const crowds = rates.map((rate) => {
    const crowd = createCrowd();
    crowd.enter(rate, 0);
    return crowd;
  });
  const debts = rates.map(() => 0);
  let now = 0;
  for (let refusal = 0; refusal < refusals && now < 10_000_000; ) {
    now += 100;
    const present = crowds.map((crowd) => crowd.rate(now));
    const sum = present.reduce((total, one) => total + one, 0);
    if (sum <= limit) continue;
    refusal += 1;
    for (const [index, one] of present.entries()) debts[index] = (debts[index] ?? 0) + one / sum;
    const hit = debts.indexOf(Math.max(...debts));
    debts[hit] = (debts[hit] ?? 0) - 1;
    crowds[hit]?.giveUp(present[hit] ?? 0, block(100, 1), now);
  }
  return crowds.map((crowd) => crowd.rate(now));
}

describe('among others', () => {
  it.each([[[1, 1, 28]], [[0.3, 3, 6.7]], [[20, 120, 360]]])('shares become equal that were %j', (rates) => {
    const after = shares(rates, 150);
    const mean = after.reduce((sum, one) => sum + one, 0) / after.length;
    for (const one of after) expect(Math.abs(one / mean - 1)).toBeLessThan(0.25);
  });

  it('is assumed after three strikes, and a rest without one takes a strike back', () => {
    const crowd = createCrowd();
    crowd.strike();
    crowd.strike();
    crowd.rest(10);
    crowd.strike();
    expect(crowd.isSeen()).toBe(false);
    crowd.strike();
    expect(crowd.isSeen()).toBe(true);
  });

  it('is assumed where more is held time and again than a limit gives that stands still', () => {
    const crowd = createCrowd();
    for (const held of [100, 100.4, 100.8]) crowd.rest(held);
    expect(crowd.strikes()).toBe(0);
    for (const held of [102, 104, 106]) crowd.rest(held);
    expect(crowd.isSeen()).toBe(true);
  });

  it('is not assumed where what was given up is gained again', () => {
    const crowd = createCrowd();
    crowd.rest(100);
    crowd.strike(0.5, 106);
    for (const held of [102, 104, 106]) crowd.rest(held);
    expect(crowd.strikes()).toBe(0);
  });

  it('is suspected where a probe finds far more than was ever held', () => {
    const crowd = createCrowd();
    crowd.found(200);
    expect(crowd.strikes()).toBe(0);
    crowd.rest(100);
    crowd.found(105);
    expect(crowd.strikes()).toBe(0);
    crowd.found(112);
    expect(crowd.strikes()).toBe(1);
    crowd.forget();
    crowd.found(200);
    expect(crowd.strikes()).toBe(0);
  });

  it('shares become equal of those who are refused at the same moments, whatever was before', () => {
    const crowds = [300, 100].map((rate) => {
      const crowd = createCrowd();
      crowd.enter(rate, 0);
      return crowd;
    });
    const [lucky, unlucky] = crowds;
    // One of them was refused again and again for a while.
    for (let now = 3000; now <= 15_000; now += 3000) unlucky?.giveUp(50, block(3000, 50), now);
    lucky?.giveUp(300, block(15_000, 280), 15_000);
    let now = 15_000;
    for (let turn = 0; turn < 60; ) {
      now += 100;
      const rates = crowds.map((crowd) => crowd.rate(now));
      if (rates.reduce((sum, one) => sum + one, 0) <= 400) continue;
      turn += 1;
      for (const [index, crowd] of crowds.entries()) crowd.giveUp(rates[index] ?? 0, block(100, 1), now);
    }
    expect((lucky?.rate(now) ?? 0) / (unlucky?.rate(now) ?? 1)).toBeLessThan(1.1);
  });

  it('gains nothing by a rest, and rises faster and faster where nobody refuses', () => {
    const crowd = createCrowd();
    crowd.enter(100, 0);
    expect(crowd.rate(0)).toBe(85);
    crowd.rested(60_000, 60_000);
    expect(crowd.rate(60_000)).toBe(85);
    const rates = [60, 75, 90, 105].map((second) => crowd.rate(second * 1000));
    const gains = rates.slice(1).map((rate, index) => rate - (rates[index] ?? 0));
    expect(gains).toEqual(gains.toSorted((a, b) => a - b));
    expect(crowd.rate(115_000)).toBeGreaterThan(850);
  });

  it('is over when turns in a row have brought the same, and takes longer to be so where others were there after all', () => {
    const crowd = createCrowd();
    const turns = (): number => {
      crowd.enter(10, 0);
      for (let count = 1; count <= 100; count += 1) {
        if (crowd.giveUp(10, block(15_000, 9.3), count * 15_000) !== null) return count;
      }
      return Number.POSITIVE_INFINITY;
    };
    expect([turns(), turns(), turns(), turns(), turns()]).toEqual([4, 8, 16, 32, 32]);
  });

  it('goes on where turns differ in what they bring', () => {
    const crowd = createCrowd();
    crowd.enter(10, 0);
    const over = Array.from({ length: 50 }, (_, turn) =>
      crowd.giveUp(10, block(15_000, turn % 3 === 0 ? 7 : 9), turn * 15_000),
    );
    expect(over.every((one) => one === null)).toBe(true);
  });
});
