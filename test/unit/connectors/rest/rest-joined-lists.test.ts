// `[*]` in the path of the rows: the rows of several lists in one answer.

import { describe, expect, it } from 'vitest';
import { idsOf, readFrom, upTo } from '../../../support/rest/read-from.ts';

const linesOf = (...ids: readonly number[]) => ids.map((id) => ({ id }));
const ORDERS = [
  { order: 1, lines: linesOf(1, 2) },
  { order: 2, lines: [] },
  { order: 3, lines: linesOf(3) },
];
const STREAM = { get: 'orders', rows: '$.value[*].lines', page: { by: 'none' } };

it('joins the lists of all elements', async () => {
  const { rows, error } = await readFrom(() => ({ body: { value: ORDERS } }), STREAM);
  expect(error).toBeNull();
  expect(idsOf(rows)).toEqual([1, 2, 3]);
  expect(rows.flatMap(({ issues = [] }) => issues)).toEqual([]);
});

it.each([
  ['no list', { order: 4 }],
  ['null', { order: 4, lines: null }],
])('an element with %s becomes a row with an issue, because its rows are unknown', async (_name, element) => {
  const { rows, error } = await readFrom(() => ({ body: { value: [...ORDERS, element] } }), STREAM);
  expect(error).toBeNull();
  expect(rows.map(({ issues }) => issues?.map(({ code }) => code))).toEqual([
    undefined,
    undefined,
    undefined,
    ['row.parts'],
  ]);
  expect(rows[3]?.fields).toEqual(element);
});

describe('a cut list of an element', () => {
  it.each([
    ['OData v4', '$.value[*].lines', { lines: linesOf(4), 'lines@odata.nextLink': 'more' }],
    ['OData v2', '$.value[*].lines.results', { lines: { results: linesOf(4), __next: 'more' } }],
    ['GraphQL', '$.value[*].lines.nodes', { lines: { nodes: linesOf(4), pageInfo: { hasNextPage: true } } }],
    ['two levels', '$.value[*].parts[*].lines', { parts: [{ lines: linesOf(4), 'lines@odata.nextLink': 'more' }] }],
  ])('is an error (%s)', async (_name, path, element) => {
    const { error } = await readFrom(() => ({ body: { value: [element] } }), { ...STREAM, rows: path });
    expect(error).toMatchObject({
      message: expect.stringContaining('The answer for page 1 of items lacks elements of an inner list of $.value[*]'),
    });
  });
});

it('takes a page as full if it has as many elements of the first list, whatever the number of rows', async () => {
  const page = { by: 'nextLink', next: '$.next', size: 3 };
  const { error } = await readFrom(() => ({ body: { value: ORDERS.with(0, { order: 1, lines: [] }) } }), {
    ...STREAM,
    page,
  });
  expect(error).toMatchObject({ message: expect.stringContaining('a full page of 3 rows leads to no other page') });
});

it('does not take many rows of few elements as a full page', async () => {
  const value = [{ order: 1, lines: linesOf(...upTo(5)) }];
  const { rows, error } = await readFrom(() => ({ body: { value } }), { ...STREAM, page: { by: 'none', size: 3 } });
  expect(error).toBeNull();
  expect(rows).toHaveLength(5);
});

it('reads pages by offset, which counts elements of the first list', async () => {
  const all = upTo(7).map((order) => ({ order, lines: linesOf(10 * order, 10 * order + 1) }));
  const { rows, error } = await readFrom(
    ({ query }) => {
      const offset = Number(query.get('offset'));
      return { body: { value: all.slice(offset, offset + Number(query.get('limit'))) } };
    },
    { ...STREAM, query: { offset: '{{offset}}', limit: '{{size}}' }, page: { by: 'offset', size: 3 } },
  );
  expect(error).toBeNull();
  expect(idsOf(rows)).toEqual(all.flatMap(({ lines }) => lines.map(({ id }) => id)));
});

it.each([
  ['offset', { query: { offset: '{{offset}}', limit: '{{size}}' }, page: { by: 'offset', size: 2 } }],
  ['keyset', { page: { by: 'keyset', after: '$.id', size: 2, query: { after: '{{after}}' } } }],
])('does not take a page whose elements have no rows as the end (%s)', async (_name, stream) => {
  const value = upTo(2).map((order) => ({ order, lines: [] }));
  const { error } = await readFrom(() => ({ body: { value } }), { ...STREAM, ...stream });
  expect(error).toMatchObject({ message: expect.stringContaining('it has elements, and none of them has rows') });
});

describe.each(['into', 'rows'])('lists of an answer for children (%s)', (kind) => {
  /** Reads one bill, whose answer has these groups of lines. */
  const readGroups = (groups: readonly object[], { path = '$.groups[*].lines', more = {} } = {}) =>
    readFrom((call) => ({ body: call.path === '/boms' ? [{ id: 7 }] : { groups } }), {
      get: 'boms',
      page: { by: 'none' },
      each: { get: 'boms/{{row.id}}', rows: path, ...(kind === 'into' ? { into: 'lines' } : {}), ...more },
    });

  it('are joined', async () => {
    const { rows, error } = await readGroups([{ lines: linesOf(1, 2) }, { lines: [] }, { lines: linesOf(3) }]);
    expect(error).toBeNull();
    expect(rows.map(({ fields }) => fields)).toEqual(
      kind === 'into' ? [{ id: 7, lines: linesOf(1, 2, 3) }] : linesOf(1, 2, 3),
    );
    expect(rows.flatMap(({ issues = [] }) => issues)).toEqual([]);
  });

  it('give an issue if an element has none, because its rows are unknown', async () => {
    const { rows, error } = await readGroups([{ lines: linesOf(1) }, { id: 9 }]);
    expect(error).toBeNull();
    expect(rows.at(-1)?.issues?.map(({ code }) => code)).toEqual(['row.parts']);
    expect(rows.length).toBe(kind === 'into' ? 1 : 2);
  });

  it.each([
    ['$.groups[*].lines', { lines: linesOf(4), 'lines@odata.nextLink': 'more' }],
    ['$.groups[*].lines.nodes', { lines: { nodes: linesOf(4), pageInfo: { hasNextPage: true } } }],
    ['$.groups[*].parts[*].lines', { parts: [{ lines: linesOf(4), 'lines@odata.nextLink': 'more' }] }],
  ])('are an error if one of them is cut (%s)', async (path, element) => {
    const { error } = await readGroups([element], { path });
    expect(error).toMatchObject({
      message: expect.stringContaining('The answer for /boms/7 (`each` of items) lacks elements of an inner list'),
    });
  });

  it('are a full page if the first of them has as many elements as `size`', async () => {
    const groups = upTo(3).map((id) => ({ lines: linesOf(2 * id, 2 * id + 1) }));
    expect((await readGroups(groups, { more: { size: 4 } })).error).toBeNull();
    const { error } = await readGroups(groups, { more: { size: 3 } });
    expect(error).toMatchObject({ message: expect.stringContaining('has 3 rows, which is a full page') });
  });
});
