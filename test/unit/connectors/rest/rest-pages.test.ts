// Each kind of paging: how it goes on, and what is no proof of the end.

import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { rest } from '../../../../connectors/rest/index.ts';
import { pageAcross } from '../../../../src/sdk/rest/counted-pages.ts';
import { defineRestConnector } from '../../../../src/sdk/rest/rest-connector.ts';
import { idsOf, readFrom, upTo } from '../../../support/rest/read-from.ts';
import type { RestCall } from '../../../support/rest/rest-server.ts';

const ALL = upTo(25);
const rowsOf = (ids: readonly number[]) => ids.map((id) => ({ id, name: `Part ${id}` }));
const ROWS = rowsOf(ALL);

/** Answers with rows by offset and limit. */
const slice = ({ query }: RestCall, rows: readonly object[] = ROWS) => {
  const offset = Number(query.get('offset'));
  return { items: rows.slice(offset, offset + Number(query.get('limit'))), total: rows.length };
};
const paged = ({ query }: RestCall, rows: readonly object[] = ROWS) => {
  const size = Number(query.get('size'));
  const end = Number(query.get('page')) * size;
  return { items: rows.slice(end - size, end), total: rows.length };
};

const OFFSET = {
  get: 'items',
  query: { offset: '{{offset}}', limit: '{{size}}' },
  rows: '$.items',
  page: { by: 'offset', size: 10, total: '$.total' },
};
const OFFSET_ONLY = { ...OFFSET, page: { by: 'offset', size: 10 } };
const PAGE = {
  get: 'items',
  query: { page: '{{page}}', size: '{{size}}' },
  rows: '$.items',
  page: { by: 'page', size: 10, total: '$.total' },
};
const CURSOR = {
  get: 'items',
  rows: '$.items',
  page: { by: 'cursor', cursor: '$.next', query: { cursor: '{{cursor}}' } },
};
const KEYSET = {
  get: 'items',
  query: { limit: '{{size}}' },
  rows: '$.items',
  page: { by: 'keyset', after: '$.id', size: 10, query: { after: '{{after}}' } },
};

/** An error that says that the read is incomplete. */
const fault = (text: string) => ({ code: 'source.unreadable', message: expect.stringContaining(text) });
const of = (calls: readonly RestCall[], name: string) => calls.map(({ query }) => query.get(name));

