import { describe, expect, it } from 'vitest';
import { createCrowd } from '../../src/delivery/rate-crowd.ts';

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
  for (let refusal = 0; refusal < refusals; ) {
    now += 100;
    const present = crowds.map((crowd) => crowd.rate(now));
    const sum = present.reduce((total, one) => total + one, 0);
    if (sum <= limit) continue;
    refusal += 1;
    for (const [index, one] of present.entries()) debts[index] = (debts[index] ?? 0) + one / sum;
    const hit = debts.indexOf(Math.max(...debts));
    debts[hit] = (debts[hit] ?? 0) - 1;
    crowds[hit]?.giveUp(present[hit] ?? 0, now);
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
    crowd.calm();
    crowd.strike();
    expect(crowd.isSeen()).toBe(false);
    crowd.strike();
    expect(crowd.isSeen()).toBe(true);
  });

  it('gains nothing by a rest, and has outgrown its last refusal once nobody refuses half as much again', () => {
    const crowd = createCrowd();
    crowd.enter(100, 0);
    expect(crowd.rate(0)).toBe(85);
    crowd.rested(60_000);
    expect(crowd.rate(60_000)).toBe(85);
    expect(crowd.hasOutgrown(100_000)).toBe(false);
    expect(crowd.hasOutgrown(300_000)).toBe(true);
  });

  it('looks after some refusals whether the others are gone, and more rarely where they were not', () => {
    const crowd = createCrowd();
    const turns = (): number => {
      crowd.enter(10, 0);
      let count = 1;
      while (crowd.giveUp(10, count) === null) count += 1;
      return count;
    };
    expect([turns(), turns(), turns(), turns()]).toEqual([16, 32, 64, 64]);
  });
});
