import { describe, expect, it } from 'vitest';
import { passportState, STANDINGS, standingOf } from '../../../src/ledger/passports/passport-standing.ts';

describe('the standing of a passport', () => {
  it('the standing of a passport keeps its acknowledged state where the passport is wanted no further', () => {
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

  it('a passport whose initialisation was replaced before it was sent is incomplete, as one that was never staged', () => {
    expect(passportState(standingOf(0), 'present', 'initialized')).toBe('incomplete');
    expect(passportState(standingOf(0), 'gone', 'initialized')).toBe('none');
    expect(passportState(standingOf(0), 'present', null)).toBe('none');
    expect(passportState(standingOf(1), 'present', 'initialized')).toBe('none');
  });

  it('a passport that a person has withdrawn before it was published is withdrawn, unless its delivery needs a person', () => {
    expect(passportState(standingOf(250), 'present', 'published')).toBe('unpublished');
    expect(passportState(standingOf(250), 'gone', null)).toBe('unpublished');
    expect(passportState(standingOf(51), 'present', 'published')).toBe('unpublished');
    expect(passportState(standingOf(252), 'present', 'published')).toBe('blocked');
    expect(passportState(standingOf(351), 'present', 'published')).toBe('published');
  });

  it('the standing of a passport has a number of its own for each combination', () => {
    expect(new Set(STANDINGS.map((number) => JSON.stringify(standingOf(number)))).size).toBe(STANDINGS.length);
  });
});
