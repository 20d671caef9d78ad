import { once } from 'node:events';
import { connect } from 'node:net';
import { request } from 'undici';
import { expect, test } from 'vitest';
import { startSandbox } from '../../support/sandbox/sandbox-caller.ts';

const PATH = '/api/products/';
const product = (sku: string) => ({ body: { sku, name: 'x' } });

test('a fault that resets the connection afterwards keeps the effect of the request', async () => {
  const { call, sandbox } = await startSandbox();
  sandbox.faults.add({ operation: 'product.create', kind: 'reset-after', count: 1 });
  await expect(call('POST', PATH, product('A'))).rejects.toMatchObject({ code: 'ECONNRESET' });
  const snapshot = sandbox.inspect();
  expect(snapshot.organizations.acme?.products).toMatchObject([{ sku: 'A' }]);
  expect(snapshot.requests).toEqual({ 'product.create': { reset: 1 } });
  expect(snapshot.events).toMatchObject([{ operation: 'product.create', ending: 'reset', naturalKey: 'A' }]);
  expect((await call('GET', PATH)).body.count).toBe(1);
});

test('a reset before the effect has no effect', async () => {
  const { call, sandbox } = await startSandbox();
  sandbox.faults.add({ operation: 'product.create', kind: 'reset-before', count: 1 });
  await expect(call('POST', PATH, product('A'))).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(sandbox.inspect().organizations.acme?.products).toEqual([]);
  expect((await call('POST', PATH, product('A'))).status).toBe(201);
});

test('a fault answers a status as often as it was told, then the sandbox works again', async () => {
  const { call, sandbox } = await startSandbox({
    faults: [
      { operation: 'product.create', kind: 'status', status: 503, count: 2 },
      { operation: 'product.create', kind: 'status', status: 409, count: 1 },
    ],
  });
  const statuses: number[] = [];
  for (let index = 0; index < 4; index += 1) statuses.push((await call('POST', PATH, product('A'))).status);
  expect(statuses).toEqual([503, 503, 409, 201]);
  expect(sandbox.inspect().faults.map(({ used }) => used)).toEqual([2, 1]);
});

test('a fault applies only to its operation and to bodies with its text', async () => {
  const { call, sandbox } = await startSandbox();
  sandbox.faults.add({ operation: 'product.create', kind: 'status', status: 500, match: '"B"' });
  expect((await call('POST', PATH, product('A'))).status).toBe(201);
  expect((await call('POST', PATH, product('B'))).status).toBe(500);
  expect((await call('POST', '/api/materials/', { body: { name: 'B' } })).status).toBe(201);
  sandbox.faults.clear();
  expect((await call('POST', PATH, product('B'))).status).toBe(201);
});

test('a fault for every operation applies to each of them', async () => {
  const { call, sandbox } = await startSandbox();
  sandbox.faults.add({ operation: '*', kind: 'status', status: 502 });
  expect((await call('GET', PATH)).status).toBe(502);
  expect((await call('POST', '/api/materials/', { body: {} })).status).toBe(502);
  expect((await call('GET', '/api/nothing/')).status).toBe(404);
});

test('a fault delays a request before its effect, and can have an outcome as well', async () => {
  const { call, clock, sandbox } = await startSandbox();
  sandbox.faults.add({ operation: 'product.create', kind: 'latency', ms: 1000 });
  sandbox.faults.add({ operation: 'product.create', kind: 'reset-after', match: '"B"' });
  const slow = call('POST', PATH, product('A'));
  const doomed = expect(call('POST', PATH, product('B'))).rejects.toThrow();
  await clock.sleepers(2);
  expect(sandbox.inspect().organizations.acme?.products).toEqual([]);
  clock.advance(1000);
  expect((await slow).status).toBe(201);
  await doomed;
  expect(sandbox.inspect().organizations.acme?.products).toHaveLength(2);
});

