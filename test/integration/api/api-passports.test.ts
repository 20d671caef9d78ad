import { expect, test } from 'vitest';
import type { SentWrite, Write } from '../../../src/domain/ports/target.ts';
import { API_KEY, setUpClient } from './client-setup.ts';
import { answerWith } from './scripted-server.ts';

const PUBLISH_KEY = 'dpp_publish_9876543210';

const passport = (operation: 'passport.init' | 'passport.publish' | 'passport.unpublish'): Write => ({
  operation,
  payload: {},
  refs: {},
  remoteId: 7,
});

test('the writes of a passport are sent without a body or Content-Type, with an idempotency key', async () => {
  const { server, client } = await setUpClient();
  server.script(answerWith(200, { state: 'published' }), answerWith(204), answerWith(201, { id: 'pub-1' }));
  for (const [operation, path] of [
    ['passport.init', '/api/dpp/7/init/'],
    ['passport.publish', '/api/dpp/7/publish/'],
    ['passport.unpublish', '/api/dpp/7/unpublish/'],
  ] as const) {
    const write = client.target.encode(passport(operation));
    const { outcome } = await client.target.send({ operation, idempotencyKey: `k-${operation}`, ...write });
    // An id in the answer is that of a passport or publication, not the product's.
    expect(outcome).toMatchObject({ kind: 'accepted', remoteId: null });
    const request = server.requests.at(-1);
    expect(request).toMatchObject({ method: 'POST', path, body: '' });
    expect(request?.headers).not.toHaveProperty('content-type');
    expect(request?.headers).toMatchObject({ 'idempotency-key': `k-${operation}`, 'content-length': '0' });
  }
});

test('publishing and unpublishing use the key for publishing, everything else the other', async () => {
  const { server, client } = await setUpClient({ publishKey: { read: () => Promise.resolve(PUBLISH_KEY) } });
  server.script(answerWith(200, {}));
  const keyOf = async (operation: SentWrite['operation']) => {
    const members = operation === 'product.import' ? { members: ['A'] } : {};
    await client.target.send({ operation, idempotencyKey: 'k', path: '/x/', body: null, ...members });
    return server.requests.at(-1)?.headers['x-api-key'];
  };
  expect(await keyOf('passport.publish')).toBe(PUBLISH_KEY);
  expect(await keyOf('passport.unpublish')).toBe(PUBLISH_KEY);
  for (const operation of ['passport.init', 'product.import', 'product.create', 'material.update'] as const) {
    expect(await keyOf(operation), operation).toBe(API_KEY);
  }
});

test.each([
  [{ detail: 'The gates are closed.', missing: ['country_of_origin', 'bom_items'] }, 'country_of_origin, bom_items'],
  [{ detail: 'Not ready.', missing: { materials: ['Steel has no origin.'] } }, 'Steel has no origin.'],
  [{ error: { code: 'gate', message: 'Review pending.', details: [{ field: 'review', message: 'Open.' }] } }, 'Open.'],
])('a business rule is reported with its words and what is missing: %j', async (body, words) => {
  const { server, client } = await setUpClient();
  server.script(answerWith(409, body));
  for (const operation of ['passport.init', 'passport.publish', 'passport.unpublish'] as const) {
    const write = client.target.encode(passport(operation));
    const { outcome } = await client.target.send({ operation, idempotencyKey: 'k', ...write });
    expect(outcome).toMatchObject({ kind: 'gated', detail: { status: 409, message: expect.stringContaining(words) } });
  }
});

test('a publication that is still under way is asked again, not blocked', async () => {
  const { server, client } = await setUpClient();
  server.script(answerWith(409, { title: 'A request is outstanding for this Idempotency-Key' }));
  const write = client.target.encode(passport('passport.publish'));
  const { outcome } = await client.target.send({ operation: 'passport.publish', idempotencyKey: 'k', ...write });
  expect(outcome.kind).toBe('in_flight');
});

test('an import sends its exact bytes and settles its members one by one', async () => {
  const { server, client } = await setUpClient();
  const { memberCount, ...write } = client.target.encodeImport([
    { sku: 'A', name: 'Chair' },
    { sku: 'B', name: 'Bench' },
    { sku: 'C', name: '' },
  ]);
  expect(memberCount).toBe(3);
  server.script(
    answerWith(207, {
      results: [
        { sku: 'B', status: 'updated', id: 2 },
        { sku: 'C', errors: { name: ['Blank.'] } },
      ],
    }),
  );
  const sent = { operation: 'product.import', idempotencyKey: 'k', ...write, members: ['A', 'B', 'C'] } as const;
  expect((await client.target.send(sent)).outcome).toMatchObject({
    kind: 'accepted',
    remoteId: null,
    members: [
      { kind: 'unknown' },
      { kind: 'accepted', effect: 'updated', remoteId: 2 },
      { kind: 'refused', detail: { status: null, message: 'name: Blank.', fields: { name: 'Blank.' } } },
    ],
  });
  expect(server.requests[0]).toMatchObject({ method: 'POST', path: '/api/imports/products/', body: write.body });
});

test('an import without the keys of its members is a defect, and nothing is sent', async () => {
  const { server, client } = await setUpClient();
  const sent = {
    operation: 'product.import',
    idempotencyKey: 'k',
    path: '/api/imports/products/',
    body: '[]',
  } as const;
  await expect(client.target.send(sent)).rejects.toThrow(/keys of its members/);
  expect(server.requests).toHaveLength(0);
});
