import { describe, expect, it } from 'vitest';
import { createFairShare } from '../../../src/delivery/rate/fair-share.ts';
import { createLongWindow } from '../../../src/delivery/rate/long-window.ts';
import { createRateSchedule, type LimitEstimate } from '../../../src/delivery/rate/rate-schedule.ts';
import type { EndedStop } from '../../../src/delivery/rate/stop.ts';
import { createRefusalStreak } from '../../../src/delivery/rate/stop.ts';

const WINDOW_MS = 60_000;

/** The rules at the rate `low` in a known window of a minute. `steadyRate` is the rate of the last steady period. */
function steadyAt(low: number, steadyRate: number) {
  const limit: LimitEstimate = {
    low,
    high: 20,
    isHighUntested: false,
    provenLow: steadyRate,
    steadyRate,
    refusalCostMs: 5000,
    windowMs: WINDOW_MS,
    burst: 0,
  };
  const schedule = createRateSchedule(limit, createFairShare(), () => 0.5);
  const long = createLongWindow(limit, schedule, createRefusalStreak());
  schedule.startSteady(0);
  long.paused(0);
  return { limit, schedule, long };
}

const stopAfter = (stopMs: number, openMs = WINDOW_MS - stopMs): EndedStop => ({
  openMs,
  accepted: 600,
  stopMs,
  isLong: stopMs > 3000,
  peak: 10,
  goodput: () => 10,
});

describe('a limit with a long window', () => {
  it('a limit with a long window keeps the rate after a stop that the raise of the rate explains', () => {
    const { schedule, long } = steadyAt(10, 10);
    long.afterLongStop(stopAfter(7000), 11, WINDOW_MS);
    expect(schedule.phase()).toBe('steady');
  });

  it('a limit with a long window lets the rate climb again after a stop that no raise explains, and then keeps it', () => {
    const { schedule, long } = steadyAt(10, 10);
    long.afterLongStop(stopAfter(25_000), 10, WINDOW_MS);
    expect(schedule.phase()).toBe('ramping');
    expect(schedule.rate(WINDOW_MS)).toBeLessThan(3);
    long.afterLongStop(stopAfter(40_000), 30, 2 * WINDOW_MS);
    expect(schedule.phase()).toBe('steady');
    long.afterLongStop(stopAfter(25_000), 10, 3 * WINDOW_MS);
    expect(schedule.phase()).toBe('ramping');
  });

  it('a limit with a long window lets the rate climb again even if it was rising as the window refilled', () => {
    const { schedule, long } = steadyAt(10, 10);
    const short = { ...stopAfter(1000, 200), accepted: 1 };
    long.afterShortStop(short, 10, 10_000);
    long.afterShortStop(short, 10, 11_000);
    expect(schedule.rate(11_000)).toBe(1);
    long.afterLongStop(stopAfter(25_000), 10, WINDOW_MS);
    schedule.reopened(WINDOW_MS);
    expect(schedule.phase()).toBe('ramping');
    for (let at = WINDOW_MS; at < WINDOW_MS + 20_000; at += 10) schedule.countUse(at);
    expect(schedule.rate(WINDOW_MS + 20_000)).toBeGreaterThan(40);
  });

  it('a limit with a long window does not let the rate climb again if its own leap has used the window', () => {
    const { schedule, long } = steadyAt(100, 10);
    long.afterLongStop(stopAfter(50_000), 100, WINDOW_MS);
    expect(schedule.phase()).toBe('steady');
  });

  it('a limit with a long window does not let the rate climb if it would not reach the limit before the window ends', () => {
    const { schedule, long } = steadyAt(400, 400);
    for (let request = 0; request < 24_000; request += 1) long.accepted(0);
    long.afterLongStop(stopAfter(25_000), 400, WINDOW_MS);
    expect(schedule.phase()).toBe('steady');
  });

  it('a limit with a long window lets the rate rise as the window refills after refusals in a row, even after a leap', () => {
    const { schedule, long } = steadyAt(100, 10);
    const now = 11_000;
    const short = { ...stopAfter(1000, 200), accepted: 12, goodput: () => 60 };
    long.afterShortStop(short, 100, now - 1000);
    long.afterShortStop(short, 60, now);
    expect(schedule.rate(now)).toBeCloseTo(10);
    expect(schedule.rate(now + 6000)).toBeLessThan(30);
  });
});
