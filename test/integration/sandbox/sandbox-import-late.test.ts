import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { startSandbox } from '../../support/sandbox/sandbox-caller.ts';

const PATH = '/api/imports/products/';
const row = (sku: string, more: object = {}) => ({ sku, name: 'x', ...more });

async function startLate(answer: 'later' | 'none' | 'summary') {
  const running = await startSandbox({ import: { answer, storesAfterMs: 60_000 } });
  const listed = async () => (await running.call('GET', '/api/products/')).body.results.map(({ sku }) => sku);
  return { ...running, listed };
}

test('a late import answers with the id of a job and nothing else', async () => {
  const { call } = await startSandbox({ import: { answer: 'later' } });
  const answer = await call('POST', PATH, { body: [row('A'), { sku: 1 }] });
  expect(answer.status).toBe(202);
  expect(answer.body).toEqual({ job_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as unknown });
  const other = await call('POST', PATH, { body: [row('B')] });
  expect(other.body['job_id']).not.toBe(answer.body['job_id']);
});

test.each(['later', 'none'] as const)(
  'a late import stores its rows when their time has come, with %s',
  async (answer) => {
    const { call, clock, listed, sandbox } = await startLate(answer);
    expect((await call('POST', PATH, { body: [row('A'), row('B'), { sku: 'C' }] })).status).toBe(202);
    clock.advance(59_999);
    expect([await listed(), sandbox.inspect().writes]).toEqual([[], []]);
    clock.advance(1);
    expect(await listed()).toEqual(['A', 'B']);
    expect(sandbox.statistics().writes).toMatchObject([
      { operation: 'product.import', naturalKey: 'A', count: 1 },
      { operation: 'product.import', naturalKey: 'B', count: 1 },
    ]);
  },
);

test('a late import is shown to people who look into the sandbox, with rows created when their time came', async () => {
  const { call, clock, sandbox } = await startLate('later');
  const products = () => sandbox.inspect().organizations.acme?.products;
  await call('POST', PATH, { body: [row('A')] });
  expect(products()).toEqual([]);
  const due = clock.now() + 60_000;
  clock.advance(90_000);
  expect(products()).toMatchObject([{ sku: 'A', created_at: new Date(due).toISOString() }]);
});

test('a late import counts in a summary what will be stored', async () => {
  const { call, clock, listed } = await startLate('summary');
  await call('POST', '/api/products/', { body: row('A') });
  const body = [row('A', { name: 'y' }), row('B'), row('B'), { sku: 'C' }];
  expect(await call('POST', PATH, { body })).toMatchObject({
    status: 200,
    body: { created: 1, updated: 2, failed: 1 },
  });
  expect(await listed()).toEqual(['A']);
  clock.advance(60_000);
  expect((await call('GET', '/api/products/')).body.results).toMatchObject([{ sku: 'A', name: 'y' }, { sku: 'B' }]);
});

test('late imports are stored in the order of their times, and update products that were created meanwhile', async () => {
  const { call, clock, sandbox } = await startLate('later');
  await call('POST', PATH, { body: [row('A', { name: 'slow' })] });
  sandbox.setImport({ answer: 'later', storesAfterMs: 10_000 });
  await call('POST', PATH, { body: [row('A', { name: 'quick' })] });
  const start = clock.now();
  clock.advance(60_000);
  const after = (ms: number) => new Date(start + ms).toISOString();
  expect((await call('GET', '/api/products/')).body.results).toMatchObject([
    { id: 1, name: 'slow', created_at: after(10_000), updated_at: after(60_000) },
  ]);
});

test('a late import stores no row of a product that was created meanwhile where it does not upsert', async () => {
  const { call, clock, sandbox } = await startSandbox({
    import: { answer: 'later', storesAfterMs: 1000, upserts: false },
  });
  await call('POST', PATH, { body: [row('A'), row('B')] });
  await call('POST', '/api/products/', { body: row('A', { name: 'own' }) });
  clock.advance(1000);
  expect(sandbox.inspect().organizations.acme?.products).toMatchObject([{ sku: 'A', name: 'own' }, { sku: 'B' }]);
});

test('a late import counts as one that a fault can do twice', async () => {
  const { call, clock, sandbox } = await startLate('later');
  sandbox.faults.add({ operation: 'product.import', kind: 'duplicate' });
  await call('POST', PATH, { body: [row('A')] });
  clock.advance(60_000);
  expect(sandbox.statistics()).toMatchObject({ writes: [{ naturalKey: 'A', count: 2 }], unusedFaults: [] });
});

test('a late import stores its due rows before the sandbox works on any request, in a file, too', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-'));
  onTestFinished(() => removeFolder(folder));
  const { call, clock } = await startSandbox({
    storage: join(folder, 'sandbox.db'),
    import: { answer: 'later', storesAfterMs: 1000 },
  });
  await call('POST', PATH, { body: [row('A')] });
  await call('POST', '/api/materials/', { body: { code: 'S', name: 'x' } });
  const addItem = () => call('POST', '/api/bom-items/', { body: { product: 1, material: 1, quantity: 1 } });
  expect((await addItem()).status).toBe(400);
  clock.advance(1000);
  expect((await addItem()).status).toBe(201);
});

test('the sandbox refuses late imports with answers that have their ids', async () => {
  await expect(startSandbox({ import: { answer: 'per-row', storesAfterMs: 1 } })).rejects.toThrow(
    /storesAfterMs[\s\S]*a per-row answer has the ids of stored rows/,
  );
});