describe('pages by offset', () => {
  it('reads all pages, which overlap by one row, up to the total', async () => {
    const { rows, error, calls } = await readFrom((call) => ({ body: slice(call) }), OFFSET);
    expect(error).toBeNull();
    expect(idsOf(rows)).toEqual(ALL);
    expect(of(calls, 'offset')).toEqual(['0', '9', '18', '24']);
  });

  it('asks for a page after the last row if there is no total', async () => {
    const { rows, error, calls } = await readFrom((call) => ({ body: slice(call) }), OFFSET_ONLY);
    expect(error).toBeNull();
    expect(idsOf(rows)).toEqual(ALL);
    expect(of(calls, 'offset')).toEqual(['0', '9', '18', '24', '25']);
  });

  it('fails if the server does not obey the offset, and gives the first page again', async () => {
    const { error } = await readFrom(() => ({ body: { items: ROWS.slice(0, 10) } }), OFFSET_ONLY);
    expect(error).toMatchObject(fault('is the page before it again'));
  });

  it.each([0, 1, 2])('reads a list of %i rows', async (count) => {
    for (const stream of [OFFSET, OFFSET_ONLY]) {
      const { rows, error } = await readFrom((call) => ({ body: slice(call, rowsOf(upTo(count))) }), stream);
      expect(error).toBeNull();
      expect(idsOf(rows)).toEqual(upTo(count));
    }
  });

  it('reads pages that the server makes smaller than it was asked for', async () => {
    const { rows, error } = await readFrom(({ query }) => {
      const offset = Number(query.get('offset'));
      return { body: { items: ROWS.slice(offset, offset + 4) } };
    }, OFFSET_ONLY);
    expect(error).toBeNull();
    expect(idsOf(rows)).toEqual(ALL);
  });

  it('fails if the server makes a page so small that it has one row only, which is no end', async () => {
    const { error } = await readFrom(({ query }) => {
      const offset = Number(query.get('offset'));
      return { body: { items: ROWS.slice(offset, offset + (offset >= 9 ? 1 : 10)) } };
    }, OFFSET_ONLY);
    expect(error).toMatchObject(fault('the page before it had only one'));
  });

  it('reads again if a row disappears before the page that is read, so that none is skipped', async () => {
    let left = ROWS;
    const { rows, error, warnings } = await readFrom((call, calls) => {
      const body = slice(call, left);
      // A row of the first page is deleted after that page.
      if (calls.length === 1) left = ROWS.filter(({ id }) => id !== 3);
      return { body };
    }, OFFSET_ONLY);
    expect(error).toBeNull();
    expect(new Set(idsOf(rows))).toEqual(new Set(ALL));
    expect(rows).toHaveLength(25);
    expect(warnings.join()).toContain('was read again from its first page');
  });

  it('takes no row for the last one because others have disappeared, so that the total is smaller', async () => {
    const stream = { ...OFFSET, page: { ...OFFSET.page, end: 'total' } };
    let left = ROWS;
    const { rows, error } = await readFrom((call, calls) => {
      const body = slice(call, left);
      // Rows that are still to be read disappear, and rows that were read are moved by rows before them.
      if (calls.length === 2) left = [...rowsOf([-1]), ...ROWS].filter(({ id }) => ![20, 21, 22, 23].includes(id));
      return { body };
    }, stream);
    expect(error).toBeNull();
    expect(idsOf(rows)).toEqual(expect.arrayContaining([24, 25]));
  });

  it('is not disturbed by rows that are added during the read', async () => {
    let left = ROWS;
    const { rows, error, warnings } = await readFrom((call, calls) => {
      const body = slice(call, left);
      if (calls.length <= 3) left = [...rowsOf([-calls.length]), ...left];
      return { body };
    }, OFFSET_ONLY);
    expect(error).toBeNull();
    expect(idsOf(rows)).toEqual(expect.arrayContaining(ALL));
    expect(new Set(idsOf(rows)).size).toBe(rows.length);
    expect(warnings).toEqual([]);
  });

  it('fails as incomplete if the total is another one than the number of rows', async () => {
    const { error, pages } = await readFrom((call) => ({ body: { ...slice(call), total: 26 } }), OFFSET);
    expect(error).toMatchObject(fault('the server states 26'));
    expect(pages.every((page) => page.cursor === undefined)).toBe(true);
  });

  it.each([
    ['negative', -1],
    ['a text', 'many'],
    ['a truth value', true],
  ])('fails if the total is %s', async (_name, total) => {
    const { error } = await readFrom((call) => ({ body: { ...slice(call), total } }), OFFSET);
    expect(error).toMatchObject(fault(`has ${JSON.stringify(total)} as the number of all rows, in $.total`));
  });

  it('fails if the answers state no total although the stream names one', async () => {
    const { error } = await readFrom((call) => ({ body: { ...slice(call), total: null } }), OFFSET);
    expect(error).toMatchObject(fault('do not state the number of all rows'));
  });

  it('fails if more rows are announced and none comes', async () => {
    const stream = { ...OFFSET, page: { by: 'offset', size: 10, end: 'flag', more: '$.more' } };
    const { error } = await readFrom((call) => ({ body: { items: slice(call, []).items, more: true } }), stream);
    expect(error).toMatchObject(fault('it has no rows, and more rows are announced'));
  });
});

