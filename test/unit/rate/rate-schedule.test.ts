import { describe, expect, it } from 'vitest';
import { createFairShare } from '../../../src/delivery/rate/fair-share.ts';
import { createRateSchedule, type LimitEstimate } from '../../../src/delivery/rate/rate-schedule.ts';

const LIMIT: LimitEstimate = {
  low: 100,
  high: 110,
  isHighUntested: false,
  provenLow: 100,
  steadyRate: 100,
  refusalCostMs: 1000,
  windowMs: 0,
  burst: 0,
};

/** The length of a steady period at 100 requests per second, in milliseconds. */
function steadyPeriodMs(random: () => number): number {
  const schedule = createRateSchedule({ ...LIMIT }, createFairShare(), random);
  schedule.startSteady(0);
  for (let now = 10; now < 600_000; now += 10) {
    schedule.countUse(now);
    if (schedule.countTrial(now, false, now)) return now;
  }
  return Number.NaN;
}

describe('the schedule of the search for a rate', () => {
  it('the rate schedule varies the steady periods in a short window, so that stopped clients do not raise together', () => {
    const [short, middle, long] = [0, 0.5, 1].map((number) => steadyPeriodMs(() => number));
    expect(short).toBeLessThan(0.8 * (middle ?? 0));
    expect(long).toBeGreaterThan(1.2 * (middle ?? 0));
  });

  it('the rate schedule tries a rate until a small burst is used up, and proves only what the burst does not explain', () => {
    const trial = (burst: number, refusalCostMs = 1000): { ms: number; gain: number } => {
      const limit = { ...LIMIT, low: 140, high: 180, burst, refusalCostMs };
      const schedule = createRateSchedule(limit, createFairShare(), () => 0.5);
      schedule.startSearch(0.5, 0);
      const rate = schedule.rate(0);
      let ms = 0;
      while (!schedule.countTrial(ms, false, ms)) ms += 1;
      return { ms, gain: (schedule.provenRate(ms) - limit.low) / (rate - limit.low) };
    };
    const unknown = trial(0);
    expect(unknown.gain).toBe(1);
    expect(trial(150)).toEqual(unknown);
    // A short stop does not fill the bucket.
    expect(trial(40, 100)).toEqual(unknown);
    const small = trial(40);
    expect(small.ms).toBeGreaterThan(unknown.ms);
    expect(small.gain).toBeCloseTo(0, 2);
    expect(trial(10).gain).toBeGreaterThan(0.5);
  });

  it('the rate schedule rises to the steady rate no faster than a sliding window refills', () => {
    const schedule = createRateSchedule({ ...LIMIT, windowMs: 60_000 }, createFairShare(), () => 0.5);
    schedule.startRefill(10, 0);
    expect(schedule.phase()).toBe('steady');
    expect(schedule.rate(0)).toBeCloseTo(10);
    expect(schedule.rate(6000)).toBeCloseTo(10 * Math.E);
    const steady = schedule.rate(600_000);
    expect(steady).toBeGreaterThan(95);
    expect(steady).toBeLessThanOrEqual(100);
  });

  it.each(['ramping', 'sharing'] as const)('the rate schedule rises only as long as it is used while %s', (phase) => {
    const after = (perSecond: (rate: number) => number, seconds: number): number => {
      const schedule = createRateSchedule({ ...LIMIT, windowMs: 60_000 }, createFairShare(), () => 0.5);
      if (phase === 'ramping') schedule.startRamp(0);
      else schedule.startSharing(100, 0);
      let owed = 0;
      for (let now = 10; now <= seconds * 1000; now += 10) {
        for (owed += perSecond(schedule.rate(now)) / 100; owed >= 1; owed -= 1) schedule.countUse(now);
      }
      return schedule.rate(seconds * 1000);
    };
    expect(after((rate) => Math.min(rate, 200), 3600)).toBeLessThan(1000);
    expect(after(() => 0.3, 3600)).toBeLessThan(phase === 'ramping' ? 10 : 100);
    expect(after((rate) => rate, 45)).toBeGreaterThan(500);
  });

  it('the rate schedule rises from the smallest rate while sharing, even after a long time without a refusal', () => {
    const share = createFairShare();
    const schedule = createRateSchedule({ ...LIMIT }, share, () => 0.5);
    schedule.startSharing(100, 0);
    const stop = { openMs: 1000, accepted: 1, stopMs: 10, isLong: false, peak: 1, goodput: () => 1 };
    const begin = 600_000;
    for (let now = 100_000; now < begin; now += 100_000) share.reduce(100, stop, now);
    share.continueFrom(0.2, begin);
    schedule.reopened(begin);
    let sent = 0;
    for (let now = begin; now < begin + 90_000; now += 1000 / schedule.rate(now)) {
      schedule.countUse(now);
      sent += 1;
    }
    expect(sent).toBeGreaterThan(200);
  });

  it('the rate schedule does not lower the rate after a stop, during which no rate could be used', () => {
    const schedule = createRateSchedule({ ...LIMIT }, createFairShare(), () => 0.5);
    schedule.startSharing(100, 0);
    const use = (from: number, to: number): void => {
      for (let now = from; now < to; now += 10) schedule.countUse(now);
    };
    use(0, 7000);
    schedule.reopened(11_000);
    const risen = schedule.rate(11_000);
    use(11_000, 12_000);
    expect(schedule.rate(12_000)).toBeGreaterThan(risen);
  });

  it('the rate schedule limits the rate to the refill only until the next phase begins', () => {
    const schedule = createRateSchedule({ ...LIMIT, windowMs: 60_000 }, createFairShare(), () => 0.5);
    schedule.startRefill(10, 0);
    schedule.startRaise(100, 0.1, 1000);
    expect(schedule.rate(1000)).toBeCloseTo(110);
  });
});
