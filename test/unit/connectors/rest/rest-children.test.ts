// `each`: a request for each row, whose answer becomes a member of the row, or the rows of the stream.

import { describe, expect, it } from 'vitest';
import { idsOf, readFrom, upTo, withAnswers } from '../../../support/rest/read-from.ts';
import type { RestCall, RestReply } from '../../../support/rest/rest-server.ts';

const BOMS = upTo(5).map((id) => ({ id, name: `Bill ${id}` }));
const partsOf = (bom: number) => upTo(3).map((line) => ({ line, part: `P-${bom}-${line}` }));

/** A list of bills of materials, and the parts of each by a request of its own. */
function answer({ path, query }: RestCall): RestReply {
  const [, , id] = path.split('/');
  if (id !== undefined) return { body: { lines: partsOf(Number(id)) } };
  const offset = Number(query.get('offset'));
  return { body: BOMS.slice(offset, offset + Number(query.get('limit') ?? 100)) };
}

const LIST = { get: 'boms', page: { by: 'none' } };
const INTO = { ...LIST, each: { get: 'boms/{{row.id}}', rows: '$.lines', into: 'lines' } };
const ROWS = { ...LIST, each: { get: 'boms/{{row.id}}', rows: '$.lines', parent: { bom: '$.id' } } };
const PAGED = { query: { offset: '{{offset}}', limit: '{{size}}' }, page: { by: 'offset', size: 2 } };
const KEY = ['bom', 'line'];
const linesOf = (rows: readonly { fields: object }[]) => rows.map(({ fields }) => Object.values(fields).join());

