import { describe, expect, it } from 'vitest';
import { type Block, createResidue } from '../../src/delivery/rate/refusal-streak.ts';
import { createCourse, type Known } from '../../src/delivery/rate/schedule.ts';
import { createCrowd } from '../../src/delivery/rate/fair-share.ts';
import { createLongWindow } from '../../src/delivery/rate/long-window.ts';

const WINDOW_MS = 60_000;

/** Something that holds a rate in a window of a minute that is known, and was held for a whole rest at `sure`. */
function holding(low: number, sure: number) {
  const known: Known = { low, high: 20, isHighGuessed: false, proven: sure, sure, costMs: 5000, cycleMs: WINDOW_MS };
  const course = createCourse(known, createCrowd(), () => 0.5);
  const long = createLongWindow(known, course, createResidue());
  course.hold(0);
  long.paused(0);
  return { known, course, long };
}

const block = (blockMs: number, openMs = WINDOW_MS - blockMs): Block => ({
  openMs,
  accepted: 600,
  blockMs,
  isLong: blockMs > 3000,
  peak: 10,
  goodput: () => 10,
});

describe('in a long window', () => {
  it('holds on after a block that its own step explains', () => {
    const { course, long } = holding(10, 10);
    long.afterLong(block(7000), 11, WINDOW_MS);
    expect(course.phase()).toBe('holding');
  });

  it('begins anew, as everyone else does, after a block that it does not explain, and then holds what it has come to', () => {
    const { course, long } = holding(10, 10);
    long.afterLong(block(25_000), 10, WINDOW_MS);
    expect(course.phase()).toBe('ramping');
    expect(course.rate(WINDOW_MS)).toBeLessThan(3);
    long.afterLong(block(40_000), 30, 2 * WINDOW_MS);
    expect(course.phase()).toBe('holding');
    long.afterLong(block(25_000), 10, 3 * WINDOW_MS);
    expect(course.phase()).toBe('ramping');
  });

  it('climbs when it begins anew, also where it was coming up as the window refilled', () => {
    const { course, long } = holding(10, 10);
    const short = { ...block(1000, 200), accepted: 1 };
    long.afterShort(short, 10, 10_000);
    long.afterShort(short, 10, 11_000);
    expect(course.rate(11_000)).toBe(1);
    long.afterLong(block(25_000), 10, WINDOW_MS);
    course.resume(WINDOW_MS);
    expect(course.phase()).toBe('ramping');
    for (let at = WINDOW_MS; at < WINDOW_MS + 20_000; at += 10) course.used(at);
    expect(course.rate(WINDOW_MS + 20_000)).toBeGreaterThan(40);
  });

  it('does not begin anew where its own leap has used the window up', () => {
    const { course, long } = holding(100, 10);
    long.afterLong(block(50_000), 100, WINDOW_MS);
    expect(course.phase()).toBe('holding');
  });

  it('does not begin anew where a climb would not come to the limit before the window ends', () => {
    const { course, long } = holding(400, 400);
    for (let request = 0; request < 24_000; request += 1) long.accepted(0);
    long.afterLong(block(25_000), 400, WINDOW_MS);
    expect(course.phase()).toBe('holding');
  });

  it('comes up as the window refills after refusals in a row, however far it has leapt', () => {
    const { course, long } = holding(100, 10);
    const now = 11_000;
    const short = { ...block(1000, 200), accepted: 12, goodput: () => 60 };
    long.afterShort(short, 100, now - 1000);
    long.afterShort(short, 60, now);
    expect(course.rate(now)).toBeCloseTo(10);
    expect(course.rate(now + 6000)).toBeLessThan(30);
  });
});
