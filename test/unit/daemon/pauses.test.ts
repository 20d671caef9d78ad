import { describe, expect, it } from 'vitest';
import { createPauses } from '../../../src/daemon/schedules/run-times.ts';
import { covers } from '../../support/docs/reliability.ts';

const MINUTES = 60;

/** When the pause ends that is on at an instant. */
function end(at: string, from: number, to: number, { timezone = 'UTC', days = null as number[] | null } = {}) {
  const pauses = createPauses([{ fromMinute: from * MINUTES, toMinute: to * MINUTES, timezone, days }]);
  const until = pauses.endOf(Date.parse(at));
  return until === null ? null : new Date(until).toISOString().slice(0, 16);
}

describe('a pause of a source', () => {
  it('a pause of a source is on from its beginning and not at its end', () => {
    expect(end('2027-03-01T08:59Z', 9, 17)).toBeNull();
    expect(end('2027-03-01T09:00Z', 9, 17)).toBe('2027-03-01T17:00');
    expect(end('2027-03-01T16:59Z', 9, 17)).toBe('2027-03-01T17:00');
    expect(end('2027-03-01T17:00Z', 9, 17)).toBeNull();
  });

  it('a pause of a source continues past midnight, and belongs to the day on which it begins', () => {
    const days = [1];
    expect(end('2027-03-01T23:00Z', 22, 6, { days })).toBe('2027-03-02T06:00');
    expect(end('2027-03-02T05:59Z', 22, 6, { days })).toBe('2027-03-02T06:00');
    expect(end('2027-03-02T23:00Z', 22, 6, { days })).toBeNull();
    expect(end('2027-03-01T05:00Z', 22, 6, { days })).toBeNull();
  });

  it('a pause follows the clocks of its zone in the nights when they are set', covers('summer-time', 'I5'), () => {
    const timezone = 'Europe/Berlin';
    expect(end('2027-03-28T00:30Z', 1, 4, { timezone })).toBe('2027-03-28T02:00');
    // It ends at half past two of that night, which does not exist: as long after.
    expect(end('2027-03-28T00:30Z', 1, 2.5, { timezone })).toBe('2027-03-28T01:30');
    // Half past two comes twice: it ends the second time.
    expect(end('2027-10-31T00:45Z', 1, 2.5, { timezone })).toBe('2027-10-31T01:30');
  });

  it('two pauses of a source are one where the second begins when the first ends', () => {
    const timezone = 'UTC';
    const pauses = createPauses([
      { fromMinute: 60, toMinute: 120, timezone, days: null },
      { fromMinute: 120, toMinute: 180, timezone, days: null },
    ]);
    expect(pauses.endOf(Date.parse('2027-03-01T01:30Z'))).toBe(Date.parse('2027-03-01T03:00Z'));
  });

  it('a pause of a source lasts a whole day where it ends at the time at which it begins', () => {
    expect(end('2027-03-01T12:00Z', 0, 0, { days: [1] })).toBe('2027-03-02T00:00');
  });

  it('pauses of a source have no end if they leave no gap, and have one if the gap is missing in one week only', () => {
    const timezone = 'Europe/Berlin';
    const endOf = (at: string, ...pauses: [from: number, to: number][]) =>
      createPauses(pauses.map(([fromMinute, toMinute]) => ({ fromMinute, toMinute, timezone, days: null }))).endOf(
        Date.parse(at),
      );
    const hours = Array.from({ length: 24 }, (_, hour): [number, number] => [hour * 60, ((hour + 1) % 24) * 60]);
    expect(endOf('2027-03-01T12:00Z', [0, 0])).toBe(Number.POSITIVE_INFINITY);
    expect(endOf('2027-03-01T12:00Z', ...hours)).toBe(Number.POSITIVE_INFINITY);
    expect(endOf('2027-03-01T12:00Z', ...hours.slice(1))).toBe(Date.parse('2027-03-01T23:00Z'));
    // Clocks skip the gap from two to three in the night before the 28th.
    expect(endOf('2027-03-27T12:00Z', ...hours.filter((_, hour) => hour !== 2))).toBe(Date.parse('2027-03-29T00:00Z'));
  });
});
