import { expect, test } from 'vitest';
import { startSandbox } from '../support/sandbox-caller.ts';

const PATH = '/api/products/';
const product = (sku: string) => ({ body: { sku, name: 'x' } });

test('keeps the effect when it resets the connection afterwards', async () => {
  const { call, sandbox } = await startSandbox();
  sandbox.faults.add({ operation: 'product.create', kind: 'reset-after', count: 1 });
  await expect(call('POST', PATH, product('A'))).rejects.toMatchObject({ code: 'ECONNRESET' });
  const snapshot = sandbox.inspect();
  expect(snapshot.organizations.acme?.products).toMatchObject([{ sku: 'A' }]);
  expect(snapshot.requests).toEqual({ 'product.create': { reset: 1 } });
  expect(snapshot.events).toMatchObject([{ operation: 'product.create', ending: 'reset', naturalKey: 'A' }]);
  expect((await call('GET', PATH)).body.count).toBe(1);
});

test('has no effect when it resets the connection before', async () => {
  const { call, sandbox } = await startSandbox();
  sandbox.faults.add({ operation: 'product.create', kind: 'reset-before', count: 1 });
  await expect(call('POST', PATH, product('A'))).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(sandbox.inspect().organizations.acme?.products).toEqual([]);
  expect((await call('POST', PATH, product('A'))).status).toBe(201);
});

test('answers a status as often as told, then works again', async () => {
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

test('applies a rule only to its operation and to bodies with its text', async () => {
  const { call, sandbox } = await startSandbox();
  sandbox.faults.add({ operation: 'product.create', kind: 'status', status: 500, match: '"B"' });
  expect((await call('POST', PATH, product('A'))).status).toBe(201);
  expect((await call('POST', PATH, product('B'))).status).toBe(500);
  expect((await call('POST', '/api/materials/', { body: { name: 'B' } })).status).toBe(201);
  sandbox.faults.clear();
  expect((await call('POST', PATH, product('B'))).status).toBe(201);
});

test('applies a rule for every operation to each of them', async () => {
  const { call, sandbox } = await startSandbox();
  sandbox.faults.add({ operation: '*', kind: 'status', status: 502 });
  expect((await call('GET', PATH)).status).toBe(502);
  expect((await call('POST', '/api/materials/', { body: {} })).status).toBe(502);
  expect((await call('GET', '/api/nothing/')).status).toBe(404);
});

test('delays a request before its effect, and combines that with an outcome', async () => {
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

test('refuses a rule that makes no sense', async () => {
  const { sandbox } = await startSandbox();
  expect(() => sandbox.faults.add({ operation: '*', kind: 'status', status: 200 })).toThrow();
});

test('counts requests by operation and status, and shows the last ones', async () => {
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
