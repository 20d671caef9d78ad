import { expect, test } from 'vitest';
import { textMember } from '../../../src/sandbox/api/operation.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import { type Call, startSandbox } from '../../support/sandbox/sandbox-caller.ts';

const PATH = '/api/products/';

async function startWithProducts(options: SandboxOptions, count = 5) {
  const running = await startSandbox({ pageSize: 2, ...options });
  for (let index = 0; index < count; index += 1) {
    await running.call('POST', PATH, { body: { sku: `S${index}`, name: 'x' } });
  }
  return running;
}

const skusOf = (entries: unknown) => (entries as { sku: string }[]).map(({ sku }) => sku);
const ALL = ['S0', 'S1', 'S2', 'S3', 'S4'];

test('the sandbox pages by a cursor that means nothing to the client', async () => {
  const { call } = await startWithProducts({ paging: 'cursor', envelope: 'data' });
  const seen: string[] = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const { body } = await call('GET', cursor === null ? PATH : `${PATH}?cursor=${cursor}`);
    expect(Object.keys(body)).toEqual(['next_cursor', 'data']);
    seen.push(...skusOf(body['data']));
    cursor = body['next_cursor'] as string | null;
    pages += 1;
  } while (cursor !== null);
  expect([seen, pages]).toEqual([ALL, 3]);
  expect((await call('GET', `${PATH}?cursor=bm9uc2Vuc2U`)).status).toBe(404);
});

test('the sandbox pages by Link headers over bare arrays', async () => {
  const { call, baseUrl } = await startWithProducts({ paging: 'link-header' });
  const first = await call('GET', PATH);
  expect(first.headers).toMatchObject({ link: `<${baseUrl}${PATH}?page=2>; rel="next"`, 'x-total-count': '5' });
  expect(skusOf(first.body)).toEqual(['S0', 'S1']);
  const middle = await call('GET', `${PATH}?page=2`);
  expect(middle.headers['link']).toBe(`<${baseUrl}${PATH}?page=3>; rel="next", <${baseUrl}${PATH}?page=1>; rel="prev"`);
  const last = await call('GET', `${PATH}?page=3`);
  expect(last.headers['link']).toBe(`<${baseUrl}${PATH}?page=2>; rel="prev"`);
  expect((await call('GET', `${PATH}?page=4`)).status).toBe(404);
});

test('the sandbox answers all entries in one bare array where it does not page', async () => {
  const { call } = await startWithProducts({ paging: 'none' });
  expect(skusOf((await call('GET', PATH)).body)).toEqual(ALL);
});

test.each(['results', 'data', 'items'] as const)('entries of a page may be under "%s"', async (envelope) => {
  const { call } = await startWithProducts({ envelope });
  const { body } = await call('GET', PATH);
  expect(Object.keys(body)).toEqual(['count', 'next', 'previous', envelope]);
  expect(skusOf(body[envelope])).toEqual(['S0', 'S1']);
});

const create = (call: Call, sku = 'NEW') => call('POST', PATH, { body: { sku, name: 'x' } });

test.each(['uuid', 'pk'] as const)('ids may be shown as "%s" in objects, pages and import rows', async (idAt) => {
  const { call } = await startSandbox({ idAt });
  const created = await create(call);
  expect(created.body[idAt]).toBe(1);
  expect(created.body.id).toBeUndefined();
  expect((await call('GET', PATH)).body.results[0]).toEqual(created.body);
  const imported = await call('POST', '/api/imports/products/', { body: [{ sku: 'B', name: 'x' }] });
  expect(imported.body.results[0]).toMatchObject({ [idAt]: 2, sku: 'B' });
  const bare = await startSandbox({ idAt, paging: 'none' });
  await create(bare.call);
  expect((await bare.call('GET', PATH)).body).toMatchObject([{ [idAt]: 1 }]);
});

test('the sandbox nests an answered object in "data" where ids are there, with UUIDs too', async () => {
  const { call } = await startSandbox({ idAt: 'data.id', ids: 'uuid', envelope: 'items' });
  const created = await create(call);
  const data = created.body['data'] as { id: string };
  expect(data.id).toMatch(/^[0-9a-f-]{36}$/);
  expect(Object.keys(created.body)).toEqual(['data']);
  expect((await call('GET', PATH)).body['items']).toEqual([data]);
  expect((await call('POST', `/api/dpp/${data.id}/init/`)).body['data']).toMatchObject({ product: data.id });
});

test('an id may be only the last part of an address', async () => {
  const urls = await startSandbox({ idAt: 'url' });
  expect((await create(urls.call)).body).toMatchObject({ url: '/api/products/1/', sku: 'NEW' });
  const links = await startSandbox({ idAt: '_links.self.href', paging: 'cursor' });
  await create(links.call);
  const [entry] = (await links.call('GET', PATH)).body.results;
  expect(entry).toMatchObject({ _links: { self: { href: '/api/products/1/' } }, sku: 'NEW' });
  expect(entry).not.toHaveProperty('id');
  const body = [{ sku: 'B', name: 'x' }, { sku: 'C' }];
  expect((await links.call('POST', '/api/imports/products/', { body })).body.results).toMatchObject([
    { _links: { self: { href: '/api/products/2/' } }, sku: 'B' },
    { _links: { self: { href: null } }, sku: 'C' },
  ]);
});