describe('each with `into`', () => {
  it('adds the answer to its row', async () => {
    const { rows, error } = await readFrom(answer, INTO);
    expect(error).toBeNull();
    expect(rows.map(({ fields }) => fields)).toEqual(BOMS.map((bom) => ({ ...bom, lines: partsOf(bom.id) })));
  });

  it.each([
    ['absent', {}, ['row.parts']],
    ['null', { lines: null }, undefined],
  ])('adds null if the list of the answer is %s, which is not an empty list', async (_name, body, codes) => {
    const { rows } = await readFrom((call) => (call.path === '/boms' ? answer(call) : { body }), INTO);
    expect(rows[0]?.fields).toEqual({ ...BOMS[0], lines: null });
    expect(rows[0]?.issues?.map(({ code }) => code)).toEqual(codes);
  });

  it.each([404, 410])('gives the row with an issue if its object is gone (%i)', async (status) => {
    const { rows, error } = await readFrom(
      (call) => (call.path === '/boms/2' ? { status, text: 'gone' } : answer(call)),
      INTO,
    );
    expect(error).toBeNull();
    expect(rows.map(({ issues }) => issues?.map(({ code }) => code))).toEqual([
      undefined,
      ['row.parts'],
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('fails if the children of a row cannot be read, and requests no more', async () => {
    const { error, calls } = await readFrom(
      (call) => (call.path === '/boms/2' ? { status: 403, text: 'no' } : answer(call)),
      INTO,
      {
        options: { limits: { perSecond: 1000, concurrent: 2 } },
      },
    );
    expect(error).toMatchObject({
      message: expect.stringContaining('The request for /boms/2 (`each` of items) was refused with 403: no'),
    });
    expect(calls.map(({ path }) => path)).not.toContain('/boms/3');
  });
});

describe('each with rows', () => {
  it('gives the rows of the answers, with values of the row for which they were requested', async () => {
    const { rows, error } = await readFrom(answer, ROWS, { key: KEY });
    expect(error).toBeNull();
    expect(rows).toHaveLength(15);
    expect(rows[4]?.fields).toEqual({ line: 2, part: 'P-2-2', bom: 2 });
  });

  it('gives the children that rows on different pages share with the values of each of these rows', async () => {
    const products = upTo(5).map((id) => ({ id: `A-${id}`, bill: (id % 2) + 1 }));
    const stream = { ...ROWS, ...PAGED, each: { ...ROWS.each, get: 'boms/{{row.bill}}', parent: { product: '$.id' } } };
    const { rows, error } = await readFrom(
      (call) => {
        const offset = Number(call.query.get('offset'));
        return call.path === '/boms' ? { body: products.slice(offset, offset + 2) } : answer(call);
      },
      stream,
      { key: ['product', 'line'] },
    );
    expect(error).toBeNull();
    expect(linesOf(rows)).toEqual(
      products.flatMap(({ id, bill }) => partsOf(bill).map(({ line, part }) => `${line},${part},${id}`)),
    );
  });

  it('gives children once that several rows share, and counts each of these rows', async () => {
    const products = upTo(5).map((id) => ({ id, bill: id === 4 ? 2 : 1 }));
    const stream = {
      ...LIST,
      ...PAGED,
      rows: '$.rows',
      page: { ...PAGED.page, total: '$.total' },
      each: { get: 'boms/{{row.bill}}', rows: '$.lines' },
    };
    const { rows, error } = await readFrom(
      (call) => {
        const offset = Number(call.query.get('offset'));
        return call.path === '/boms' ? { body: { rows: products.slice(offset, offset + 2), total: 5 } } : answer(call);
      },
      stream,
      { key: ['part'] },
    );
    expect(error).toBeNull();
    expect(rows.map(({ fields }) => fields)).toEqual([...partsOf(1), ...partsOf(2)]);
  });

  it('fails if an answer has no list', async () => {
    const { error } = await readFrom(
      (call) => (call.path === '/boms' ? answer(call) : { body: { lines: null } }),
      ROWS,
      { key: KEY },
    );
    expect(error).toMatchObject({
      message: expect.stringMatching(
        /The answer for \/boms\/\d \(`each` of items\) has null in place of a list at \$\.lines\./,
      ),
    });
  });

  it('gives all children of a row once, although the read begins again', async () => {
    let failures = 1;
    const stream = { ...ROWS, ...PAGED, onError: 'restart' };
    const { rows, error, warnings } = await readFrom(
      (call) => (call.path === '/boms/4' && failures-- > 0 ? { status: 500 } : answer(call)),
      stream,
      { key: KEY, options: { limits: { perSecond: 1000, concurrent: 1 } } },
    );
    expect(error).toBeNull();
    expect(linesOf(rows)).toEqual(
      BOMS.flatMap(({ id }) => partsOf(id).map(({ line, part }) => `${line},${part},${id}`)),
    );
    expect(warnings.join()).toContain('was read again from its first page');
  });
});

it.each([
  ['an id that leads out of the path', '..'],
  ['an id that stands for the folder itself', '.'],
  ['an empty id, which would lead to the list', ''],
  ['no id', null],
])('fails for a row with %s', async (_name, id) => {
  const { error, calls } = await readFrom(() => ({ body: [{ id, name: 'x' }] }), ROWS, { key: KEY });
  expect(error).toMatchObject({
    code: 'source.unreadable',
    message: expect.stringContaining('A row of items has no value for {{row.id}} of `each`'),
  });
  expect(calls).toHaveLength(1);
});

describe.each([
  ['into', INTO],
  ['rows', ROWS],
])('an answer for children that is not whole (%s)', (_name, stream) => {
  const readParts = (more: object, each: object = {}) =>
    readFrom(
      (call) => (call.path === '/boms' ? answer(call) : { body: { lines: partsOf(1), ...more } }),
      { ...stream, each: { ...stream.each, ...each } },
      { key: KEY },
    );

  it.each([
    [{ has_more: true }, '$.has_more: true'],
    [{ total: 57 }, '$.total: 57'],
    [{ total_count: '57' }, '$.total_count: "57"'],
    [{ meta: { page: 1, totalPages: 3 } }, '$.meta.totalPages: 3'],
    [{ pageInfo: { hasNextPage: true } }, '$.pageInfo.hasNextPage: true'],
    [{ 'lines@odata.nextLink': 'more' }, '$["lines@odata.nextLink"]'],
  ])('fails for %j', async (more, sign) => {
    const { error } = await readParts(more);
    expect(error).toMatchObject({
      message: expect.stringContaining(
        `(\`each\` of items) has 3 rows, and more rows seem to exist because of ${sign}`,
      ),
    });
  });

  it.each([
    [{ has_more: false, total: 3, pages: 1 }, {}],
    [{ total: 100, pages: 2 }, { size: 10 }],
    [{ total: 100, count: 3 }, { total: '$.count' }],
  ])('is not seen in %j with %j in `each`', async (more, each) => {
    expect((await readParts(more, each)).error).toBeNull();
  });

  it.each([
    [{}, { size: 3 }, 'has 3 rows, which is a full page'],
    [{ count: 4 }, { total: '$.count' }, 'has 3 rows, and the server states 4'],
    [{}, { total: '$.count' }, 'does not state the number of all rows'],
  ])('fails for %j with %j in `each`', async (more, each, message) => {
    expect((await readParts(more, each)).error).toMatchObject({ message: expect.stringContaining(message) });
  });
});

it('sends an id with any signs as a part of one path', async () => {
  const { calls } = await readFrom(
    (call) => (call.path === '/boms' ? { body: [{ id: 'a/b?c#d %é' }] } : { body: { lines: [] } }),
    ROWS,
    {
      key: KEY,
    },
  );
  expect(calls[1]?.path).toBe('/boms/a/b?c#d %é');
  expect(calls[1]?.query.size).toBe(0);
});

it.each([
  ['into', INTO, ['id'], 1],
  ['rows', ROWS, KEY, 3],
])('a row that comes twice in the changes has its children each time (%s)', async (_name, stream, key, count) => {
  const changes = { by: '$.changed', query: { since: '{{since}}' } };
  const paged = {
    ...stream,
    page: { by: 'cursor', cursor: '$.next', query: { cursor: '{{cursor}}' } },
    rows: '$.items',
    changes,
    reconcile: '7d',
  };
  const serve = (call: RestCall) =>
    call.path === '/boms'
      ? {
          body: {
            items: [{ ...BOMS[0], page: call.query.get('cursor') }],
            next: call.query.has('since') && !call.query.has('cursor') ? 'b' : null,
          },
        }
      : answer(call);
  const [first, { rows, error }] = await withAnswers(serve, async (read) => {
    const before = await read(paged, { key });
    return [before, await read(paged, { key, mode: 'changes', cursor: before.cursor ?? null })] as const;
  });
  expect([first.error, error]).toEqual([null, null]);
  expect(rows).toHaveLength(2 * count);
  for (const { fields } of rows) expect(fields).toMatchObject(count === 1 ? { lines: partsOf(1) } : { bom: 1 });
});

it('recognises rows by their key where there are children in them', async () => {
  const { rows } = await readFrom(answer, { ...INTO, ...PAGED });
  expect(idsOf(rows)).toEqual([1, 2, 3, 4, 5]);
});
