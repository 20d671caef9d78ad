import { expect, test } from 'vitest';
import { startSandbox } from '../../support/sandbox/sandbox-caller.ts';

const PATH = '/api/reports/';

test('a report counts what there is, at the time of its creation', async () => {
  const { call } = await startSandbox();
  for (const sku of ['A', 'B']) await call('POST', '/api/products/', { body: { sku, name: 'x' } });
  await call('POST', '/api/dpp/1/init/');
  const created = await call('POST', PATH, { body: { title: 'Monday' } });
  expect(created).toMatchObject({
    status: 201,
    body: {
      id: 1,
      type: 'summary',
      title: 'Monday',
      status: 'completed',
      data: {
        products: 2,
        materials: 0,
        bom_items: 0,
        passports: { none: 1, initialized: 1, published: 0, unpublished: 0 },
      },
    },
  });
  await call('POST', '/api/dpp/2/init/');
  expect((await call('GET', PATH)).body.results).toEqual([created.body]);
});

test('a report lists the products that the gates would stop', async () => {
  const { call } = await startSandbox();
  await call('POST', '/api/products/', { body: { sku: 'A', name: 'x', country_of_origin: 'DE' } });
  await call('POST', '/api/products/', { body: { sku: 'B', name: 'x' } });
  await call('POST', '/api/bom-items/', { body: { product: 1, component: 2, quantity: 1 } });
  const { body } = await call('POST', PATH, { body: { type: 'completeness' } });
  expect(body['data']).toEqual({
    complete: 1,
    incomplete: [{ product: 2, sku: 'B', missing: ['country_of_origin', 'bom_items'] }],
    unexamined: 0,
  });
});

test('the sandbox refuses a report of a type that it does not know', async () => {
  const { call } = await startSandbox();
  expect(await call('POST', PATH, { body: { type: 'everything' } })).toMatchObject({
    status: 400,
    body: { type: ['"everything" is not a valid choice.'] },
  });
});

test('the creation of a report needs read, or write where the settings say so', async () => {
  const reading = await startSandbox();
  const { key } = reading.sandbox.issueKey({ organization: 'acme', name: 'r', scopes: ['read'] });
  expect((await reading.call('POST', PATH, { key })).status).toBe(201);
  const writing = await startSandbox({ reportCreateScope: 'write' });
  const readOnly = writing.sandbox.issueKey({ organization: 'acme', name: 'r', scopes: ['read'] }).key;
  const writeOnly = writing.sandbox.issueKey({ organization: 'acme', name: 'w', scopes: ['write'] }).key;
  expect((await writing.call('POST', PATH, { key: readOnly })).status).toBe(403);
  expect((await writing.call('POST', PATH, { key: writeOnly })).status).toBe(201);
});
