import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCron, createZone } from '../../../src/daemon/schedules/run-times.ts';
import { covers } from '../../support/docs/reliability.ts';

const HOUR = 3_600_000;

/** The next times after an instant, to the minute. */
function times(expression: string, timezone: string, after: string, count: number): string[] {
  const cron = createCron(expression, timezone);
  let at = Date.parse(after);
  return Array.from({ length: count }, () => {
    at = cron.nextAfter(at) ?? Number.NaN;
    return new Date(at).toISOString().slice(0, 16);
  });
}

describe('a cron expression', () => {
  it('a cron expression names times of its zone', () => {
    expect(times('30 2 * * *', 'Europe/Berlin', '2027-01-01T12:00Z', 2)).toEqual([
      '2027-01-02T01:30',
      '2027-01-03T01:30',
    ]);
    expect(times('0 9 L * *', 'America/New_York', '2027-03-01T00:00Z', 2)).toEqual([
      '2027-03-31T13:00',
      '2027-04-30T13:00',
    ]);
    expect(times('0 0 * 2 fri#5', 'UTC', '2027-03-01T00:00Z', 2)).toEqual(['2036-02-29T00:00', '2064-02-29T00:00']);
  });

  it.each([
    ['0 3 13 * 5', ['2026-01-02', '2026-01-09', '2026-01-13', '2026-01-16', '2026-01-23']],
    ['30 0 3 L * mon', ['2026-01-05', '2026-01-12', '2026-01-19', '2026-01-26', '2026-01-31']],
    ['0 3 1,15 * 0', ['2026-01-04', '2026-01-11', '2026-01-15', '2026-01-18', '2026-01-25']],
    ['0 3 13 2 5', ['2026-02-06', '2026-02-13', '2026-02-20', '2026-02-27', '2027-02-05']],
    // A field with `*` restricts nothing, and with a step it must match too.
    ['0 3 13 * *', ['2026-01-13', '2026-02-13', '2026-03-13', '2026-04-13', '2026-05-13']],
    ['0 3 ? * 5', ['2026-01-02', '2026-01-09', '2026-01-16', '2026-01-23', '2026-01-30']],
    ['0 3 */2 * 5', ['2026-01-09', '2026-01-23', '2026-02-13', '2026-02-27', '2026-03-13']],
  ])('a cron expression takes either the day of the month or the day of the week: %s', (expression, days) => {
    expect(times(expression, 'UTC', '2026-01-01T12:00Z', 5).map((at) => at.slice(0, 10))).toEqual(days);
  });

  it('a cron expression loses no time when clocks are set forward past it', covers('summer-time', 'I5'), () => {
    expect(times('30 2 * * *', 'Europe/Berlin', '2027-03-27T12:00Z', 2)).toEqual([
      '2027-03-28T01:30',
      '2027-03-29T00:30',
    ]);
    // At a quarter past three, this run is still in the future.
    expect(times('30 2 * * *', 'Europe/Berlin', '2027-03-28T01:15Z', 1)).toEqual(['2027-03-28T01:30']);
    expect(times('30 2 * * *', 'Australia/Lord_Howe', '2027-10-02T12:00Z', 1)).toEqual(['2027-10-02T15:30']);
    // The skipped hour of Greenland is the last one of its day.
    expect(times('30 23 * * *', 'America/Nuuk', '2027-03-27T12:00Z', 2)).toEqual([
      '2027-03-28T01:30',
      '2027-03-29T00:30',
    ]);
  });

  it('a cron expression names once a time that clocks show twice', covers('summer-time', 'I5'), () => {
    expect(times('30 2 * * *', 'Europe/Berlin', '2027-10-30T12:00Z', 2)).toEqual([
      '2027-10-31T00:30',
      '2027-11-01T01:30',
    ]);
    // Asked again within the second hour.
    expect(times('30 2 * * *', 'Europe/Berlin', '2027-10-31T01:10Z', 1)).toEqual(['2027-11-01T01:30']);
  });

  it('a cron expression for every hour runs through an hour that comes twice', covers('summer-time', 'I5'), () => {
    expect(times('*/30 * * * *', 'Europe/Berlin', '2027-10-30T23:40Z', 6)).toEqual([
      '2027-10-31T00:00',
      '2027-10-31T00:30',
      '2027-10-31T01:00',
      '2027-10-31T01:30',
      '2027-10-31T02:00',
      '2027-10-31T02:30',
    ]);
  });

  it('a daily cron expression comes once a day in each zone, at any time', covers('summer-time', 'I5'), () => {
    const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata', 'America/Santiago'];
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: 0, max: 23 }),
        fc.integer({ min: 0, max: 59 }),
        fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2028, 0, 1) }),
        (timezone, hour, minute, from) => {
          const cron = createCron(`${minute} ${hour} * * *`, timezone);
          const zone = createZone(timezone);
          const first = cron.nextAfter(from) ?? 0;
          const second = cron.nextAfter(first) ?? 0;
          expect(first).toBeGreaterThan(from);
          expect(first - from).toBeLessThanOrEqual(26 * HOUR);
          const days = [first, second].map((at) => Math.floor(zone.toLocal(at) / (24 * HOUR)));
          expect((days[1] ?? 0) - (days[0] ?? 0)).toBe(1);
        },
      ),
    );
  });
});
