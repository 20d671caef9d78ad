import { expect, test } from 'vitest';
import { startSandbox } from '../../support/sandbox/sandbox-caller.ts';

const PATH = '/api/products/';

test('the sandbox answers a created product with 201, the whole object and an id', async () => {
  const { call } = await startSandbox();
  const full = {
    sku: 'SKU-1',
    name: 'Bucket',
    status: 'ACTIVE',
    country_of_origin: 'DE',
    description: 'Steel, 10 l',
    gtin: '04012345678901',
  };
  const created = await call('POST', PATH, { body: full });
  expect(created.status).toBe(201);
  expect(created.headers['content-type']).toMatch('application/json');
  expect(created.body).toEqual({
    id: 1,
    ...full,
    created_at: '2026-01-01T00:00:00.000Z',
    updated_at: '2026-01-01T00:00:00.000Z',
  });
});

test('the sandbox gives a product without optional fields the status DRAFT and nulls', async () => {
  const { call } = await startSandbox();
  const created = await call('POST', PATH, { body: { sku: 'SKU-1', name: 'Bucket', description: null } });
  expect(created.body).toMatchObject({ status: 'DRAFT', country_of_origin: null, description: null, gtin: null });
});

test('the sandbox shows UUIDs in place of numbers when told to', async () => {
  const { call } = await startSandbox({ ids: 'uuid' });
  const created = await call('POST', PATH, { body: { sku: 'SKU-1', name: 'Bucket' } });
  expect(created.body.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4/);
  const listed = await call('GET', PATH);
  expect(listed.body.results).toEqual([created.body]);
});

test('the sandbox refuses an SKU that the organisation has already', async () => {
  const { call, sandbox } = await startSandbox();
  await call('POST', PATH, { body: { sku: 'SKU-1', name: 'Bucket' } });
  const again = await call('POST', PATH, { body: { sku: 'SKU-1', name: 'Other' } });
  expect(again).toMatchObject({ status: 400, body: { sku: ['product with this sku already exists.'] } });
  expect(sandbox.inspect().organizations.acme?.products).toHaveLength(1);
});

const valid = { sku: 'SKU-1', name: 'Bucket' };

test.each([
  ['a missing SKU', { name: 'Bucket' }, { sku: ['This field is required.'] }],
  ['a missing name', { sku: 'SKU-1' }, { name: ['This field is required.'] }],
  ['a null SKU', { ...valid, sku: null }, { sku: ['This field may not be null.'] }],
  ['a SKU that is a number', { ...valid, sku: 7 }, { sku: ['Not a valid string.'] }],
  ['a blank SKU', { ...valid, sku: '  ' }, { sku: ['This field may not be blank.'] }],
  ['a long SKU', { ...valid, sku: 'x'.repeat(256) }, { sku: ['Ensure this field has no more than 255 characters.'] }],
  ['a NUL in a text', { ...valid, name: 'a\0b' }, { name: ['Null characters are not allowed.'] }],
  ['half a surrogate pair', { ...valid, name: 'a\ud800' }, { name: ['Surrogate characters are not allowed.'] }],
  ['an unknown status', { ...valid, status: 'draft' }, { status: ['"draft" is not a valid choice.'] }],
  ['a null status', { ...valid, status: null }, { status: ['This field may not be null.'] }],
  [
    'a country that is not assigned',
    { ...valid, country_of_origin: 'UK' },
    { country_of_origin: ['"UK" is not a valid choice.'] },
  ],
  [
    'a country in lower case',
    { ...valid, country_of_origin: 'de' },
    { country_of_origin: ['"de" is not a valid choice.'] },
  ],
  ['a GTIN of 13 digits', { ...valid, gtin: '4012345678901' }, { gtin: ['Enter a GTIN of 14 digits.'] }],
  [
    'a GTIN with a wrong check digit',
    { ...valid, gtin: '04012345678902' },
    { gtin: ['The check digit of the GTIN is wrong.'] },
  ],
  ['an unknown field', { ...valid, colour: 'red' }, { colour: ['Unknown field.'] }],
  ['a field of the server', { ...valid, id: 1 }, { id: ['Unknown field.'] }],
  ['a list', [valid], { non_field_errors: ['Invalid data. Expected a dictionary, but got list.'] }],
  ['null', null, { non_field_errors: ['Invalid data. Expected a dictionary, but got NoneType.'] }],
])('the sandbox refuses a product with %s', async (_what, body, errors) => {
  const { call, sandbox } = await startSandbox();
  const refused = await call('POST', PATH, { body: JSON.stringify(body) });
  expect(refused).toMatchObject({ status: 400 });
  expect(refused.body).toEqual(errors);
  expect(sandbox.inspect().organizations.acme?.products).toEqual([]);
});