describe('pages by number', () => {
  it('asks for pages of such a size that each has the last row of the page before', async () => {
    const { rows, error, calls } = await readFrom((call) => ({ body: paged(call) }), PAGE);
    expect(error).toBeNull();
    expect(idsOf(rows)).toEqual(ALL);
    expect(calls.map(({ query }) => [query.get('page'), query.get('size')])).toEqual([
      ['1', '10'],
      ['2', '9'],
      ['3', '8'],
      ['3', '10'],
    ]);
  });

  it('requests each page twice if the request does not state its size', async () => {
    const stream = { ...PAGE, query: { page: '{{page}}', size: '10' } };
    const { rows, error, calls } = await readFrom((call) => ({ body: paged(call) }), stream);
    expect(error).toBeNull();
    expect(idsOf(rows)).toEqual(ALL);
    expect(of(calls, 'page')).toEqual(['1', '2', '1', '3', '2']);
  });

  it('finds a row that another one replaces, although the total stays the same, if the pages have a fixed size', async () => {
    const stream = { ...PAGE, query: { page: '{{page}}', size: '10' } };
    let left = ROWS;
    const { rows, error, warnings } = await readFrom((call, calls) => {
      const body = paged(call, left);
      if (calls.length === 1) left = [...ROWS.filter(({ id }) => id !== 3), ...rowsOf([26])];
      return { body };
    }, stream);
    expect(error).toBeNull();
    expect(idsOf(rows)).toEqual(expect.arrayContaining(ALL));
    expect(warnings.join()).toContain('was read again from its first page');
  });

  it('asks for no page behind the total if the last one is not full', async () => {
    const stream = { ...PAGE, page: { ...PAGE.page, end: 'total' } };
    const { rows, error, calls } = await readFrom((call) => ({ body: paged(call, rowsOf(upTo(14))) }), stream);
    expect(error).toBeNull();
    expect(idsOf(rows)).toEqual(upTo(14));
    expect(of(calls, 'page')).toEqual(['1', '2']);
  });

  it.each([
    ['gives the last page again', '{{size}}', () => ({ body: { items: ROWS.slice(10, 20), total: 20 } })],
    ['gives the last page again', '10', () => ({ body: { items: ROWS.slice(10, 20), total: 20 } })],
    ['gives no rows', '10', () => ({ body: { items: [], total: 20 } })],
    ['refuses the page with 400', '10', () => ({ status: 400, body: {} })],
    ['refuses the page with 404', '{{size}}', () => ({ status: 404, body: {} })],
  ])(
    'ends at the total if the last page is full and the server %s behind it (size %s)',
    async (_what, size, behind) => {
      const stream = { ...PAGE, query: { ...PAGE.query, size }, page: { ...PAGE.page, end: 'total' } };
      const { rows, error } = await readFrom((call) => {
        const body = paged(call, rowsOf(upTo(20)));
        return body.items.length === 0 ? behind() : { body };
      }, stream);
      expect(error).toBeNull();
      expect(idsOf(rows)).toEqual(upTo(20));
    },
  );

  it.each(
    upTo(24).flatMap((total) =>
      [PAGE, { ...PAGE, query: { ...PAGE.query, size: '10' } }, OFFSET].map((stream) => [total, stream] as const),
    ),
  )('fails if the total says %i of 25 rows (%#)', async (total, stream) => {
    const { error } = await readFrom(
      (call) => ({ body: { ...(stream === OFFSET ? slice(call) : paged(call)), total } }),
      { ...stream, page: { ...stream.page, end: 'total' } },
    );
    expect(error).toMatchObject({ code: 'source.unreadable' });
  });

  it.each(['{{size}}', '10'])(
    'reads a list that is one full page, if the server gives the last page again (size %s)',
    async (size) => {
      const stream = { ...PAGE, query: { ...PAGE.query, size }, page: { ...PAGE.page, end: 'total' } };
      const { rows, error } = await readFrom((call) => {
        const { items, total } = paged(call, rowsOf(upTo(10)));
        return { body: { items: items.length === 0 ? rowsOf(upTo(10)) : items, total } };
      }, stream);
      expect(error).toBeNull();
      expect(idsOf(rows)).toEqual(upTo(10));
    },
  );

  it('fails if the total is the number of rows of the page', async () => {
    const stream = { ...PAGE, page: { ...PAGE.page, end: 'total' } };
    const { error } = await readFrom((call) => {
      const { items } = paged(call);
      return { body: { items, total: items.length } };
    }, stream);
    expect(error).toMatchObject({ code: 'source.unreadable' });
  });

  it('fails if the server gives fewer rows than it was asked for', async () => {
    const { error } = await readFrom((call) => {
      const first = (Number(call.query.get('page')) - 1) * 5;
      return { body: { items: ROWS.slice(first, first + 5), total: 25 } };
    }, PAGE);
    expect(error).toMatchObject(fault('has 5 of 25 rows'));
  });

  it('fails if the order is not stable, so that pages show rows twice and others never', async () => {
    let shift = 0;
    const { error } = await readFrom((call) => {
      shift += 7;
      return { body: paged(call, [...ROWS.slice(shift % 25), ...ROWS.slice(0, shift % 25)]) };
    }, PAGE);
    expect(error).toMatchObject(fault('was read 3 times'));
  });

  it('takes pages across each row, and as many rows after it as a page can have', () => {
    for (let size = 3; size <= 40; size += 1) {
      for (let position = 0; position < 300; position += 1) {
        const found = pageAcross(position, size);
        const after = ({ start, size: of }: { start: number; size: number }) => start + of - 1 - position;
        const others = upTo(size).map((one) => ({ start: position - (position % one), size: one }));
        const most = Math.max(...others.map(after));
        expect(found === null ? 0 : after(found)).toBe(most);
        if (found !== null) expect([found.start % found.size, found.start <= position]).toEqual([0, true]);
      }
    }
  });
});

