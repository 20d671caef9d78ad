import { describe, expect, it } from 'vitest';
import { passportState, STANDINGS, standingOf } from '../../../src/ledger/dashboard/standing.ts';

describe('the standing of a passport', () => {
  it('keeps a passport that is no longer wanted further in its acknowledged state', () => {
    const initialized = standingOf(220);
    expect(initialized).toEqual({
      acknowledged: 'initialized',
      byPerson: false,
      toPublish: true,
      delivery: 'none',
    });
    expect(passportState(initialized, 'present', 'published')).toBe('incomplete');
    expect(passportState(initialized, 'gone', 'published')).toBe('initialized');
    expect(passportState(initialized, 'present', null)).toBe('initialized');
    expect(passportState(null, 'present', 'initialized')).toBe('incomplete');
    expect(passportState(null, 'gone', 'initialized')).toBe('none');
  });

  it('has a number of its own for each combination', () => {
    expect(new Set(STANDINGS.map((number) => JSON.stringify(standingOf(number)))).size).toBe(STANDINGS.length);
  });
});
