// What `check` shows of a stream.

import { expect, it } from 'vitest';
import { rest } from '../../../../connectors/rest/index.ts';
import { type RestCall, type RestReply, startRestServer } from '../../../support/rest/rest-server.ts';

const STREAM = {
  get: 'items',
  rows: '$.items',
  page: { by: 'none', total: '$.total' },
  changes: { by: '$.changed', query: { since: '{{since}}' }, blindTo: ['changes of parts'] },
  reconcile: '7d',
};

async function check(reply: RestReply | ((call: RestCall) => RestReply), stream: object = STREAM) {
  const server = await startRestServer(typeof reply === 'function' ? reply : () => reply);
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const source = await rest.open(rest.options.parse({ base: server.base }), { resolvePath: (path) => path, log });
  const target = { name: 'items', options: rest.streamOptions.parse(stream), key: ['id'] };
  try {
    return await source.check({ ...target, signal: new AbortController().signal });
  } finally {
    await source.close();
    await server.close();
  }
}

it('check shows the number of rows and the columns of the first page, and what the changes do not show', async () => {
  const items = [
    { id: 1, changed: '2026-01-01' },
    { id: 2, name: 'x', changed: null },
  ];
  expect(await check({ body: { items, total: 2 } })).toEqual({
    found: '2 of 2 rows on the first page, columns id, changed, name',
    columns: ['id', 'changed', 'name'],
    warnings: ['The changes of items do not show changes of parts.', 'The complete read of every 7 days shows it.'],
  });
});

it('check warns of a key and of a time of changes that the rows do not have', async () => {
  const { warnings } = await check({ body: { items: [{ number: 1 }], total: 1 } });
  expect(warnings).toContain('The rows of items have no id, which `key` names.');
  expect(warnings).toContain('The rows of items have no $.changed, which `changes.by` names.');
});

it('check fails with the answer of the server', async () => {
  await expect(check({ status: 403, text: 'no right to read' })).rejects.toThrow(
    'was refused with 403: no right to read',
  );
});

it('check warns if every row of the first page counts as gone', async () => {
  const stream = { ...STREAM, changes: { ...STREAM.changes, gone: { at: '$.state', key: { id: '$.id' } } } };
  const { warnings } = await check({ body: { items: [{ id: 1, state: 'here' }], total: 1 } }, stream);
  expect(warnings).toContain('Every row on the first page of items counts as gone. Check `changes.gone.at`.');
});

it.each([
  ['links', { by: 'nextLink', next: '$.next' }, 'Only an answer without a next page shows the end of items.'],
  ['tokens', { by: 'cursor', cursor: '$.next', query: { c: '{{cursor}}' } }, 'Only an answer without a next page'],
  [
    'texts that follow each other',
    { by: 'keyset', after: '$.id', size: 10, query: { after: '{{after}}' } },
    'Only the server knows the order of the texts at $.id.',
  ],
])('check warns if nothing contradicts the end of pages with %s', async (_name, page, text) => {
  const reply = { body: { items: [{ id: 'a' }], next: null, total: 1 } };
  const { warnings } = await check(reply, { get: 'items', rows: '$.items', page });
  expect(warnings).toEqual([expect.stringContaining(text)]);
  const counted = { get: 'items', rows: '$.items', page: { ...page, total: '$.total' } };
  expect((await check(reply, counted)).warnings).toBeUndefined();
});

it('check warns of one answer whose length nothing states', async () => {
  const warnings = async (page: object) =>
    (await check({ body: { items: [{ id: 1 }], total: 1 } }, { get: 'items', rows: '$.items', page })).warnings;
  expect(await warnings({ by: 'none' })).toEqual([
    'Only signs of further rows that dpp-sync knows would show that the one answer for items is cut off. If the API gives a certain number of rows at most, declare `page.size` or `page.total`, so that a read that was cut off is noticed.',
  ]);
  expect(await warnings({ by: 'none', size: 2 })).toBeUndefined();
  expect(await warnings({ by: 'none', total: '$.total' })).toBeUndefined();
});