describe('pages by key', () => {
  it('reads until a page has no rows', async () => {
    const { rows, error, calls } = await readFrom(({ query }) => {
      const after = Number(query.get('after'));
      return { body: { items: ROWS.filter(({ id }) => id > after).slice(0, 10) } };
    }, KEYSET);
    expect(error).toBeNull();
    expect(idsOf(rows)).toEqual(ALL);
    expect(of(calls, 'after')).toEqual([null, '10', '20', '25']);
  });

  it('fails if the last row has no value that the next page could begin after', async () => {
    const { error } = await readFrom(() => ({ body: { items: [{ id: null }] } }), KEYSET);
    expect(error).toMatchObject(fault('the last row has null at $.id'));
  });

  it('fails if the server does not sort by the value', async () => {
    const { error } = await readFrom(() => ({ body: { items: rowsOf([1, 3, 2]) } }), KEYSET);
    expect(error).toMatchObject(fault('3 follows 1 at $.id'));
  });

  it('fails if two rows have the same value, of which the next page would skip one', async () => {
    const { error } = await readFrom(() => ({ body: { items: rowsOf([1, 2, 2]) } }), KEYSET);
    expect(error).toMatchObject(fault('2 follows 2 at $.id'));
  });

  it('fails if the server does not obey the value, and gives the first page again', async () => {
    const { error } = await readFrom(() => ({ body: { items: rowsOf([1, 2, 3]) } }), KEYSET);
    expect(error).toMatchObject(fault('is the page before it again'));
  });

  it('reads numbers downwards too, and texts in any order', async () => {
    const down = await readFrom(({ query }) => {
      const after = Number(query.get('after') ?? 99);
      return {
        body: {
          items: ROWS.toReversed()
            .filter(({ id }) => id < after)
            .slice(0, 10),
        },
      };
    }, KEYSET);
    expect([down.error, down.rows.length]).toEqual([null, 25]);
    const texts = ['b', 'B', 'a'].map((id) => ({ id }));
    const other = await readFrom(({ query }) => ({ body: { items: query.has('after') ? [] : texts } }), KEYSET);
    expect([other.error, idsOf(other.rows)]).toEqual([null, ['b', 'B', 'a']]);
  });
});