test('the sandbox refuses a fault that makes no sense', async () => {
  const { sandbox } = await startSandbox();
  expect(() => sandbox.faults.add({ operation: '*', kind: 'status', status: 200 })).toThrow();
});

test('the sandbox counts requests by operation and status, and shows the last ones', async () => {
  const { call, sandbox } = await startSandbox({ eventsMax: 3 });
  await call('POST', PATH, product('A'));
  await call('POST', PATH, product('A'));
  await call('POST', PATH, product('long'.repeat(100)));
  await call('GET', PATH);
  await call('GET', '/api/nothing/', { key: null });
  const { requests, events, writes } = sandbox.inspect();
  expect(requests).toEqual({
    'product.create': { '201': 1, '400': 2 },
    'product.list': { '200': 1 },
    other: { '401': 1 },
  });
  expect(events.map(({ operation, ending }) => [operation, ending])).toEqual([
    ['product.create', 400],
    ['product.list', 200],
    [null, 401],
  ]);
  expect(events[0]?.naturalKey).toHaveLength(200);
  expect(writes).toEqual([{ organization: 'acme', operation: 'product.create', naturalKey: 'A', count: 1 }]);
});

test.each([
  ['none', 0],
  ['done', 1],
] as const)('a fault answers 500 with the effect %s', async (effect, products) => {
  const { call, sandbox } = await startSandbox();
  sandbox.faults.add({ operation: 'product.create', kind: 'status', status: 500, effect });
  expect((await call('POST', PATH, product('A'))).status).toBe(500);
  expect(sandbox.inspect().organizations.acme?.products).toHaveLength(products);
});

test('a fault answers 503 with Retry-After', async () => {
  const { call } = await startSandbox({
    faults: [{ operation: '*', kind: 'status', status: 503, retryAfterSeconds: 7 }],
  });
  expect(await call('GET', PATH)).toMatchObject({ status: 503, headers: { 'retry-after': '7' } });
});

test.each([200, 502])('a fault answers %i with HTML in place of JSON', async (status) => {
  const { call, sandbox } = await startSandbox();
  sandbox.faults.add({ operation: 'product.create', kind: 'html', status, effect: 'done' });
  const answer = await call('POST', PATH, product('A'));
  expect(answer).toMatchObject({ status, headers: { 'content-type': 'text/html; charset=utf-8' } });
  expect(answer.text).toMatch(/^<!doctype html>/);
  expect(sandbox.inspect().organizations.acme?.products).toHaveLength(1);
});

test('a fault breaks an answer off amid its body, after the effect', async () => {
  const { baseUrl, key, sandbox } = await startSandbox();
  sandbox.faults.add({ operation: 'product.create', kind: 'truncate' });
  const answer = await request(`${baseUrl}${PATH}`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(product('A').body),
  });
  expect(answer.statusCode).toBe(201);
  await expect(answer.body.text()).rejects.toThrow();
  const { organizations, requests } = sandbox.inspect();
  expect(organizations.acme?.products).toHaveLength(1);
  expect(requests).toEqual({ 'product.create': { truncated: 1 } });
});

test('a fault sends a body in pieces over its time, and all of it', async () => {
  const { call, clock, sandbox } = await startSandbox();
  sandbox.faults.add({ operation: 'product.list', kind: 'slow-body', ms: 1000, count: 1 });
  const slow = call('GET', PATH);
  for (let piece = 0; piece < 10; piece += 1) {
    await clock.sleepers(1);
    clock.advance(100);
  }
  expect(await slow).toMatchObject({ status: 200, body: { count: 0, results: [] } });
});

test('a fault makes a request take effect twice, which shows in the counts', async () => {
  const { call, sandbox } = await startSandbox();
  await call('POST', PATH, product('A'));
  await call('POST', '/api/materials/', { body: { name: 'Steel' } });
  sandbox.faults.add({ operation: '*', kind: 'duplicate' });
  const item = await call('POST', '/api/bom-items/', { body: { product: 1, material: 1, quantity: 1 } });
  expect(item).toMatchObject({ status: 201, body: { id: 1 } });
  expect((await call('POST', PATH, product('B'))).status).toBe(201);
  const { organizations, writes } = sandbox.inspect();
  expect(organizations.acme?.bomItems).toHaveLength(2);
  expect(organizations.acme?.products).toHaveLength(2);
  expect(writes.find(({ operation }) => operation === 'bom_item.create')?.count).toBe(2);
});