it.each([
  ['page.next', { by: 'nextLink', next: '$.nxt', size: 10 }],
  ['page.cursor', { by: 'cursor', cursor: '$.nxt', size: 10, query: { c: '{{cursor}}' } }],
])('check warns of a member that the first answer does not have (%s)', async (option, page) => {
  const warnings = async (members: object, more: object = {}) => {
    const stream = { get: 'items', rows: '$.items', page: { ...page, ...more } };
    return (await check({ body: { items: [{ id: 1 }], total: 1, ...members } }, stream)).warnings;
  };
  expect(await warnings({ next: null })).toEqual([
    `The first answer for items has no $.nxt, which \`${option}\` names, so a read would end after it. It has items, total, next. If there are further pages, correct \`${option}\`.`,
  ]);
  expect(await warnings({ nxt: null })).toBeUndefined();
  expect(await warnings({}, { total: '$.total' })).toBeUndefined();
});

const BOMS = { get: 'boms', page: { by: 'none', size: 50 } };
const EACH = { get: 'boms/{{row.id}}/lines', rows: '$.lines' };

/** Checks a stream with children. The list has a first row that says that it is gone, and the children of the next one have this answer. */
async function checkChildren(child: RestReply, each: object, changes: object = {}) {
  const asked: string[] = [];
  const found = await check(
    ({ path }) => {
      asked.push(path);
      return path === '/boms' ? { body: [{ id: 6, gone: true }, { id: 7 }, { id: 8 }] } : child;
    },
    { ...BOMS, each: { ...EACH, ...each }, ...changes },
  ).catch((error: Error & { suggestion?: string }) => error);
  return { found, asked };
}

const GONE = {
  changes: { by: '$.at', query: { s: '{{since}}' }, gone: { at: '$.gone', key: { id: '$.id' } } },
};

it('check requests the children of the first row, and shows them', async () => {
  const { found, asked } = await checkChildren({ body: { lines: [{ no: 1, part: 'P' }] } }, { parent: { id: '$.id' } });
  expect(asked).toEqual(['/boms', '/boms/6/lines']);
  expect(found).toEqual({
    found: '3 rows on the first page, columns id, gone; for the first one 1 rows, columns no, part, id',
    columns: ['no', 'part', 'id'],
  });
});

it('check warns of a key that the children do not have', async () => {
  const { found } = await checkChildren({ body: { lines: [{ no: 1 }] } }, {});
  expect(found).toMatchObject({ warnings: ['The rows of items have no id, which `key` names.'] });
});

it('check requests no children of a row that is gone', async () => {
  const { asked } = await checkChildren({ body: { lines: [] } }, { into: 'lines' }, GONE);
  expect(asked).toEqual(['/boms', '/boms/7/lines']);
});

it.each([
  ['404', { status: 404 }, 'The server does not have the object that this row names (404), so its parts are unknown.'],
  [
    'an answer without the list',
    { body: { items: [] } },
    'The answer for the parts of this row has nothing at $.lines, so they are unknown. It has items.',
  ],
])('check warns of %s, which would put each such row into the quarantine', async (_name, child, text) => {
  const { found } = await checkChildren(child, { into: 'lines' });
  expect(found).toMatchObject({
    warnings: [
      `\`each\` of items has requested /boms/6/lines for the member lines of the first row. ${text} If other rows are no exception, correct \`each.get\` and \`each.rows\`.`,
    ],
  });
});

it.each([
  [
    'a refusal',
    { status: 400, text: 'no' },
    'The request for /boms/6/lines (`each` of items) was refused with 400: no',
  ],
  [
    'no list',
    { body: {} },
    'The answer for /boms/6/lines (`each` of items) has no list at $.lines. It has no members.',
  ],
  [
    'no answer',
    { status: 500, text: 'down' },
    'The request for /boms/6/lines (`each` of items) was answered with 500: down',
  ],
  ['a part of a list', { body: { lines: [], next: 'x' } }, '(`each` of items) has another page in `next`'],
])('check fails for %s of the children, as a read would', async (_name, child, text) => {
  const { found } = await checkChildren(child, {}, { onError: 'incomplete' });
  expect(found).toMatchObject({ message: expect.stringContaining(text), code: 'source.unreadable' });
});