describe('pages by cursor', () => {
  const serve = (tokens: readonly unknown[]) => (_call: RestCall, calls: readonly RestCall[]) => ({
    body: { items: rowsOf([calls.length]), next: tokens[calls.length - 1] },
  });

  it('goes on with a token 0 and with an empty one: only a page without a token is the last one', async () => {
    const { rows, error, calls } = await readFrom(serve([0, '', 'x']), CURSOR);
    expect(error).toBeNull();
    expect(idsOf(rows)).toEqual([1, 2, 3, 4]);
    expect(of(calls, 'cursor')).toEqual([null, '0', '', 'x']);
  });

  it('fails if a token comes again, because its page would', async () => {
    const { error } = await readFrom(serve(['a', 'b', 'a']), CURSOR);
    expect(error).toMatchObject(fault('lead back to a page that was read already'));
  });

  it('fails if the token is no token', async () => {
    const { error } = await readFrom(serve([{ at: 1 }]), CURSOR);
    expect(error).toMatchObject(fault('$.next is {"at":1}'));
  });

  const FLAG = { ...CURSOR, page: { ...CURSOR.page, end: 'flag', more: '$.more' } };
  it('ends by the flag, although the last page has a token', async () => {
    const { rows, error } = await readFrom(
      (_call, calls) => ({ body: { items: rowsOf([calls.length]), next: `t${calls.length}`, more: calls.length < 3 } }),
      FLAG,
    );
    expect(error).toBeNull();
    expect(idsOf(rows)).toEqual([1, 2, 3]);
  });

  it.each([
    ['the flag is absent', { next: 'a' }, '$.more is null in place of true or false'],
    ['the flag is a text', { next: 'a', more: 'false' }, '$.more is "false" in place of true or false'],
    ['more is announced without a token', { more: true }, 'another page is announced, and $.next is null'],
  ])('fails if %s', async (_name, members, text) => {
    const { error } = await readFrom(() => ({ body: { items: ROWS, ...members } }), FLAG);
    expect(error).toMatchObject(fault(text));
  });

  it('fails if a full page has no token, where full pages always have one', async () => {
    const stream = { ...CURSOR, page: { ...CURSOR.page, size: 25 } };
    const { error } = await readFrom(() => ({ body: { items: ROWS } }), stream);
    expect(error).toMatchObject(fault('a full page of 25 rows leads to no other page'));
  });
});

describe('pages by link', () => {
  const LINK = { get: 'items', rows: '$.items', page: { by: 'nextLink', next: '$["@odata.nextLink"]' } };

  it('follows addresses that are whole or relative, as they are', async () => {
    const { rows, error, calls } = await readFrom(({ base, query }, { length }) => {
      const next = length === 1 ? `${base}/items?$skiptoken=a%20b` : length === 2 ? 'items?$skiptoken=2' : undefined;
      return {
        body: {
          items: rowsOf([length]),
          ...(query.has('$skiptoken') || length === 1 ? {} : { broken: 1 }),
          '@odata.nextLink': next,
        },
      };
    }, LINK);
    expect(error).toBeNull();
    expect(idsOf(rows)).toEqual([1, 2, 3]);
    expect(of(calls, '$skiptoken')).toEqual([null, 'a b', '2']);
  });

  it('adds the parameters that the server leaves out of its addresses', async () => {
    const stream = { ...LINK, query: { locale: 'de' }, page: { ...LINK.page, keep: ['locale'] } };
    const { calls } = await readFrom(
      (_call, { length }) => ({
        body: { items: rowsOf([length]), '@odata.nextLink': length === 1 ? '/items?page=2' : null },
      }),
      stream,
    );
    expect(of(calls, 'locale')).toEqual(['de', 'de']);
  });

  it.each([
    ['another server', 'https://evil.example.com/items', 'a link to another server: https://evil.example.com/items'],
    ['no address', '', '$["@odata.nextLink"] is "", which is no address'],
    ['a truth value', true, '$["@odata.nextLink"] is true, which is no address'],
  ])('fails if the address names %s', async (_name, next, text) => {
    const { error } = await readFrom(() => ({ body: { items: ROWS, '@odata.nextLink': next } }), LINK);
    expect(error).toMatchObject(fault(text));
  });

  it.each(['', false, 0])('%j ends the addresses only if `absent` names it', async (end) => {
    const answer: Parameters<typeof readFrom>[0] = (_call, { length }) => ({
      body: { items: rowsOf([length]), '@odata.nextLink': length < 3 ? `/items?page=${length + 1}` : end },
    });
    const { rows, error } = await readFrom(answer, { ...LINK, page: { ...LINK.page, absent: [end] } });
    expect([error, idsOf(rows)]).toEqual([null, [1, 2, 3]]);
    const refused = (await readFrom(answer, LINK)).error;
    expect(refused).toMatchObject(fault('which is no address'));
    expect(refused?.suggestion).toContain(`write \`absent: [${JSON.stringify(end)}]\` into \`page\``);
  });

  it.each(['', 0])('the token %j ends the pages only if `absent` names it', async (end) => {
    const page = { by: 'cursor', cursor: '$.token', query: { c: '{{cursor}}' } };
    const answer: Parameters<typeof readFrom>[0] = (_call, { length }) => ({
      body: { items: rowsOf([length]), token: [`t${length}`, end][length - 1] ?? null },
    });
    const idsWith = async (more: object) => {
      const { rows, error } = await readFrom(answer, { ...LINK, page: { ...page, ...more } });
      return [error, idsOf(rows)];
    };
    expect(await idsWith({ absent: [end] })).toEqual([null, [1, 2]]);
    expect(await idsWith({})).toEqual([null, [1, 2, 3]]);
  });

  it('reads the header Link', async () => {
    const { rows, error } = await readFrom(
      ({ base }, { length }) => ({
        headers:
          length < 3
            ? { link: `<${base}/x>; rel="prev", <${base}/items?p=${length + 1}>; title="a, b"; rel=next` }
            : {},
        body: rowsOf([length]),
      }),
      { get: 'items', page: { by: 'header' } },
    );
    expect(error).toBeNull();
    expect(idsOf(rows)).toEqual([1, 2, 3]);
  });
});

