import { expect, test } from 'vitest';
import { startSandbox } from '../../support/sandbox/sandbox-caller.ts';

const PATH = '/api/imports/products/';
const row = (sku: string, more: object = {}) => ({ sku, name: 'x', ...more });

test('an import creates, updates and refuses row by row, and keeps fields that a row does not name', async () => {
  const { call } = await startSandbox();
  await call('POST', '/api/products/', { body: row('A', { description: 'old', country_of_origin: 'DE' }) });
  const products = [row('A', { name: 'y', country_of_origin: null }), row('B'), { sku: 'C', colour: 1 }, 7, row('B')];
  expect(await call('POST', PATH, { body: { products } })).toMatchObject({
    status: 200,
    body: {
      results: [
        { index: 0, sku: 'A', status: 'updated', id: 1, errors: {} },
        { index: 1, sku: 'B', status: 'created', id: 2, errors: {} },
        {
          index: 2,
          sku: 'C',
          status: 'failed',
          id: null,
          errors: { name: ['This field is required.'], colour: ['Unknown field.'] },
        },
        { index: 3, sku: null, status: 'failed', id: null },
        { index: 4, sku: 'B', status: 'updated', id: 2, errors: {} },
      ],
      created: 1,
      updated: 2,
      failed: 2,
    },
  });
  expect((await call('GET', '/api/products/')).body.results).toMatchObject([
    { sku: 'A', name: 'y', description: 'old', country_of_origin: null },
    { sku: 'B', status: 'DRAFT' },
  ]);
});

test('an import may be a bare array too', async () => {
  const { call } = await startSandbox();
  expect(await call('POST', PATH, { body: [row('A')] })).toMatchObject({ status: 200, body: { created: 1 } });
});

test('an import fails a row with an SKU that exists where it does not upsert', async () => {
  const { call } = await startSandbox({ import: { upserts: false } });
  await call('POST', '/api/products/', { body: row('A') });
  const { body } = await call('POST', PATH, { body: [row('A', { name: 'y' }), row('B')] });
  expect(body['results']).toMatchObject([
    { status: 'failed', errors: { sku: ['product with this sku already exists.'] } },
    { status: 'created' },
  ]);
  expect((await call('GET', '/api/products/')).body.results[0]?.name).toBe('x');
});

test('an import answers less where the settings say so', async () => {
  const summary = await startSandbox({ import: { answer: 'summary' } });
  const body = [row('A'), { sku: 1 }];
  expect(await summary.call('POST', PATH, { body })).toMatchObject({
    status: 200,
    body: { created: 1, updated: 0, failed: 1 },
  });
  const none = await startSandbox({ import: { answer: 'none' } });
  const answer = await none.call('POST', PATH, { body });
  expect([answer.status, answer.body]).toEqual([202, {}]);
  expect(none.sandbox.inspect().organizations.acme?.products).toHaveLength(1);
});

test.each([
  [{}, { products: ['This field is required.'] }],
  [{ products: [] }, { products: ['This list may not be empty.'] }],
  [{ products: {} }, { products: ['Expected a list of items.'] }],
  [{ products: [1], rows: [] }, { rows: ['Unknown field.'] }],
  ['text', { non_field_errors: ['Invalid data. Expected a dictionary, but got str.'] }],
  [{ products: [1, 2, 3] }, { products: ['Ensure this field has no more than 2 elements.'] }],
])('an import of %j is refused as a whole', async (body, errors) => {
  const { call } = await startSandbox({ import: { rowsMax: 2 } });
  const refused = await call('POST', PATH, { body: JSON.stringify(body) });
  expect(refused.status).toBe(400);
  expect(refused.body).toEqual(errors);
});

test('an import counts a write for every row that it wrote, under its SKU', async () => {
  const { call, sandbox } = await startSandbox();
  await call('POST', PATH, { body: [row('A'), row('B'), row('A'), { sku: 'C' }] });
  expect(sandbox.inspect().writes.map(({ naturalKey, count }) => [naturalKey, count])).toEqual([
    ['A', 2],
    ['B', 1],
  ]);
  expect(sandbox.inspect().events[0]?.naturalKey).toBe('A and 3 more');
});

test('an import is done once for two requests with one key where keys are honoured', async () => {
  const { call, sandbox } = await startSandbox({ idempotency: 'honoured' });
  const request = { body: [row('A')], headers: { 'idempotency-key': 'k' } };
  const first = await call('POST', PATH, request);
  expect((await call('POST', PATH, request)).body).toEqual(first.body);
  expect(sandbox.inspect().writes).toMatchObject([{ naturalKey: 'A', count: 1 }]);
});
