import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../../src/sandbox/storage/database.ts';
import { createIdempotencyRecords } from '../../../src/sandbox/storage/idempotency.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { startSandbox } from '../../support/sandbox/sandbox-caller.ts';

const PATH = '/api/products/';
const body = { sku: 'SKU-1', name: 'Bucket' };
const headers = { 'idempotency-key': 'k-1' };

test('the sandbox replays the first answer to the same request, and has no second effect', async () => {
  const { call, sandbox } = await startSandbox({ idempotency: 'honoured' });
  const first = await call('POST', PATH, { body, headers });
  const second = await call('POST', PATH, { body, headers });
  expect(first.headers['idempotent-replayed']).toBeUndefined();
  expect(second).toMatchObject({ status: 201, headers: { 'idempotent-replayed': 'true' } });
  expect(second.body).toEqual(first.body);
  const snapshot = sandbox.inspect();
  expect(snapshot.organizations.acme?.products).toHaveLength(1);
  expect(snapshot.writes.map(({ count }) => count)).toEqual([1]);
});

test('the sandbox makes one BOM item of a body that is sent twice with one key', async () => {
  const { call, sandbox } = await startSandbox({ idempotency: 'honoured' });
  await call('POST', PATH, { body });
  await call('POST', '/api/materials/', { body: { name: 'Steel' } });
  const item = { product: 1, material: 1, quantity: 1 };
  await call('POST', '/api/bom-items/', { body: item, headers });
  await call('POST', '/api/bom-items/', { body: item, headers });
  expect(sandbox.inspect().organizations.acme?.bomItems).toHaveLength(1);
});

test('the sandbox replays a refusal too, even when the request would succeed by now', async () => {
  const { call } = await startSandbox({ idempotency: 'honoured' });
  const item = { product: 1, component: 2, quantity: 1 };
  const first = await call('POST', '/api/bom-items/', { body: item, headers });
  expect(first.status).toBe(400);
  for (const sku of ['A', 'B']) await call('POST', PATH, { body: { sku, name: 'x' } });
  const second = await call('POST', '/api/bom-items/', { body: item, headers });
  expect(second).toMatchObject({ status: 400, body: first.body, headers: { 'idempotent-replayed': 'true' } });
  const third = await call('POST', '/api/bom-items/', { body: item, headers: { 'idempotency-key': 'k-2' } });
  expect(third.status).toBe(201);
});

test.each([
  ['another body', 'POST', PATH, { ...body, name: 'Pail' }],
  ['the same members in another order', 'POST', PATH, { name: body.name, sku: body.sku }],
  ['another operation', 'POST', '/api/materials/', body],
])('the sandbox answers 422 to a key that comes again with %s', async (_what, method, path, other) => {
  const { call } = await startSandbox({ idempotency: 'honoured' });
  await call('POST', PATH, { body, headers });
  expect(await call(method, path, { body: other, headers })).toMatchObject({
    status: 422,
    body: { detail: 'This Idempotency-Key was used for a different request.' },
  });
});

test('the sandbox answers 422 to a key that comes again for another resource', async () => {
  const { call } = await startSandbox({ idempotency: 'honoured' });
  for (const name of ['A', 'B']) await call('POST', '/api/materials/', { body: { name } });
  expect((await call('PATCH', '/api/materials/1/', { body: { category: 'c' }, headers })).status).toBe(200);
  expect((await call('PATCH', '/api/materials/2/', { body: { category: 'c' }, headers })).status).toBe(422);
});

test('the sandbox answers 409 while the first request with the key is in progress', async () => {
  const { call, clock, sandbox } = await startSandbox({ idempotency: 'honoured' });
  sandbox.faults.add({ operation: 'product.create', kind: 'latency', ms: 5000, count: 1 });
  const slow = call('POST', PATH, { body, headers });
  await clock.sleepers(1);
  expect(await call('POST', PATH, { body, headers })).toMatchObject({
    status: 409,
    body: { detail: 'A request with this Idempotency-Key is still in progress.' },
  });
  clock.advance(5000);
  expect((await slow).status).toBe(201);
  expect(await call('POST', PATH, { body, headers })).toMatchObject({
    status: 201,
    headers: { 'idempotent-replayed': 'true' },
  });
});

test('many duplicates at once have one effect', async () => {
  const { call, sandbox } = await startSandbox({ idempotency: 'honoured' });
  const answers = await Promise.all(Array.from({ length: 40 }, () => call('POST', PATH, { body, headers })));
  const fresh = answers.filter((answer) => answer.status === 201 && !answer.headers['idempotent-replayed']);
  expect(fresh).toHaveLength(1);
  expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
  expect(sandbox.inspect().organizations.acme?.products).toHaveLength(1);
});