describe('one page', () => {
  const NONE = { get: 'items', rows: '$.items', page: { by: 'none' } };

  it.each([
    ['a next link', { next: '/items?page=2' }, {}, 'has another page in `next`'],
    ['a next link of OData v2', { d: { __next: '/items?page=2' } }, {}, 'has another page in `__next`'],
    ['a flag for more', { meta: { has_more: true } }, {}, 'has 25 rows and $.meta.has_more: true'],
    ['a larger total', { total: 16_000 }, {}, 'has 25 rows and $.total: 16000'],
    ['a larger total in a header', {}, { 'x-total-count': '26' }, 'has 25 rows and the header x-total-count: 26'],
    ['more pages', { page: 1, pages: 3 }, {}, 'has 25 rows and $.pages: 3'],
    ['a header Link', {}, { link: '</items?page=2>; rel="next"' }, 'has another page in the header Link'],
  ])('fails if the answer has %s', async (_name, members, headers, text) => {
    const { error } = await readFrom(() => ({ headers, body: { items: ROWS, ...members } }), NONE);
    expect(error).toMatchObject(fault(text));
  });

  it('fails if the answer has as many rows as the server gives at most', async () => {
    const { error } = await readFrom(() => ({ body: { items: ROWS } }), { ...NONE, page: { by: 'none', size: 25 } });
    expect(error).toMatchObject(fault('has 25 rows, which is a full page'));
  });
});

it('takes no answer for whole because of its numbers of rows, pages and prices that are no more', async () => {
  const body = { items: ROWS, total: 25, page: 1, pages: 1, has_more: false, next: null, data: { total: '199.90' } };
  const { rows, error } = await readFrom(() => ({ body }), { get: 'items', rows: '$.items', page: { by: 'none' } });
  expect([error, idsOf(rows)]).toEqual([null, ALL]);
});

it.each([
  ['an address', { by: 'nextLink', next: '$.nxt' }, { next: '/items?page=2' }, '`next`'],
  ['a token', { by: 'cursor', cursor: '$.token', query: { c: '{{cursor}}' } }, { has_more: true }, '$.has_more: true'],
])('takes no answer without %s for the last one if it says that there are more', async (_name, page, members, text) => {
  const { error } = await readFrom(() => ({ body: { items: ROWS, ...members } }), { ...KEYSET, query: {}, page });
  expect(error).toMatchObject(fault(`the place of the next page is empty, and the answer has ${text}`));
});

it.each(['shortRawPage', 'total'])('names the size of pages that the server gives itself (%s)', async (end) => {
  const stream = { ...PAGE, page: { ...PAGE.page, end } };
  const { error, calls } = await readFrom(() => ({ body: { items: ROWS.slice(0, 5), total: 25 } }), stream);
  expect(error).toMatchObject(fault('has 5 of 25 rows, and a full page has 10 (`page.size`)'));
  expect(calls).toHaveLength(1);
});

it('reads pages with numbers and a flag without a total', async () => {
  const stream = { ...PAGE, page: { by: 'page', size: 10, end: 'flag', more: '$.more' } };
  const { rows, error } = await readFrom((call) => {
    const { items } = paged(call);
    return { body: { items, more: !items.some((item) => item === ROWS[24]) } };
  }, stream);
  expect([error, idsOf(rows)]).toEqual([null, ALL]);
  const { issues = [] } = rest.streamOptions.safeParse({ ...PAGE, page: { by: 'page', size: 10 } }).error ?? {};
  expect(issues).toMatchObject([{ path: ['page', 'total'], message: expect.stringContaining('may be cut off') }]);
});

