import { describe, expect, it } from 'vitest';
import { createCourse, type Known } from '../../src/delivery/rate/schedule.ts';
import { createCrowd } from '../../src/delivery/rate/fair-share.ts';

const KNOWN: Known = {
  low: 100,
  high: 110,
  isHighGuessed: false,
  proven: 100,
  sure: 100,
  costMs: 1000,
  cycleMs: 0,
};

/** When a rate of 100 per second that is held has been held for as long as it has to be, in milliseconds. */
function restMs(random: () => number): number {
  const course = createCourse({ ...KNOWN }, createCrowd(), random);
  course.hold(0);
  for (let now = 10; now < 600_000; now += 10) {
    course.used(now);
    if (course.tried(now, false, now)) return now;
  }
  return Number.NaN;
}

describe('the course of the search for a rate', () => {
  it('has each rest in a short window last another time, so that those who were stopped together do not probe together', () => {
    const [short, middle, long] = [0, 0.5, 1].map((number) => restMs(() => number));
    expect(short).toBeLessThan(0.8 * (middle ?? 0));
    expect(long).toBeGreaterThan(1.2 * (middle ?? 0));
  });

  it('comes back to the rate that is held no faster than a window gives back what was sent as it filled', () => {
    const course = createCourse({ ...KNOWN, cycleMs: 60_000 }, createCrowd(), () => 0.5);
    course.refill(10, 0);
    expect(course.phase()).toBe('holding');
    expect(course.rate(0)).toBeCloseTo(10);
    expect(course.rate(6000)).toBeCloseTo(10 * Math.E);
    const held = course.rate(600_000);
    expect(held).toBeGreaterThan(95);
    expect(held).toBeLessThanOrEqual(100);
  });

  it.each(['ramping', 'crowded'] as const)('rises only as long as it is used while %s', (phase) => {
    const after = (perSecond: (rate: number) => number, seconds: number): number => {
      const course = createCourse({ ...KNOWN, cycleMs: 60_000 }, createCrowd(), () => 0.5);
      if (phase === 'ramping') course.ramp(0);
      else course.enterCrowd(100, 0);
      let owed = 0;
      for (let now = 10; now <= seconds * 1000; now += 10) {
        for (owed += perSecond(course.rate(now)) / 100; owed >= 1; owed -= 1) course.used(now);
      }
      return course.rate(seconds * 1000);
    };
    expect(after((rate) => Math.min(rate, 200), 3600)).toBeLessThan(1000);
    expect(after(() => 0.3, 3600)).toBeLessThan(phase === 'ramping' ? 10 : 100);
    expect(after((rate) => rate, 45)).toBeGreaterThan(500);
  });

  it('rises from the smallest rate among others, also where it was not refused for long before', () => {
    const crowd = createCrowd();
    const course = createCourse({ ...KNOWN }, crowd, () => 0.5);
    course.enterCrowd(100, 0);
    const block = { openMs: 1000, accepted: 1, blockMs: 10, isLong: false, peak: 1, goodput: () => 1 };
    const begin = 600_000;
    for (let now = 100_000; now < begin; now += 100_000) crowd.giveUp(100, block, now);
    crowd.goOn(0.2, begin);
    course.resume(begin);
    let sent = 0;
    for (let now = begin; now < begin + 90_000; now += 1000 / course.rate(now)) {
      course.used(now);
      sent += 1;
    }
    expect(sent).toBeGreaterThan(200);
  });

  it('is not set back by a block, in which nothing could be used', () => {
    const course = createCourse({ ...KNOWN }, createCrowd(), () => 0.5);
    course.enterCrowd(100, 0);
    const use = (from: number, to: number): void => {
      for (let now = from; now < to; now += 10) course.used(now);
    };
    use(0, 7000);
    course.resume(11_000);
    const risen = course.rate(11_000);
    use(11_000, 12_000);
    expect(course.rate(12_000)).toBeGreaterThan(risen);
  });

  it('holds a refilling window at what it came to only until it goes on', () => {
    const course = createCourse({ ...KNOWN, cycleMs: 60_000 }, createCrowd(), () => 0.5);
    course.refill(10, 0);
    course.probe(100, 0.1, 1000);
    expect(course.rate(1000)).toBeCloseTo(110);
  });
});
