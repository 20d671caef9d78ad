// What `check` shows of a stream.

import { expect, it } from 'vitest';
import { rest } from '../../../../connectors/rest/index.ts';
import { type RestReply, startRestServer } from '../../../support/rest/rest-server.ts';

const STREAM = {
  get: 'items',
  rows: '$.items',
  page: { by: 'none', total: '$.total' },
  changes: { by: '$.changed', query: { since: '{{since}}' }, blindTo: ['changes of parts'] },
  reconcile: '7d',
};

async function check(reply: RestReply, stream: object = STREAM) {
  const server = await startRestServer(() => reply);
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