it('names what the author of a connector has described wrongly', () => {
  const wrong = defineRestConnector({
    id: 'shop',
    title: 'Shop',
    options: z.object({}),
    streamOptions: z.object({}),
    source: () => ({ base: 'https://shop.example.com' }),
    stream: () => ({ get: 'items', page: { by: 'offset', size: 1 } }),
  });
  expect(() => wrong.snapshotEveryMs?.({}, {})).toThrow(
    'The stream of the connector shop is described wrongly: `page.size`:',
  );
});

describe('the order of pages that follow a value', () => {
  /** Gives the rows after a value in an order that the server has itself. */
  const inOrder = (ids: readonly (string | number)[], give: (id: string | number, after: string) => boolean) =>
    readFrom(({ query }) => {
      const after = query.get('after');
      const items = ids.filter((id) => after === null || give(id, after)).map((id) => ({ id }));
      return { body: { items: items.slice(0, 10) } };
    }, KEYSET);
  const byLast = (one: string, other: string) => (one.slice(-1) + one < other.slice(-1) + other ? -1 : 1);
  const texts = ALL.map((id) => `u${String(id).padStart(3, '0')}`);

  it('is not that of texts if the server ignores the sort', async () => {
    const { error } = await inOrder(texts.toSorted(byLast), (id, after) => id > after);
    expect(error).toMatchObject(fault('because "u003" follows "u022" at $.id'));
  });

  it('is not that of the page before if the first row of a page lies before it', async () => {
    const ids = [...ALL.slice(10, 20), ...ALL.slice(0, 10)];
    const { error } = await inOrder(
      ids,
      (id, after) => Number(id) !== Number(after) && Number(after) === 20 && Number(id) < 11,
    );
    expect(error).toMatchObject(fault('because 1 follows 20 at $.id'));
  });

  it.each([
    ['texts', texts],
    ['texts of different lengths', ['a10', 'a9', 'a11']],
    ['letters', ['b', 'c', 'a', 'B', 'ä', '👍1', '👍2']],
    ['days', ['31.12.2025', '01.01.2026', '02.01.2026']],
    ['GUIDs', [2, 1, 3].map((start) => `${start}f2504e0-4f89-11d3-9a0c-0305e82c330${start}`)],
  ])('may be any order of %s that only the server knows', async (_name, ids) => {
    const { rows, error } = await inOrder(ids, (id, after) => ids.indexOf(String(id)) > ids.indexOf(after));
    expect([error, idsOf(rows)]).toEqual([null, ids]);
  });
});

it('reads the connections of GraphQL', async () => {
  const stream = {
    get: 'graphql',
    body: { query: 'query($after: String) { … }', variables: { first: 10 } },
    page: { by: 'graphql', connection: '$.data.products' },
  };
  const { rows, error, calls } = await readFrom((_call, { length }) => {
    const pageInfo = { hasNextPage: length < 2, endCursor: `c${length}` };
    return { body: { data: { products: { nodes: rowsOf([length]), pageInfo } } } };
  }, stream);
  expect(error).toBeNull();
  expect(idsOf(rows)).toEqual([1, 2]);
  expect(calls.map(({ body }) => (body as { variables: object }).variables)).toEqual([
    { first: 10 },
    { first: 10, after: 'c1' },
  ]);
});

it('fails if an answer of GraphQL has errors beside its data, because rows may be missing', async () => {
  const stream = {
    get: 'graphql',
    body: { query: 'query($after: String) { … }' },
    page: { by: 'graphql', connection: '$.data.products' },
  };
  const data = { products: { nodes: ROWS, pageInfo: { hasNextPage: false } } };
  const answer = (errors: unknown) => readFrom(() => ({ body: { data, errors } }), stream);
  const { error } = await answer([{ message: 'stock is down' }]);
  expect(error).toMatchObject(fault('has `errors`, so data may be missing in it: [{"message":"stock is down"}]'));
  expect((await answer([])).error).toBeNull();
});

