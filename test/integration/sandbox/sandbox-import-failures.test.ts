import { request } from 'undici';
import { expect, test } from 'vitest';
import { type RunningSandbox, startSandbox } from '../../support/sandbox/sandbox-caller.ts';
import { endsAtOnce } from '../support/ends-at-once.ts';

const PATH = '/api/imports/products/';
const rows = (...skus: string[]) => ({ body: skus.map((sku) => ({ sku, name: 'x' })) });
const FAULT = { operation: 'product.import', kind: 'partial-import' } as const;

function skusOf({ sandbox }: Pick<RunningSandbox, 'sandbox'>): unknown[] {
  return sandbox.inspect().organizations['acme']?.products.map(({ sku }) => sku) ?? [];
}

test.each([0, 2, 3])('an import that fails answers 500 after %i rows were stored', async (stored) => {
  const running = await startSandbox({ faults: [{ ...FAULT, rows: stored }] });
  const { status, body } = await running.call('POST', PATH, rows('A', 'B', 'C'));
  expect([status, body]).toEqual([500, { detail: 'Internal server error.' }]);
  expect(skusOf(running)).toEqual(['A', 'B', 'C'].slice(0, stored));
  const { writes, unusedFaults } = running.sandbox.statistics();
  expect(writes).toHaveLength(stored);
  expect(unusedFaults).toEqual([]);
});

test('an import that fails counts good rows alone', async () => {
  const running = await startSandbox({ faults: [{ ...FAULT, rows: 2 }] });
  const body = [{ sku: 'A' }, ...rows('B').body, { sku: 'C' }, ...rows('D', 'E').body];
  expect((await running.call('POST', PATH, { body })).status).toBe(500);
  expect(skusOf(running)).toEqual(['B', 'D']);
});

test('an import that fails cuts the connection after its number of rows', async () => {
  const running = await startSandbox({ faults: [{ ...FAULT, rows: 1, ending: 'reset' }] });
  await expect(running.call('POST', PATH, rows('A', 'B'))).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(skusOf(running)).toEqual(['A']);
  expect(running.sandbox.statistics().requests).toEqual({ 'product.import': { reset: 1 } });
});

test('an import that fails never answers after its number of rows, and the sandbox closes at once all the same', async () => {
  const { baseUrl, key, sandbox } = await startSandbox({ faults: [{ ...FAULT, rows: 1, ending: 'silence' }] });
  const unanswered = request(`${baseUrl}${PATH}`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(rows('A', 'B').body),
  });
  const lost = expect(unanswered).rejects.toThrow();
  await expect.poll(() => sandbox.statistics().requests).toEqual({ 'product.import': { unanswered: 1 } });
  expect(skusOf({ sandbox })).toEqual(['A']);
  // A sandbox that closes gives clients two seconds to end their requests.
  expect(await endsAtOnce(sandbox.close())).toBe(true);
  await lost;
});

test('an import that fails leaves a silent connection to the client, which can give up', async () => {
  const { call, baseUrl, key } = await startSandbox({ faults: [{ ...FAULT, rows: 0, ending: 'silence', count: 1 }] });
  const unanswered = request(`${baseUrl}${PATH}`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(rows('A').body),
    headersTimeout: 50,
  });
  await expect(unanswered).rejects.toMatchObject({ code: 'UND_ERR_HEADERS_TIMEOUT' });
  expect((await call('POST', PATH, rows('A'))).status).toBe(200);
});

test('an import fails at its own turn, and no other does', async () => {
  const running = await startSandbox({ faults: [{ ...FAULT, rows: 1, skip: 2, count: 1 }] });
  const statuses: number[] = [];
  for (const sku of ['A', 'B', 'C', 'D']) {
    statuses.push((await running.call('POST', PATH, rows(sku, `${sku}2`))).status);
    await running.call('GET', '/api/products/');
  }
  expect(statuses).toEqual([200, 200, 500, 200]);
  expect(skusOf(running)).toEqual(['A', 'A2', 'B', 'B2', 'C', 'D', 'D2']);
});

test('an import that would fail succeeds with fewer good rows, and the fault waits for another import', async () => {
  const running = await startSandbox({ faults: [{ ...FAULT, rows: 2, count: 1 }] });
  const body = [...rows('A').body, { sku: 'no name' }];
  expect((await running.call('POST', PATH, { body })).status).toBe(200);
  expect(running.sandbox.statistics().unusedFaults).toHaveLength(1);
  expect((await running.call('POST', PATH, rows('B', 'C'))).status).toBe(500);
  expect((await running.call('POST', PATH, rows('D', 'E'))).status).toBe(200);
});

test('an import that fails stores its first rows late where all would be stored late', async () => {
  const running = await startSandbox({ import: { answer: 'later', storesAfterMs: 1000 } });
  running.sandbox.faults.add({ ...FAULT, rows: 1 });
  expect((await running.call('POST', PATH, rows('A', 'B'))).status).toBe(500);
  expect(skusOf(running)).toEqual([]);
  running.clock.advance(1000);
  expect(skusOf(running)).toEqual(['A']);
});

test.each([
  ['answers', 200],
  ['everything', 500],
] as const)('the failure is replayed for its key where it replays %s', async (idempotencyReplays, second) => {
  const { call } = await startSandbox({
    idempotency: 'honoured',
    idempotencyReplays,
    faults: [{ ...FAULT, rows: 1, count: 1 }],
  });
  const sent = { ...rows('A', 'B'), headers: { 'idempotency-key': 'k' } };
  expect((await call('POST', PATH, sent)).status).toBe(500);
  expect((await call('POST', PATH, sent)).status).toBe(second);
});

test('the `skip` of a failing import counts the requests of an earlier rule too', async () => {
  const { call } = await startSandbox({
    faults: [
      { operation: 'product.list', kind: 'status', status: 502, count: 1 },
      { operation: '*', kind: 'status', status: 503, skip: 2, count: 1 },
    ],
  });
  const statuses: number[] = [];
  for (let index = 0; index < 4; index += 1) statuses.push((await call('GET', '/api/products/')).status);
  expect(statuses).toEqual([502, 200, 503, 200]);
});