test('the sandbox is out of reach for a while from the first request that an outage hits', async () => {
  const { call, clock, sandbox } = await startSandbox();
  sandbox.faults.add({ operation: '*', kind: 'outage', ms: 1000 });
  clock.advance(5000);
  await expect(call('POST', PATH, product('A'))).rejects.toThrow();
  clock.advance(999);
  await expect(call('GET', PATH)).rejects.toThrow();
  clock.advance(1);
  expect((await call('GET', PATH)).body.count).toBe(0);
});

test('an outage of the sandbox resets every connection, whatever is asked and by whom', async () => {
  const { baseUrl, call, clock, sandbox } = await startSandbox({
    faults: [
      { operation: 'material.create', kind: 'outage', ms: 1000, match: 'Steel' },
      { operation: 'product.create', kind: 'latency', ms: 10, count: 1 },
    ],
  });
  expect((await call('GET', PATH)).status).toBe(200);
  const idle = connect(Number(new URL(baseUrl).port), '127.0.0.1');
  await once(idle, 'connect');
  const idleReset = once(idle, 'error');
  const underWay = expect(call('POST', PATH, product('A'))).rejects.toThrow();
  await clock.sleepers(1);
  await expect(call('POST', '/api/materials/', { body: { name: 'Steel' } })).rejects.toThrow();
  await underWay;
  expect(await idleReset).toMatchObject([{ code: 'ECONNRESET' }]);
  await expect(call('GET', '/api/schema/', { key: null })).rejects.toThrow();
  await expect(call('GET', '/api/nothing/')).rejects.toThrow();
  await expect(call('GET', PATH, { key: 'dpp_wrong' })).rejects.toThrow();
  await expect(call('POST', PATH, { body: 'x', headers: { 'content-type': 'text/plain' } })).rejects.toThrow();
  clock.advance(999);
  await expect(call('GET', PATH)).rejects.toThrow();
  clock.advance(1);
  expect((await call('GET', PATH)).body.count).toBe(1);
  expect(sandbox.statistics()).toMatchObject({
    requests: { 'product.create': { reset: 1 }, 'material.create': { reset: 1 }, other: { reset: 5 } },
    faults: [{ used: 6 }, { used: 1 }],
  });
});

test('the sandbox enters a request as reset that an outage broke off amid its body', async () => {
  const { baseUrl, call, key, sandbox } = await startSandbox();
  sandbox.faults.add({ operation: 'product.list', kind: 'outage', ms: 1000 });
  const socket = connect(Number(new URL(baseUrl).port), '127.0.0.1');
  const head = `POST ${PATH} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\nExpect: 100-continue\r\n`;
  socket.write(`${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n`);
  // The interim answer shows that the server has begun to wait for the body.
  await once(socket, 'data');
  const reset = once(socket, 'error');
  await expect(call('GET', PATH)).rejects.toThrow();
  await reset;
  expect(sandbox.statistics().requests).toEqual({ 'product.list': { reset: 1 }, 'product.create': { reset: 1 } });
});

test('an outage of the sandbox ends early when it has hit its number of requests, or when it is dropped', async () => {
  const { call, sandbox } = await startSandbox();
  sandbox.faults.add({ operation: '*', kind: 'outage', ms: 1000, count: 2 });
  for (let index = 0; index < 2; index += 1) await expect(call('GET', PATH)).rejects.toThrow();
  expect((await call('GET', PATH)).status).toBe(200);
  sandbox.faults.add({ operation: '*', kind: 'outage', ms: 1000 });
  await expect(call('GET', PATH)).rejects.toThrow();
  sandbox.faults.clear();
  expect((await call('GET', PATH)).status).toBe(200);
});