test('the sandbox replays the answer that a reset connection swallowed', async () => {
  const { call, sandbox } = await startSandbox({ idempotency: 'honoured' });
  sandbox.faults.add({ operation: 'product.create', kind: 'reset-after', count: 1 });
  await expect(call('POST', PATH, { body, headers })).rejects.toThrow();
  expect(await call('POST', PATH, { body, headers })).toMatchObject({
    status: 201,
    body: { id: 1, sku: 'SKU-1' },
    headers: { 'idempotent-replayed': 'true' },
  });
});

test('the sandbox records neither a throttled request nor a status that stands in front of the platform', async () => {
  const { call, clock, sandbox } = await startSandbox({
    idempotency: 'honoured',
    rateLimit: { kind: 'fixed-window', limit: 1, windowMs: 1000 },
    faults: [{ operation: 'product.create', kind: 'status', status: 503, count: 1 }],
  });
  expect((await call('POST', PATH, { body, headers })).status).toBe(503);
  expect((await call('POST', PATH, { body, headers })).status).toBe(429);
  clock.advance(1000);
  const created = await call('POST', PATH, { body, headers });
  expect(created.status).toBe(201);
  expect(created.headers['idempotent-replayed']).toBeUndefined();
  expect(sandbox.inspect().organizations.acme?.products).toHaveLength(1);
});

test('the sandbox keeps the keys of two organisations apart', async () => {
  const { call, sandbox } = await startSandbox({ idempotency: 'honoured' });
  const other = sandbox.issueKey({ organization: 'rival', name: 'k', scopes: ['write'] }).key;
  await call('POST', PATH, { body, headers });
  const theirs = await call('POST', PATH, { body: { sku: 'X', name: 'Y' }, headers, key: other });
  expect(theirs).toMatchObject({ status: 201, body: { sku: 'X' } });
});

test('the sandbox forgets a key after its retention', async () => {
  const { call, clock } = await startSandbox({ idempotency: 'honoured', idempotencyRetentionMs: 1000 });
  await call('POST', PATH, { body, headers });
  clock.advance(999);
  expect((await call('POST', PATH, { body, headers })).status).toBe(201);
  clock.advance(1);
  expect((await call('POST', PATH, { body, headers })).status).toBe(400);
});

test('the sandbox removes the records whose retention has passed as new ones come in', () => {
  const database = openDatabase({ storage: ':memory:', ids: 'numeric' });
  database.exec("INSERT INTO organization (id, name, plan) VALUES (1, 'acme', 'enterprise')");
  const records = createIdempotencyRecords(database, { retentionMs: 1000, keysMax: null });
  const count = database.prepare('SELECT count(*) FROM idempotency_record').pluck();
  const record = { fingerprint: 'f', status: 201, headers: null, type: null, body: '{}' };
  const add = (key: string, now: number) => records.keep({ organizationId: 1, key }, record, now);
  for (let index = 0; index < 100; index += 1) add(`old-${index}`, 0);
  expect(count.get()).toBe(100);
  for (let index = 0; index < 50; index += 1) add(`new-${index}`, 1000);
  expect(count.get()).toBe(50);
  database.close();
});

test.each(['', 'x'.repeat(256)])('a key of no or too many characters is refused', async (key) => {
  const { call } = await startSandbox({ idempotency: 'honoured' });
  const refused = await call('POST', PATH, { body, headers: { 'idempotency-key': key } });
  expect(refused).toMatchObject({ status: 400, body: { detail: 'Idempotency-Key must have 1 to 255 characters.' } });
});

test.each(['publish-only', 'ignored'] as const)(
  'the sandbox takes no notice of the key where the mode is %s',
  async (idempotency) => {
    const { call } = await startSandbox({ idempotency });
    expect((await call('POST', PATH, { body, headers })).status).toBe(201);
    const second = await call('POST', PATH, { body, headers });
    expect(second).toMatchObject({ status: 400, body: { sku: ['product with this sku already exists.'] } });
  },
);

