import { expect, test } from 'vitest';
import { startSandbox } from '../../support/sandbox/sandbox-caller.ts';

const PATH = '/api/imports/products/';
const row = (sku: string, more: object = {}) => ({ sku, name: 'x', ...more });

test('a doubling import stores every new product twice, under two ids, and updates one that exists', async () => {
  const { call, sandbox } = await startSandbox({ import: { doublesNew: true } });
  await call('POST', '/api/products/', { body: row('A') });
  const answer = await call('POST', PATH, { body: [row('A', { name: 'y' }), row('B')] });
  expect(answer.body).toMatchObject({
    results: [
      { sku: 'A', status: 'updated', id: 1 },
      { sku: 'B', status: 'created', id: 2 },
    ],
    created: 1,
    updated: 1,
  });
  expect((await call('GET', '/api/products/')).body.results).toMatchObject([
    { id: 1, sku: 'A', name: 'y' },
    { id: 2, sku: 'B' },
    { id: 3, sku: 'B' },
  ]);
  expect(sandbox.inspect().writes.map(({ naturalKey, count }) => [naturalKey, count])).toContainEqual(['B', 2]);
  // Apart from the import the platform refuses equal SKUs.
  expect((await call('POST', '/api/products/', { body: row('B') })).status).toBe(400);
});

test.each([true, false])(
  'a doubling import makes a second product of an SKU that exists, whether it upserts or not: %s',
  async (upserts) => {
    const { call } = await startSandbox({ import: { doublesExisting: true, upserts } });
    await call('POST', '/api/products/', { body: row('A') });
    const answer = await call('POST', PATH, { body: [row('A', { name: 'y' }), row('B'), row('B')] });
    expect(answer.body).toMatchObject({ created: 3, updated: 0, failed: 0 });
    expect((await call('GET', '/api/products/')).body.results).toMatchObject([
      { id: 1, sku: 'A', name: 'x' },
      { id: 2, sku: 'A', name: 'y' },
      { id: 3, sku: 'B' },
      { id: 4, sku: 'B' },
    ]);
  },
);

test('a doubling import stores late doubles, too', async () => {
  const { call, clock, sandbox } = await startSandbox({
    import: { answer: 'later', storesAfterMs: 1000, doublesNew: true },
  });
  await call('POST', PATH, { body: [row('A')] });
  clock.advance(1000);
  expect(sandbox.inspect().organizations.acme?.products).toHaveLength(2);
});

test.each(['doublesNew', 'doublesExisting'] as const)(
  'the sandbox refuses %s with a file, which keeps SKUs unique',
  async (name) => {
    const options = { storage: '/nowhere/sandbox.db', import: { [name]: true } };
    await expect(startSandbox(options)).rejects.toThrow(new RegExp(`"${name}"[\\s\\S]*a file keeps SKUs unique`));
  },
);
