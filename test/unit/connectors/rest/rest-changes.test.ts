// Reads of changes: where they begin, and when everything has to be read again.

import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../../src/sdk/index.ts';
import { idsOf, readFrom, withAnswers } from '../../../support/rest/read-from.ts';
import type { RestCall, RestReply } from '../../../support/rest/rest-server.ts';

const DATE = 'Thu, 01 Jan 2026 12:00:00 GMT';
const AT = Date.parse(DATE);
const ITEMS = {
  get: 'items',
  rows: '$.items',
  page: { by: 'none' },
  changes: { by: '$.changed', query: { since: '{{since}}' } },
  reconcile: '7d',
};
const row = (id: number, changed: JsonValue = '2026-01-01T12:00:00Z') => ({ id, changed });
const reply = (rows: readonly object[], headers: Record<string, string> = {}): RestReply => ({
  headers: { date: DATE, ...headers },
  body: { items: rows },
});
const fault = (text: string) => ({ code: 'source.unreadable', message: expect.stringContaining(text) });

/** Reads everything and then the changes, from a server that answers in the same way each time. */
async function readTwice(
  answer: (call: RestCall, calls: readonly RestCall[]) => RestReply,
  stream: object = ITEMS,
  later = stream,
) {
  return await withAnswers(answer, async (read) => {
    const all = await read(stream);
    const changes = await read(later, { mode: 'changes', cursor: all.cursor ?? null });
    return { all, changes };
  });
}

describe('the time from which changes are read', () => {
  it.each<[string, Record<string, string>, number]>([
    ['the header Date of the first answer', {}, AT],
    ['that time less the header Age, for an answer from a cache', { age: '90' }, AT - 90_000],
    ['that time if the header Age is no number of seconds', { age: '1e999' }, AT],
  ])('is %s', async (_name, headers, since) => {
    const { cursor, error } = await readFrom(() => reply([row(1)], headers), ITEMS);
    expect([error, cursor]).toMatchObject([null, { since }]);
  });

  it('is that of the first page, because rows may change while the others are read', async () => {
    const stream = { ...ITEMS, page: { by: 'cursor', cursor: '$.next', query: { c: '{{cursor}}' } } };
    const { cursor } = await readFrom(
      (_call, { length }) => ({
        headers: { date: new Date(AT + length * 60_000).toUTCString() },
        body: { items: [row(length)], next: length === 1 ? 'b' : null },
      }),
      stream,
    );
    expect(cursor).toMatchObject({ since: AT + 60_000 });
  });

  it('is sent less the overlap, in the form and in the zone of the server', async () => {
    const { changes } = await readTwice((call) => reply(call.query.has('since') ? [row(2)] : [row(1)]), {
      ...ITEMS,
      changes: { ...ITEMS.changes, zone: 'Europe/Berlin', format: 'YYYY-MM-DD hh:mm', overlap: '1h' },
    });
    expect(changes.calls[0]?.query.get('since')).toBe('2026-01-01 12:00');
    expect([changes.error, idsOf(changes.rows)]).toEqual([null, [2]]);
  });

  it.each(['', '1', 'yesterday'])('is unknown without a header Date, and the read says so (%s)', async (date) => {
    const { error, pages } = await readFrom(() => ({ headers: { date }, body: { items: [row(1)] } }), ITEMS);
    expect(error).toMatchObject(fault('have no header Date'));
    expect(pages.every(({ cursor }) => cursor === undefined)).toBe(true);
  });

  it('stays where it was until the last page of a read of changes', async () => {
    const stream = { ...ITEMS, page: { by: 'cursor', cursor: '$.next', query: { c: '{{cursor}}' } } };
    const many = (from: number) => Array.from({ length: 600 }, (_, at) => row(from + at));
    const { all, changes } = await readTwice(({ query }) => {
      const isLast = query.has('c') || !query.has('since');
      return {
        headers: { date: DATE },
        body: { items: query.has('since') ? many(query.has('c') ? 600 : 0) : [], next: isLast ? null : 'b' },
      };
    }, stream);
    expect(changes.pages.length).toBeGreaterThan(2);
    for (const { cursor } of changes.pages.slice(0, -1)) expect(cursor).toEqual(all.cursor);
  });
});