test('the sandbox counts a duplicate as used only where a request took effect twice', async () => {
  const { call, sandbox } = await startSandbox({ idempotency: 'honoured' });
  const duplicate = { operation: '*', kind: 'duplicate', count: 1 } as const;
  const headers = { 'idempotency-key': 'k' };
  await call('POST', '/api/materials/', { body: { name: 'Steel' }, headers });
  sandbox.faults.add(duplicate);
  expect((await call('GET', PATH)).status).toBe(200);
  expect((await call('POST', PATH, { body: {} })).status).toBe(400);
  expect((await call('POST', PATH, { body: '{' })).status).toBe(400);
  expect((await call('POST', PATH, product('A'))).status).toBe(201);
  const replayed = await call('POST', '/api/materials/', { body: { name: 'Steel' }, headers });
  expect(replayed.headers['idempotent-replayed']).toBe('true');
  expect(sandbox.faults.unused()).toEqual([duplicate]);
  await call('POST', '/api/bom-items/', { body: { product: 1, material: 1, quantity: 1 } });
  expect(sandbox.faults.unused()).toEqual([]);
  expect(sandbox.inspect().organizations.acme?.bomItems).toHaveLength(2);
});

test('the sandbox names a duplicate that was dropped amid a request to which it did nothing', async () => {
  const { call, clock, sandbox } = await startSandbox();
  sandbox.faults.add({ operation: '*', kind: 'latency', ms: 10, count: 1 });
  sandbox.faults.add({ operation: '*', kind: 'duplicate' });
  const refused = call('POST', PATH, { body: {} });
  await clock.sleepers(1);
  sandbox.faults.clear();
  clock.advance(10);
  expect((await refused).status).toBe(400);
  expect(sandbox.faults.unused()).toMatchObject([{ kind: 'duplicate' }]);
});

test('two faults without a seed draw different chances, and the same in every run', async () => {
  const run = async () => {
    const rule = { kind: 'status', status: 500, probability: 0.5 } as const;
    const { call } = await startSandbox({
      faults: [
        { ...rule, operation: 'product.list' },
        { ...rule, operation: 'material.list' },
      ],
    });
    const statuses: [number, number][] = [];
    for (let index = 0; index < 20; index += 1) {
      statuses.push([(await call('GET', PATH)).status, (await call('GET', '/api/materials/')).status]);
    }
    return statuses;
  };
  const first = await run();
  expect(first.filter(([products, materials]) => products !== materials).length).toBeGreaterThan(3);
  expect(await run()).toEqual(first);
});

test('faults draw the same chances from the same seed, about as many as the probability says', async () => {
  const run = async (seed: number) => {
    const { call } = await startSandbox({
      faults: [{ operation: 'product.list', kind: 'status', status: 500, probability: 0.3, seed }],
    });
    const statuses: number[] = [];
    for (let index = 0; index < 200; index += 1) statuses.push((await call('GET', PATH)).status);
    return statuses;
  };
  const first = await run(1);
  expect(await run(1)).toEqual(first);
  expect(await run(2)).not.toEqual(first);
  const failures = first.filter((status) => status === 500).length;
  expect(failures).toBeGreaterThan(30);
  expect(failures).toBeLessThan(90);
});

test('the sandbox names the faults that were asked for and never happened, dropped ones included', async () => {
  const { call, sandbox } = await startSandbox();
  const never = { operation: 'material.create', kind: 'reset-before' } as const;
  sandbox.faults.add({ operation: 'product.list', kind: 'status', status: 500 });
  sandbox.faults.add(never);
  await call('GET', PATH);
  expect(sandbox.faults.unused()).toEqual([never]);
  sandbox.faults.clear();
  expect(sandbox.statistics()).toMatchObject({ faults: [], unusedFaults: [never] });
});