it('fails at `cap`, because there may be more rows than the server gives', async () => {
  const { error } = await readFrom((call) => ({ body: slice(call) }), { ...OFFSET, cap: 25 });
  expect(error).toMatchObject(fault('has given 25 rows, which is the most that the server gives'));
});

it('fails at `limits.pages`', async () => {
  const options = { limits: { perSecond: 1000, pages: 2 } };
  const base = (call: RestCall) => ({ body: slice(call) });
  const { error } = await readFrom(base, OFFSET, { options });
  expect(error).toMatchObject(fault('has more than 2 pages'));
});

it('reads a row once that comes again on a later page, and says so', async () => {
  const { rows, error, warnings } = await readFrom(
    (_call, { length }) => ({
      body: { items: rowsOf(length === 1 ? [1, 2] : [2, 3]), next: length === 1 ? 'b' : null },
    }),
    CURSOR,
  );
  expect(error).toBeNull();
  expect(idsOf(rows)).toEqual([1, 2, 3]);
  expect(warnings.join()).toContain('One row of items came again on a later page, and was used once');
});

it.each([
  ['keyset', { page: { by: 'keyset', after: '$.id', size: 10, query: { after: '{{after}}' } } }],
  ['offset', { query: { offset: '{{offset}}', limit: '{{size}}' }, page: { by: 'offset', size: 10 } }],
])('fails if different rows on different pages have the same key (%s)', async (_name, stream) => {
  const all = ROWS.map((row) => ({ ...row, sku: [3, 17].includes(row.id) ? 'DUP' : `S-${row.id}` }));
  const { error } = await readFrom(
    ({ query }) => {
      const begin = query.has('offset') ? Number(query.get('offset')) : Number(query.get('after') ?? 0);
      return { body: { items: all.slice(begin, begin + 10) } };
    },
    { ...CURSOR, ...stream },
    { key: ['sku'] },
  );
  expect(error).toMatchObject(fault('two different rows had the key sku "DUP", the later one on page 2: {"id":17'));
});

it('gives both rows with the same key on one page, and none of them twice if the read begins again', async () => {
  const all = [...ROWS.slice(0, 4), { id: 5, name: 'one' }, { id: 5, name: 'other' }];
  let failures = 1;
  const { rows, error } = await readFrom(
    ({ query }) => {
      if (query.has('cursor') && failures-- > 0) return { status: 500 };
      return { body: { items: query.has('cursor') ? rowsOf([7]) : all, next: query.has('cursor') ? null : 'b' } };
    },
    { ...CURSOR, onError: 'restart' },
    { options: { limits: { perSecond: 1000, attempts: 1 } } },
  );
  expect(error).toBeNull();
  expect(idsOf(rows)).toEqual([1, 2, 3, 4, 5, 5, 7]);
});

it('fails if pages come round again with new tokens', async () => {
  const { error, calls } = await readFrom((_call, { length }) => {
    const first = 5 * ((length - 1) % 3);
    return { body: { items: ROWS.slice(first, first + 5), next: `token-${length}` } };
  }, CURSOR);
  expect(error).toMatchObject(fault('The last 100 pages of items have no row that earlier pages did not have'));
  expect(calls).toHaveLength(103);
});

describe('pages without rows amid the list', () => {
  /** Reads pages with ever new tokens, of which these have a row. */
  const readPages = (hasRow: (number: number) => boolean, last: number) =>
    readFrom(
      (_call, { length }) => ({
        body: { items: hasRow(length) ? [{ id: length }] : [], next: length === last ? null : `token-${length}` },
      }),
      CURSOR,
    );

  it('are read, up to 99 of them in a row', async () => {
    const { rows, error } = await readPages((number) => [1, 101, 201].includes(number), 301);
    expect(error).toBeNull();
    expect(idsOf(rows)).toEqual([1, 101, 201]);
  });

  it('are an error if 100 of them follow each other, and another one is announced', async () => {
    const { error, calls } = await readPages((number) => number === 1, 1_000);
    expect(error).toMatchObject(fault('The last 100 pages of items have no rows, and each leads to another one'));
    expect(calls).toHaveLength(101);
  });
});
