import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KeptAlert } from '../../../src/domain/ports/alerts.ts';
import { createAlertBook, TRIES_MAX } from '../../../src/observe/alerts/alert-book.ts';
import type { Holding } from '../../../src/observe/alerts/conditions.ts';

const FAILED: Holding = {
  id: 'run_failed/erp',
  condition: 'run_failed',
  source: 'erp',
  stream: null,
  message: 'It failed.',
};
const DOWN: Holding = { id: 'api_down', condition: 'api_down', source: null, stream: null, message: 'It is away.' };
const TEAM = ['team'];

/** Sends all due notices, and returns them. */
function sent(book: ReturnType<typeof createAlertBook>, now: number, channels = TEAM): string[] {
  return book.due(channels, now).map((notice) => {
    book.ended(notice, null, now);
    return `${notice.channel}: ${notice.alert.id} ${notice.firing ? 'fires' : 'is over'}`;
  });
}

describe('the book of alerts', () => {
  it('the book of alerts sends one notice when an alert fires, and one when it is over', () => {
    const book = createAlertBook({ alerts: [] });
    expect(book.update([FAILED], TEAM, 1000).fired).toHaveLength(1);
    expect(sent(book, 1000)).toEqual(['team: run_failed/erp fires']);
    const again = { ...FAILED, message: 'It failed again.' };
    expect(book.update([again], TEAM, 2000)).toEqual({ fired: [], resolved: [] });
    expect(sent(book, 2000)).toEqual([]);
    expect(book.update([], TEAM, 3000).resolved).toHaveLength(1);
    expect(sent(book, 3000)).toEqual(['team: run_failed/erp is over']);
    expect(sent(book, 4000)).toEqual([]);
  });

  it('the book of alerts knows after a restart what was reported, and reports nothing twice', () => {
    const book = createAlertBook({ alerts: [] });
    book.update([FAILED, DOWN], TEAM, 1000);
    sent(book, 1000);
    const after = createAlertBook({ alerts: structuredClone(book.kept()) });
    after.update([FAILED, DOWN], TEAM, 2000);
    expect(sent(after, 2000)).toEqual([]);
    expect(after.view(TEAM, 2000).map(({ id, since }) => [id, since])).toEqual([
      ['api_down', 1000],
      ['run_failed/erp', 1000],
    ]);
    after.update([DOWN], TEAM, 3000);
    expect(sent(after, 3000)).toEqual(['team: run_failed/erp is over']);
  });

  it('the book of alerts sends no notice of an alert that comes and goes before anybody knew of it', () => {
    const book = createAlertBook({ alerts: [] });
    book.update([DOWN], TEAM, 1000);
    book.update([], TEAM, 2000);
    expect(sent(book, 2000)).toEqual([]);
    book.update([DOWN], TEAM, 3000);
    sent(book, 3000);
    // The alert was over and fires again before the notice of its end was sent.
    book.update([], TEAM, 4000);
    book.update([DOWN], TEAM, 5000);
    expect(sent(book, 5000)).toEqual([]);
  });

  it('the book of alerts tries a failed notice again later and later, and gives up in the end', () => {
    const book = createAlertBook({ alerts: [] });
    book.update([DOWN], TEAM, 0);
    const tries: number[] = [];
    for (let now = 0; now < 4 * 3_600_000; now += 1000) {
      for (const notice of book.due(TEAM, now)) {
        tries.push(now);
        book.ended(notice, 'Nobody answers.', now);
      }
    }
    expect(tries).toHaveLength(TRIES_MAX);
    const waits = tries.slice(1).map((at, index) => at - (tries[index] ?? 0));
    expect(waits).toEqual([5000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000]);
    expect(book.view(TEAM, 4 * 3_600_000)[0]?.notices).toEqual([
      { channel: 'team', state: 'given_up', at: tries.at(-1), error: 'Nobody answers.' },
    ]);
    // No notice of the alert has arrived, so none says that it is over. If it fires again, a notice is tried again.
    book.update([], TEAM, 5 * 3_600_000);
    expect(book.due(TEAM, 5 * 3_600_000)).toEqual([]);
    book.update([DOWN], TEAM, 6 * 3_600_000);
    expect(book.due(TEAM, 6 * 3_600_000)).toHaveLength(1);
  });

  it('the book of alerts tries a failed notice again although the clock was set back by a year', () => {
    const year = 365 * 86_400_000;
    const book = createAlertBook({ alerts: [] });
    book.update([DOWN], TEAM, year);
    for (const notice of book.due(TEAM, year)) book.ended(notice, 'Nobody answers.', year);
    book.update([DOWN], TEAM, 1000);
    expect(sent(book, 1000)).toEqual(['team: api_down fires']);
  });

  it('the book of alerts holds back what is muted until the time is over, and reports it then if it still fires', () => {
    const book = createAlertBook({ alerts: [] });
    book.update([DOWN], TEAM, 0);
    expect(book.mute('api_down', 10_000)).toBe(true);
    expect(sent(book, 5000)).toEqual([]);
    expect(book.view(TEAM, 5000)[0]).toMatchObject({ mutedUntil: 10_000, notices: [{ state: 'none' }] });
    expect(book.nextAt(TEAM, 5000)).toBe(10_000);
    expect(sent(book, 10_000)).toEqual(['team: api_down fires']);
    expect(book.mute('unknown', 1)).toBe(false);
  });

  it('the book of alerts reports to a channel that was added later the alerts that still fire, and none that is over', () => {
    const book = createAlertBook({ alerts: [] });
    book.update([DOWN, FAILED], TEAM, 0);
    sent(book, 0);
    book.update([DOWN], TEAM, 1000);
    sent(book, 1000);
    expect(sent(book, 2000, ['team', 'mail'])).toEqual(['mail: api_down fires']);
  });

  it('the book of alerts forgets what is over for long, but not what has still to be reported', () => {
    const over = (id: string, reported: boolean, since: number): KeptAlert => ({
      ...DOWN,
      id,
      firing: false,
      since,
      mutedUntil: null,
      notices: { team: { reported, tries: 1, nextAt: reported ? 0 : null, at: 0, error: null } },
    });
    const many = Array.from({ length: 300 }, (_, index) => over(`run_failed/s${index}`, false, 300 + index));
    const book = createAlertBook({ alerts: [over('old', false, 0), over('owed', true, 0), ...many] });
    book.update([], TEAM, 8 * 86_400_000);
    expect(book.kept().map(({ id }) => id)).toEqual(['owed']);
    const busy = createAlertBook({ alerts: many });
    busy.update([], TEAM, 1000);
    expect(busy.kept()).toHaveLength(100);
  });

  it('the book of alerts forgets what is over for long and was reported to a channel that the config no longer has', () => {
    const book = createAlertBook({ alerts: [] });
    book.update([FAILED], ['pager'], 0);
    sent(book, 0, ['pager']);
    book.update([], TEAM, 1000);
    expect(book.kept()).toHaveLength(1);
    book.update([], TEAM, 8 * 86_400_000);
    expect(book.kept()).toEqual([]);
  });

  it('the book of alerts never reports the same status to a channel twice, whatever happens in whatever order', () => {
    const step = fc.record({
      holds: fc.boolean(),
      fails: fc.boolean(),
      restarts: fc.boolean(),
      mutes: fc.option(fc.integer({ min: 1, max: 100_000 })),
      passes: fc.integer({ min: 1, max: 100_000 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let book = createAlertBook({ alerts: [] });
        let now = 0;
        let told = false;
        for (const { holds, fails, restarts, mutes, passes } of steps) {
          now += passes;
          book.update(holds ? [DOWN] : [], TEAM, now);
          if (mutes !== null) book.mute('api_down', now + mutes);
          for (const notice of book.due(TEAM, now)) {
            expect(notice.firing).toBe(!told);
            expect(notice.firing).toBe(holds);
            book.ended(notice, fails ? 'Away.' : null, now);
            if (!fails) told = notice.firing;
          }
          if (restarts) book = createAlertBook({ alerts: structuredClone(book.kept()) });
        }
      }),
    );
  });
});