describe('a read of changes begins with everything', () => {
  const answer = () => reply([row(1)]);
  it('if the clock of the server was ahead at the read before', async () => {
    const { changes } = await readTwice(({ query }) =>
      query.has('since') ? reply([row(2)]) : reply([row(1)], { date: 'Fri, 02 Jan 2026 12:00:00 GMT' }),
    );
    expect(changes.pages).toEqual([
      {
        rows: [],
        beginAgain:
          'The clock of the server shows 2026-01-01T12:00:00.000Z, and at the last read of items it showed 2026-01-02T12:00:00.000Z, so changes may be missing.',
      },
    ]);
  });

  const basic = (password: string) => ({ by: 'basic', user: 'reader', password });
  it.each([
    ['the header of another tenant', { headers: { 'X-Company': '2' }, auth: basic('a') }, true],
    ['another user', { headers: { 'X-Company': '1' }, auth: { ...basic('a'), user: 'other' } }, true],
    ['another password, but then it goes on', { headers: { 'X-Company': '1' }, auth: basic('b') }, false],
  ])('if the source has %s', async (_name, options, beginsAgain) => {
    const before = { headers: { 'X-Company': '1' }, auth: basic('a') };
    const changes = await withAnswers(answer, async (read) => {
      const { cursor = null } = await read(ITEMS, { options: before });
      return await read(ITEMS, { options, mode: 'changes', cursor });
    });
    expect(changes.error).toBeNull();
    expect(changes.pages.some(({ beginAgain }) => beginAgain !== undefined)).toBe(beginsAgain);
  });

  it('without a read before', async () => {
    const { pages, calls } = await readFrom(answer, ITEMS, { mode: 'changes' });
    expect(pages).toEqual([{ rows: [], beginAgain: 'items was not read completely yet.' }]);
    expect(calls).toEqual([]);
  });

  it.each([
    ['another path', { get: 'parts' }],
    ['another parameter', { query: { active: '1' } }],
    ['another filter of changes', { changes: { ...ITEMS.changes, overlap: '1h' } }],
    ['children', { each: { get: 'items/{{row.id}}', into: 'more' } }],
  ])('if the request has %s than before', async (_name, other) => {
    const { changes } = await readTwice(answer, ITEMS, { ...ITEMS, ...other });
    expect(changes.pages).toEqual([{ rows: [], beginAgain: 'The request of items has changed since its last read.' }]);
    expect(changes.calls).toEqual([]);
  });

  it.each<JsonValue>([{}, 'x', { request: 'x', since: 'y' }, { request: 1, since: 1 }, []])(
    'or fails, if the stored position is none of this connector: %j',
    async (cursor) => {
      const { error } = await readFrom(answer, ITEMS, { mode: 'changes', cursor });
      expect(error).toMatchObject(fault('was not written by this connector'));
    },
  );
});

describe('a server that does not obey the filter', () => {
  it.each<[string, JsonValue]>([
    ['ISO 8601', '2020-01-01T00:00:00Z'],
    ['OData v2', '/Date(1577836800000)/'],
    ['seconds', 1_577_836_800],
    ['milliseconds as text', '1577836800000'],
  ])('is reported if its rows are older than what was asked for: %s', async (_name, changed) => {
    const { changes } = await readTwice(() => reply([row(1, changed)]));
    expect(changes.error).toBeNull();
    expect(changes.warnings.join()).toContain('The server seems not to obey the filter of `changes`');
  });

  it.each<[string, JsonValue]>([
    ['a day before, which another time zone explains', '2025-12-31T13:00:00Z'],
    ['absent', null],
    ['no time', '5'],
  ])('is not suspected if the time is %s', async (_name, changed) => {
    const { changes } = await readTwice(() => reply([row(1, changed)]));
    expect([changes.error, changes.warnings]).toEqual([null, []]);
  });
});