test('the sandbox forgets a key once as many others came as it remembers, each organisation for itself', async () => {
  const { call, sandbox } = await startSandbox({ idempotency: 'honoured', idempotencyKeysMax: 2 });
  const rival = sandbox.issueKey({ organization: 'rival', name: 'k', scopes: ['write'] }).key;
  const send = (name: string, key?: string) =>
    call('POST', PATH, {
      body: { sku: name, name },
      headers: { 'idempotency-key': name },
      ...(key !== undefined && { key }),
    });
  for (const name of ['a', 'b']) await send(name);
  for (const name of ['x', 'y', 'z']) await send(name, rival);
  expect((await send('a')).headers['idempotent-replayed']).toBe('true');
  await send('c');
  expect((await send('b')).headers['idempotent-replayed']).toBe('true');
  expect(await send('a')).toMatchObject({ status: 400, body: { sku: ['product with this sku already exists.'] } });
});

test('the sandbox replays successes alone where told to', async () => {
  const { call } = await startSandbox({ idempotency: 'honoured', idempotencyReplays: 'successes' });
  const item = { product: 1, component: 2, quantity: 1 };
  expect((await call('POST', '/api/bom-items/', { body: item, headers })).status).toBe(400);
  for (const sku of ['A', 'B']) await call('POST', PATH, { body: { sku, name: 'x' } });
  const second = await call('POST', '/api/bom-items/', { body: item, headers });
  expect(second.status).toBe(201);
  expect(second.headers['idempotent-replayed']).toBeUndefined();
  const third = await call('POST', '/api/bom-items/', { body: item, headers });
  expect(third.headers['idempotent-replayed']).toBe('true');
});

test.each(['none', 'done'] as const)(
  'the sandbox that replays everything replays a server error for ever, whether the effect was %s',
  async (effect) => {
    const { call, sandbox } = await startSandbox({
      idempotency: 'honoured',
      idempotencyReplays: 'everything',
      faults: [{ operation: 'product.create', kind: 'status', status: 500, effect, count: 1 }],
    });
    const statuses = [await call('POST', PATH, { body, headers }), await call('POST', PATH, { body, headers })];
    expect(statuses.map(({ status }) => status)).toEqual([500, 500]);
    expect(sandbox.inspect().organizations.acme?.products).toHaveLength(effect === 'done' ? 1 : 0);
  },
);

test('the sandbox replays the answer behind a server error that came after the effect, where it does not replay errors', async () => {
  const { call } = await startSandbox({
    idempotency: 'honoured',
    faults: [{ operation: 'product.create', kind: 'status', status: 500, effect: 'done', count: 1 }],
  });
  expect((await call('POST', PATH, { body, headers })).status).toBe(500);
  expect(await call('POST', PATH, { body, headers })).toMatchObject({
    status: 201,
    headers: { 'idempotent-replayed': 'true' },
  });
});

test('the sandbox keeps the answer of a key whatever failures come after it, where it replays everything', async () => {
  const { call, sandbox } = await startSandbox({ idempotency: 'honoured', idempotencyReplays: 'everything' });
  const fail = (effect: 'none' | 'done') =>
    sandbox.faults.add({ operation: 'product.create', kind: 'status', status: 500, effect, count: 1 });
  expect((await call('POST', PATH, { body, headers })).status).toBe(201);
  for (const effect of ['none', 'done'] as const) {
    fail(effect);
    expect((await call('POST', PATH, { body: { ...body, name: 'Pail' }, headers })).status).toBe(500);
    fail(effect);
    expect((await call('POST', PATH, { body, headers })).status).toBe(500);
  }
  expect(await call('POST', PATH, { body, headers })).toMatchObject({
    status: 201,
    headers: { 'idempotent-replayed': 'true' },
  });
});

test.each(['in memory', 'in a file'])('the sandbox replays a failure with its headers, %s', async (where) => {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-'));
  onTestFinished(() => removeFolder(folder));
  const { call } = await startSandbox({
    ...(where === 'in a file' && { storage: join(folder, 'sandbox.db') }),
    idempotency: 'honoured',
    idempotencyReplays: 'everything',
    faults: [
      { operation: 'product.create', kind: 'status', status: 503, retryAfterSeconds: 7, count: 1 },
      { operation: 'material.create', kind: 'html', status: 502, effect: 'done', count: 1 },
    ],
  });
  for (const replayed of [undefined, 'true']) {
    const unavailable = await call('POST', PATH, { body, headers });
    expect([unavailable.status, unavailable.headers['retry-after']]).toEqual([503, '7']);
    const page = await call('POST', '/api/materials/', { body: { name: 'x' }, headers: { 'idempotency-key': 'k-2' } });
    expect(page).toMatchObject({ status: 502, headers: { 'content-type': 'text/html; charset=utf-8' } });
    expect(page.text).toMatch(/^<!doctype html>/);
    for (const answer of [unavailable, page]) expect(answer.headers['idempotent-replayed']).toBe(replayed);
  }
});
