// Requests whose arguments and key stand in the body, as in JSON-RPC.

import { expect, it } from 'vitest';
import { rest } from '../../../../connectors/rest/index.ts';
import type { Exchange } from '../../../../src/sdk/rest/exchange.ts';
import { mergeParts } from '../../../../src/sdk/rest/request-parts.ts';
import { idsOf, readFrom, upTo } from '../../../support/rest/read-from.ts';
import { type RestCall, startRestServer } from '../../../support/rest/rest-server.ts';

const ROWS = upTo(5).map((id) => ({ id }));
const KEY = 'a-secret-key-1';
const AUTH = { by: 'apiKey', body: '$.params.args[1]', key: KEY };
const STREAM = {
  get: 'rpc',
  body: {
    method: 'call',
    params: { args: ['db', null, 'parts', { domain: [['active', '=', true]], limit: '{{size}}' }] },
  },
  rows: '$.result',
  page: {
    by: 'keyset',
    after: '$.id',
    size: 2,
    body: { params: { args: { 3: { domain: [['id', '>', '{{after}}']] } } } },
  },
};

function answer({ body }: RestCall) {
  const { params } = body as { params: { args: [string, string, string, { domain: unknown[][]; limit: number }] } };
  const [, key, , { domain, limit }] = params.args;
  if (key !== KEY) return { body: { error: { message: 'Access denied' } } };
  const after = Number(domain[1]?.[2] ?? 0);
  return { body: { result: ROWS.filter(({ id }) => id > after).slice(0, limit) } };
}

it('a page adds to an argument in a list by its position, and the key stands in the body of each request', async () => {
  const { rows, error, calls } = await readFrom(answer, STREAM, { options: { auth: AUTH } });
  expect(error).toBeNull();
  expect(idsOf(rows)).toEqual(upTo(5));
  expect(calls[1]?.body).toMatchObject({
    params: {
      args: [
        'db',
        KEY,
        'parts',
        {
          domain: [
            ['active', '=', true],
            ['id', '>', 2],
          ],
          limit: 2,
        },
      ],
    },
  });
});

it('a key in the body is in no recording', async () => {
  const server = await startRestServer(answer);
  const recorded: Exchange[] = [];
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const host = { resolvePath: (path: string) => path, log, onExchange: (one: Exchange) => void recorded.push(one) };
  const source = await rest.open(rest.options.parse({ base: server.base, auth: AUTH }), host);
  const target = { name: 'parts', options: rest.streamOptions.parse(STREAM), key: ['id'] };
  await source.check({ ...target, signal: new AbortController().signal });
  await source.close();
  await server.close();
  expect(recorded[0]?.request.body).toContain('"args":["db",null,"parts"');
});

it('parts of a request are joined: lists, objects, elements of lists, and other values', () => {
  expect(mergeParts({ a: [1], b: { c: 1 }, d: 1 }, { a: [2], b: { e: 2 }, d: 2 })).toEqual({
    a: [1, 2],
    b: { c: 1, e: 2 },
    d: 2,
  });
  expect(mergeParts([1, { a: 1 }], { 1: { b: 2 }, 3: 4 })).toEqual([1, { a: 1, b: 2 }, null, 4]);
  expect(mergeParts([1], { a: 1 })).toEqual({ a: 1 });
});

it('a part for a position that the list does not have is refused', () => {
  const page = { ...STREAM.page, body: { params: { args: { 4: { domain: [['id', '>', '{{after}}']] } } } } };
  expect(rest.streamOptions.safeParse({ ...STREAM, page }).error?.issues).toMatchObject([
    {
      path: ['page', 'body', 'params', 'args', '4'],
      message: 'a position from 0 to 3 of the list in `body` of the stream',
    },
  ]);
});