describe('delta links', () => {
  const DELTA = {
    get: 'items',
    rows: '$.items',
    page: { by: 'nextLink', next: '$.next' },
    changes: { deltaLink: '$.delta', gone: { at: '$.removed', key: { id: '$.id' } } },
  };

  it('lead to the changes, with rows that are gone', async () => {
    const { changes } = await readTwice(({ query }) => {
      const delta = query.get('delta');
      if (delta === null) return { body: { items: [row(1)], delta: 'items?delta=1' } };
      return { body: { items: [row(2), { id: 1, removed: {} }], delta: 'items?delta=2' } };
    }, DELTA);
    expect(changes.error).toBeNull();
    expect(changes.rows.map(({ fields, isGone }) => [fields['id'], isGone])).toEqual([
      [2, undefined],
      [1, true],
    ]);
    expect(changes.cursor).toMatchObject({ link: expect.stringMatching(/items\?delta=2$/) });
  });

  it.each([404, 410])('begin again if the server no longer knows them (%i)', async (status) => {
    const { changes } = await readTwice(
      ({ query }) => (query.has('delta') ? { status } : { body: { items: [row(1)], delta: 'items?delta=1' } }),
      DELTA,
    );
    expect(changes.pages).toMatchObject([{ rows: [], beginAgain: expect.stringContaining(String(status)) }]);
  });

  it('that a complete read lacks make the next read complete, with a warning', async () => {
    const { cursor, warnings, error } = await readFrom(() => ({ body: { items: [row(1)] } }), DELTA);
    expect([error, cursor]).toEqual([null, undefined]);
    expect(warnings.join()).toContain('has no delta link, so the next read is complete again');
  });

  it('need tombstones with the key of the stream, because another key would find no record', async () => {
    const { error, calls } = await readFrom(() => ({ body: { items: [] } }), DELTA, { key: ['number'] });
    expect(error).toMatchObject(fault('has the key number, and `changes.gone.key` names id'));
    expect(calls).toEqual([]);
  });

  it('to another server are refused', async () => {
    const { error } = await readFrom(() => ({ body: { items: [row(1)], delta: 'https://evil.example.com/d' } }), DELTA);
    expect(error).toMatchObject(fault('a link to another server'));
  });
});

describe('rows that say that their records are gone', () => {
  const FLAGGED = { ...ITEMS, changes: { ...ITEMS.changes, gone: { at: '$.deleted', key: { id: '$.id' } } } };
  const answerWith = (deleted: JsonValue) => () => reply([row(1), { ...row(2), deleted }]);

  it.each<JsonValue>([0, '', '0', false, 'False', null])('are none with the value %j', async (deleted) => {
    const { all, changes } = await readTwice(answerWith(deleted), FLAGGED);
    expect([all.error, idsOf(all.rows)]).toEqual([null, [1, 2]]);
    expect(changes.rows.map(({ isGone }) => isGone)).toEqual([undefined, undefined]);
  });

  it.each<JsonValue>([1, '1', true, '2026-01-01', {}])('are those with the value %j', async (deleted) => {
    const { all, changes } = await readTwice(answerWith(deleted), FLAGGED);
    expect([all.error, idsOf(all.rows)]).toEqual([null, [1]]);
    expect(changes.rows.map(({ isGone }) => isGone)).toEqual([undefined, true]);
  });

  it('are an error if a complete read has no other rows', async () => {
    const { error } = await readFrom(() => reply([{ id: 1, deleted: 'no' }]), FLAGGED);
    expect(error).toMatchObject(fault('All 1 rows of items have a value at $.deleted'));
  });
});