test('items may have their fields in attributes, and writes may have to send them there', async () => {
  const { call } = await startSandbox({ entries: 'attributes', requests: 'data.attributes', idAt: 'data.id' });
  expect((await create(call)).status).toBe(400);
  const body = { data: { type: 'product', attributes: { sku: 'NEW', name: 'x' } } };
  const created = await call('POST', PATH, { body });
  const item = { id: 1, type: 'product', attributes: expect.objectContaining({ sku: 'NEW', name: 'x' }) };
  expect(created).toMatchObject({ status: 201, body: { data: item } });
  expect((await call('GET', PATH)).body.results).toEqual([item]);
  expect((await call('POST', PATH, { body })).body).toEqual({ sku: ['product with this sku already exists.'] });
  const imported = await call('POST', '/api/imports/products/', { body: [{ sku: 'B', name: 'x' }] });
  expect(imported.body.results).toMatchObject([{ id: 2, sku: 'B', status: 'created' }]);
  expect((await call('POST', '/api/dpp/1/init/')).body['data']).toMatchObject({ type: 'passport' });
});

test('the answer to a write may have only the id, no body, or no body and a Location', async () => {
  const { call, sandbox } = await startSandbox({
    ids: 'text',
    answers: { 'product.create': 'id', 'material.create': 'location', '*': 'empty' },
  });
  const product = await create(call);
  expect(product.body).toEqual({ id: expect.stringMatching(/^dpp_\d+$/) });
  const material = await call('POST', '/api/materials/', { body: { name: 'x' } });
  const [stored] = sandbox.inspect().organizations['acme']?.materials ?? [];
  expect(material).toMatchObject({
    status: 201,
    text: '',
    headers: { location: `/api/materials/${textMember(stored, 'id')}/` },
  });
  expect(await call('POST', `/api/dpp/${product.body.id}/init/`)).toMatchObject({ status: 201, text: '' });
  expect(await call('POST', '/api/imports/products/', { body: [{ sku: 'B', name: 'x' }] })).toMatchObject({ text: '' });
  // Refusals and lists are as they were.
  expect((await create(call)).body).toEqual({ sku: ['product with this sku already exists.'] });
  expect((await call('GET', PATH)).body.count).toBe(2);
});

test.each([
  ['created', 201, 200],
  ['ok', 200, 200],
  ['accepted', 202, 202],
] as const)('success may be answered as "%s"', async (successCodes, creation, change) => {
  const { call } = await startSandbox({ successCodes, idempotency: 'honoured' });
  expect((await create(call)).status).toBe(creation);
  expect((await call('POST', '/api/materials/', { body: { name: 'x' } })).status).toBe(creation);
  expect((await call('PATCH', '/api/materials/1/', { body: {} })).status).toBe(change);
  expect((await call('GET', PATH)).status).toBe(200);
  expect((await create(call)).status).toBe(400);
  const twice = { body: { sku: 'K', name: 'x' }, headers: { 'idempotency-key': 'k' } };
  const statuses = [await call('POST', PATH, twice), await call('POST', PATH, twice)].map(({ status }) => status);
  expect(statuses).toEqual([creation, creation]);
});

test('the sandbox writes errors as problems of RFC 9457', async () => {
  const { call } = await startSandbox({ errors: 'problem' });
  const invalid = await call('POST', PATH, { body: {} });
  expect(invalid.headers['content-type']).toContain('application/problem+json');
  expect(invalid.body).toMatchObject({
    type: 'about:blank',
    title: 'Bad Request',
    status: 400,
    errors: { sku: ['This field is required.'] },
  });
  expect((await call('GET', PATH, { key: null })).body).toEqual({
    type: 'about:blank',
    title: 'Unauthorized',
    status: 401,
    detail: 'Authentication credentials were not provided.',
  });
  await create(call);
  await call('POST', '/api/dpp/1/init/');
  expect((await call('POST', '/api/dpp/1/publish/')).body).toMatchObject({
    status: 409,
    missing: ['country_of_origin', 'bom_items'],
  });
  expect((await call('GET', '/api/nothing/')).body).toMatchObject({ status: 404 });
});

test('the sandbox writes errors as a message with errors by field', async () => {
  const { call } = await startSandbox({ errors: 'message' });
  expect((await call('POST', PATH, { body: {} })).body).toMatchObject({
    message: 'Bad Request',
    errors: { name: ['This field is required.'] },
  });
  expect((await call('GET', '/api/nothing/')).body).toEqual({ message: 'Not found.' });
});

test('the sandbox narrows lists by SKU and code where filters are on, and ignores them where they are off', async () => {
  const { call } = await startWithProducts({ listFilters: true });
  await call('POST', '/api/materials/', { body: { code: 'M1', name: 'x' } });
  await call('POST', '/api/materials/', { body: { code: 'M2', name: 'x' } });
  expect((await call('GET', `${PATH}?sku=S3`)).body).toMatchObject({ count: 1, next: null, results: [{ sku: 'S3' }] });
  expect((await call('GET', `${PATH}?sku=s3`)).body.results).toEqual([]);
  expect((await call('GET', '/api/materials/?code=M2')).body.results).toMatchObject([{ code: 'M2' }]);
  const off = await startWithProducts({});
  expect((await off.call('GET', `${PATH}?sku=S3`)).body.count).toBe(5);
});
