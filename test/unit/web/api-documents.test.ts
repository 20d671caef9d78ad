import { describe, expect, it } from 'vitest';
import { documentOf, ItemDetail, TaskDocument, Why } from '../../../src/operations/documents.ts';

const AT = Date.UTC(2027, 0, 15, 2, 30);
const TEXT = '2027-01-15T02:30:00.000Z';

describe('the documents of the admin API', () => {
  it('have their times in UTC, at every depth, and all other members as they are', () => {
    const item = { key: 'P', dueAt: AT, since: null, timeline: [{ at: AT, what: 'staged' }], desired: { since: AT } };
    expect(documentOf(ItemDetail, { ...item, reason: { code: 'unavailable', message: 'No.', since: AT } })).toEqual({
      ...item,
      dueAt: TEXT,
      timeline: [{ at: TEXT, what: 'staged' }],
      reason: { code: 'unavailable', message: 'No.', since: TEXT },
    });
    const why = { key: 'P', steps: [{ text: 'It waits.', record: AT }] };
    expect(documentOf(Why, why)).toEqual(why);
  });

  it('have the times of a result in UTC, whatever the work was', () => {
    const wait = { since: AT, until: null, askAgainAt: AT, message: 'Wait.' };
    const task = { id: 'a', startedAt: AT, endedAt: AT, progress: { settled: 3, paused: null, apiWait: wait } };
    const guarded = [{ source: 'erp', since: AT, read: 1 }];
    const results: [unknown, unknown][] = [
      [
        { guarded, accepted: null },
        { guarded: [{ ...guarded[0], since: TEXT }], accepted: null },
      ],
      [
        { left: 1, synced: { guarded } },
        { left: 1, synced: { guarded: [{ ...guarded[0], since: TEXT }] } },
      ],
      [
        { id: 'x', mutedUntil: AT },
        { id: 'x', mutedUntil: TEXT },
      ],
      [
        { file: 'b.db', madeAt: AT },
        { file: 'b.db', madeAt: TEXT },
      ],
      [[AT], [AT]],
      ['done', 'done'],
    ];
    for (const [result, document] of results) {
      expect(documentOf(TaskDocument, { ...task, outcome: { ok: true, result } })).toEqual({
        id: 'a',
        startedAt: TEXT,
        endedAt: TEXT,
        progress: { settled: 3, paused: null, apiWait: { ...wait, since: TEXT, askAgainAt: TEXT } },
        outcome: { ok: true, result: document },
      });
    }
  });
});