test('faults show lists that moved, have no order or lag behind, and change no other answer', async () => {
  const { call, sandbox, clock } = await startSandbox({ pageSize: 2, pageSizeMax: 2 });
  const listed = async (query = '') => (await call('GET', `${PATH}${query}`)).body.results.map(({ sku }) => sku);
  for (const sku of ['A', 'B', 'C', 'D']) await call('POST', PATH, product(sku));
  sandbox.faults.add({ operation: 'product.list', kind: 'move', count: 1 });
  // B comes to the page that was read, and A twice.
  expect([await listed(), await listed('?page=2'), await listed()]).toEqual([
    ['A', 'B'],
    ['D', 'A'],
    ['B', 'C'],
  ]);
  sandbox.faults.clear();
  sandbox.faults.add({ operation: '*', kind: 'lag', ms: 1_000 });
  expect(await listed()).toEqual([]);
  clock.advance(1_000);
  expect(await listed()).toEqual(['A', 'B']);
  sandbox.faults.clear();
  sandbox.faults.add({ operation: 'product.list', kind: 'shuffle', seed: 7 });
  const orders = new Set<string>();
  for (let question = 0; question < 10; question += 1) orders.add((await listed()).join(' '));
  expect(orders.size).toBeGreaterThan(1);
  expect(sandbox.faults.unused()).toEqual([]);
});

test('a fault answers in its own words, as plain text', async () => {
  const { call, sandbox } = await startSandbox();
  const body = 'upstream connect error or disconnect/reset before headers';
  sandbox.faults.add({ operation: 'product.create', kind: 'status', status: 503, effect: 'done', body, count: 1 });
  const answer = await call('POST', PATH, product('A'));
  expect([answer.status, answer.headers['content-type'], answer.text]).toEqual([
    503,
    'text/plain; charset=utf-8',
    body,
  ]);
  expect(sandbox.inspect().organizations['acme']?.products).toMatchObject([{ sku: 'A' }]);
});

test('a fault gives the answer of another request once there is one, and the request takes effect all the same', async () => {
  const { call, sandbox } = await startSandbox();
  sandbox.faults.add({ operation: 'product.create', kind: 'crossed', count: 1 });
  const answers = [];
  for (const sku of ['A', 'B', 'C']) answers.push((await call('POST', PATH, product(sku))).body['sku']);
  expect(answers).toEqual(['A', 'A', 'C']);
  expect(sandbox.inspect().faults.map(({ used }) => used)).toEqual([1]);
  expect(sandbox.inspect().organizations['acme']?.products).toHaveLength(3);
});

test('a fault gives no answer about the same item, and none in place of a refusal', async () => {
  const { call, sandbox } = await startSandbox();
  const results = async (...names: string[]) => {
    const products = names.map((name) => ({ sku: name.slice(0, 1), name, ...(name.endsWith('!') && { gtin: '1' }) }));
    const { body } = await call('POST', '/api/imports/products/', { body: { products } });
    return (body['results'] as { sku: string; status: string }[]).map(({ sku, status }) => `${sku} ${status}`);
  };
  expect(await results('A')).toEqual(['A created']);
  sandbox.faults.add({ operation: 'product.import', kind: 'crossed', count: 1 });
  expect(await results('A!')).toEqual(['A failed']);
  expect(await results('B', 'A')).toEqual(['B created', 'A updated']);
  expect(await results('C', 'D!')).toEqual(['C created', 'D failed']);
  expect(sandbox.inspect().faults).toMatchObject([{ used: 0 }]);
  expect(await results('E')).toEqual(['C created', 'D failed']);
  expect(sandbox.inspect().faults).toMatchObject([{ used: 1 }]);
});

test('the sandbox refuses an existing item in the words and with the status of its settings', async () => {
  const { call } = await startSandbox({ duplicates: { status: 422, detail: 'Nope.' } });
  await call('POST', PATH, product('A'));
  expect(await call('POST', PATH, product('A'))).toMatchObject({ status: 422, body: { detail: 'Nope.' } });
});