test('the sandbox names every wrong field of a product at once', async () => {
  const { call } = await startSandbox();
  const refused = await call('POST', PATH, { body: { status: 'x', colour: 1 } });
  expect(Object.keys(refused.body).sort()).toEqual(['colour', 'name', 'sku', 'status']);
});

test('the sandbox takes names like __proto__ for unknown fields', async () => {
  const { call } = await startSandbox();
  const refused = await call('POST', PATH, { body: '{"sku":"a","name":"b","__proto__":{"x":1},"toString":2}' });
  expect(refused.status).toBe(400);
  expect(Object.keys(refused.body)).toEqual(['__proto__', 'toString']);
});

test('the sandbox names at most 50 unknown fields', async () => {
  const { call } = await startSandbox();
  const unknown = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`x${index}`, 1]));
  const refused = await call('POST', PATH, { body: { ...valid, ...unknown } });
  expect(refused.status).toBe(400);
  expect(Object.keys(refused.body)).toHaveLength(50);
});

test('the sandbox pages through 250 products by the next links, each product once and in order', async () => {
  const { call, baseUrl } = await startSandbox();
  const skus = Array.from({ length: 250 }, (_, index) => `SKU-${index}`);
  for (const sku of skus) await call('POST', PATH, { body: { sku, name: 'x' } });

  const seen: unknown[] = [];
  const sizes: number[] = [];
  let next: string | null = `${baseUrl}${PATH}`;
  while (next !== null) {
    const { status, body } = await call('GET', next.slice(baseUrl.length));
    expect(status).toBe(200);
    expect(body.count).toBe(250);
    sizes.push(body.results.length);
    seen.push(...body.results.map(({ sku }) => sku));
    next = body.next;
    if (next !== null) expect(next.startsWith(`${baseUrl}${PATH}?`)).toBe(true);
  }
  expect(sizes).toEqual([100, 100, 50]);
  expect(seen).toEqual(skus);
});

test('the sandbox obeys page and page_size, and keeps other query parameters in its links', async () => {
  const { call, baseUrl } = await startSandbox({ pageSizeMax: 4 });
  for (let index = 0; index < 9; index += 1) await call('POST', PATH, { body: { sku: `S${index}`, name: 'x' } });
  const middle = await call('GET', `${PATH}?page_size=3&page=2&lang=de`);
  expect(middle.body.results.map(({ sku }) => sku)).toEqual(['S3', 'S4', 'S5']);
  expect(middle.body.next).toBe(`${baseUrl}${PATH}?page_size=3&page=3&lang=de`);
  expect(middle.body.previous).toBe(`${baseUrl}${PATH}?page_size=3&page=1&lang=de`);
  const capped = await call('GET', `${PATH}?page_size=1000`);
  expect(capped.body.results).toHaveLength(4);
  const last = await call('GET', `${PATH}?page_size=3&page=3`);
  expect(last.body.next).toBeNull();
});

test('the sandbox answers an empty list with one empty page', async () => {
  const { call } = await startSandbox();
  expect((await call('GET', PATH)).body).toEqual({ count: 0, next: null, previous: null, results: [] });
});

test.each(['0', '-1', 'x', '2', '1e1', '99999999999999999999'])(
  'the sandbox answers page=%s of a single page with 404',
  async (page) => {
    const { call } = await startSandbox();
    expect(await call('GET', `${PATH}?page=${page}`)).toMatchObject({ status: 404, body: { detail: 'Invalid page.' } });
  },
);

test('the sandbox keeps organisations apart: lists, SKUs and ids of one mean nothing to another', async () => {
  const { call, sandbox } = await startSandbox();
  const other = sandbox.issueKey({ organization: 'rival', name: 'k', scopes: ['read', 'write'] }).key;
  const mine = await call('POST', PATH, { body: valid });
  const theirs = await call('POST', PATH, { body: valid, key: other });
  expect(theirs.status).toBe(201);
  expect(theirs.body.id).not.toBe(mine.body.id);
  expect((await call('GET', PATH, { key: other })).body.results).toEqual([theirs.body]);

  const material = await call('POST', '/api/materials/', { body: { name: 'Steel' } });
  const patch = await call('PATCH', `/api/materials/${material.body.id}/`, { body: { name: 'X' }, key: other });
  expect(patch.status).toBe(404);
  const bom = { product: theirs.body.id, material: material.body.id, quantity: 1 };
  expect(await call('POST', '/api/bom-items/', { body: bom, key: other })).toMatchObject({
    status: 400,
    body: { material: [`Invalid pk "${material.body.id}" - object does not exist.`] },
  });
});
