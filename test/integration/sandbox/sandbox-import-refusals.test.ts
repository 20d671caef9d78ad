import { expect, test } from 'vitest';
import { z } from 'zod';
import { type Call, type CallAnswer, startSandbox } from '../../support/sandbox/sandbox-caller.ts';

const PATH = '/api/imports/products/';
const row = (sku: string, more: object = {}) => ({ sku, name: 'x', ...more });

test.each([
  [400, { products: ['Ensure this field has no more than 2 elements.'] }],
  [413, { detail: 'Request entity too large: an import has at most 2 rows.' }],
  [422, { products: ['Ensure this field has no more than 2 elements.'] }],
] as const)('too many rows of an import get %i, and none is stored', async (rowsMaxStatus, body) => {
  const { call, sandbox } = await startSandbox({ import: { rowsMax: 2, rowsMaxStatus } });
  for (const rows of [[row('A'), row('B'), row('C')], { products: [row('A'), row('B'), row('C')] }]) {
    const { status, body: said } = await call('POST', PATH, { body: rows });
    expect([status, said]).toEqual([rowsMaxStatus, body]);
  }
  expect(sandbox.inspect().organizations.acme?.products).toEqual([]);
  expect((await call('POST', PATH, { body: [row('A'), row('B')] })).status).toBe(200);
  expect((await call('POST', PATH, { body: {} })).status).toBe(400);
});

test('the sandbox refuses too many bytes of an import with 413, and of nothing else', async () => {
  const body = JSON.stringify([row('Ä')]);
  const bytesMax = Buffer.byteLength(body);
  const { call, sandbox } = await startSandbox({ import: { bytesMax } });
  const refused = await call('POST', PATH, { body: body.replace('"x"', '"xy"') });
  expect([refused.status, refused.body]).toEqual([413, { detail: 'Request entity too large.' }]);
  expect(sandbox.inspect().organizations.acme?.products).toEqual([]);
  expect((await call('POST', PATH, { body })).status).toBe(200);
  expect((await call('POST', '/api/products/', { body: row('B'.repeat(bytesMax)) })).status).toBe(201);
});

test('the sandbox refuses too many bytes of an import with the page of an nginx in front of the platform', async () => {
  const { call } = await startSandbox({ import: { bytesMax: 10, bytesMaxAnswer: 'nginx' }, errors: 'problem' });
  const refused = await call('POST', PATH, { body: [row('A')] });
  expect(refused).toMatchObject({ status: 413, headers: { 'content-type': 'text/html' } });
  expect(refused.text).toMatch(/^<html>\r\n<head><title>413 Request Entity Too Large<\/title>[\s\S]*nginx/);
});

const BAD = { sku: ['This field may not be null.'] };

test.each([
  ['refuses-all', { detail: 'Invalid input.' }, { detail: 'Invalid input.' }],
  ['refuses-all-named', [{}, BAD, {}, { name: ['This field is required.'] }], undefined],
] as const)('an import with bad rows is refused as a whole, with %s', async (badRow, bare, wrapped) => {
  const { call, sandbox } = await startSandbox({ import: { badRow } });
  const rows = [row('A'), { ...row('B'), sku: null }, row('C'), { sku: 'D' }];
  const answers: CallAnswer[] = [];
  for (const body of [rows, { products: rows }]) answers.push(await call('POST', PATH, { body }));
  expect(answers.map(({ status, body }) => [status, body])).toEqual([
    [400, bare],
    [400, wrapped ?? { products: bare }],
  ]);
  expect(sandbox.inspect().organizations.acme?.products).toEqual([]);
  expect(sandbox.inspect().writes).toEqual([]);
  expect(await call('POST', PATH, { body: [row('A'), row('C')] })).toMatchObject({ status: 200, body: { created: 2 } });
});

test('the sandbox refuses the whole import because of an SKU that exists where it does not upsert', async () => {
  const { call } = await startSandbox({ import: { badRow: 'refuses-all-named', upserts: false } });
  await call('POST', '/api/products/', { body: row('B') });
  const { status, body } = await call('POST', PATH, { body: [row('A'), row('B')] });
  expect([status, body]).toEqual([400, [{}, { sku: ['product with this sku already exists.'] }]]);
  expect((await call('GET', '/api/products/')).body.count).toBe(1);
});

test.each(['problem', 'message'] as const)('bad rows have errors of the form %s, too', async (errors) => {
  const { call } = await startSandbox({ import: { badRow: 'refuses-all-named' }, errors });
  const { body } = await call('POST', PATH, { body: [row('A'), { ...row('B'), sku: null }] });
  expect(body['errors']).toEqual([{}, BAD]);
  expect(await describes(call, body)).toBe(true);
});

test('the sandbox describes the list of errors of an import', async () => {
  const { call } = await startSandbox({ import: { badRow: 'refuses-all-named' } });
  const { body } = await call('POST', PATH, { body: [{ ...row('B'), sku: null }] });
  expect([body, await describes(call, body)]).toEqual([[BAD], true]);
});

/** Whether the OpenAPI description knows errors of this form. */
async function describes(call: Call, body: unknown): Promise<boolean> {
  const { body: description } = await call('GET', '/api/schema/', { key: null });
  const { schemas } = description['components'] as { schemas: { Error: Parameters<typeof z.fromJSONSchema>[0] } };
  return z.fromJSONSchema(schemas.Error).safeParse(body).success;
}

test('the sandbox takes other settings of imports while it serves', async () => {
  const { call, sandbox } = await startSandbox();
  sandbox.setImport({ rowsMax: 1, rowsMaxStatus: 413 });
  expect((await call('POST', PATH, { body: [row('A'), row('B')] })).status).toBe(413);
  sandbox.setImport({});
  expect((await call('POST', PATH, { body: [row('A'), row('B')] })).status).toBe(200);
  expect(() => sandbox.setImport({ storesAfterMs: 5 })).toThrow(/per-row/);
});
