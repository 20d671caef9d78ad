import { expect, test } from 'vitest';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import { type RunningSandbox, startSandbox } from '../../support/sandbox/sandbox-caller.ts';

const PATH = '/api/bom-items/';

/** Products 1 (SKU-1) and 2 (SKU-2), and material 1 (ST-1). */
async function startWithParts(options: SandboxOptions = {}): Promise<RunningSandbox> {
  const running = await startSandbox(options);
  for (const sku of ['SKU-1', 'SKU-2']) await running.call('POST', '/api/products/', { body: { sku, name: 'x' } });
  await running.call('POST', '/api/materials/', { body: { code: 'ST-1', name: 'Steel' } });
  return running;
}

test('the sandbox creates a BOM item of a material with every field, decimals as text', async () => {
  const { call } = await startWithParts();
  const body = {
    product: 1,
    material: 1,
    quantity: 2.5,
    unit: 'KGM',
    per_quantity: '1000',
    position: '0010',
    mass: { value: 0, unit: 'KGM' },
    mass_fraction: '0.30',
    valid_from: '2026-01-01',
    valid_to: '2026-12-31',
  };
  const created = await call('POST', PATH, { body });
  expect(created.status).toBe(201);
  expect(created.body).toMatchObject({
    ...body,
    id: 1,
    component: null,
    quantity: '2.5',
    mass: { value: '0', unit: 'KGM' },
    mass_fraction: '0.3',
  });
});

test('the sandbox creates a BOM item of a component', async () => {
  const { call } = await startWithParts();
  const created = await call('POST', PATH, { body: { product: 1, component: 2, material: null, quantity: '4' } });
  expect(created).toMatchObject({ status: 201, body: { product: 1, component: 2, material: null, quantity: '4' } });
});

test('the sandbox makes two BOM items of the same body sent twice, so that a double shows', async () => {
  const { call, sandbox } = await startWithParts();
  const body = { product: 1, material: 1, quantity: '2.50', position: '10', unit: 'KGM', valid_from: '2026-01-01' };
  const first = await call('POST', PATH, { body });
  const second = await call('POST', PATH, { body });
  expect([first.status, second.status]).toEqual([201, 201]);
  expect(second.body.id).not.toBe(first.body.id);
  const snapshot = sandbox.inspect();
  expect(snapshot.organizations.acme?.bomItems).toEqual([first.body, second.body]);
  expect(snapshot.writes).toContainEqual({
    organization: 'acme',
    operation: 'bom_item.create',
    naturalKey: '["SKU-1","material","ST-1","10","2.5","KGM","2026-01-01"]',
    count: 2,
  });
});

const part = { product: 1, material: 1, quantity: 1 };

test.each([
  ['a missing product', { material: 1, quantity: 1 }, { product: ['This field is required.'] }],
  ['an unknown product', { ...part, product: 77 }, { product: ['Invalid pk "77" - object does not exist.'] }],
  ['an unknown material', { ...part, material: 77 }, { material: ['Invalid pk "77" - object does not exist.'] }],
  [
    'an unknown component',
    { product: 1, component: 77, quantity: 1 },
    { component: ['Invalid pk "77" - object does not exist.'] },
  ],
  [
    'an id of another JSON type',
    { ...part, product: '1' },
    { product: ['Incorrect type. Expected a number, received a string.'] },
  ],
  ['a fraction for an id', { ...part, product: 1.5 }, { product: ['A valid integer is required.'] }],
  ['an id beyond all ids', { ...part, product: 2 ** 60 }, { product: ['This integer is out of range.'] }],
  [
    'neither material nor component',
    { product: 1, quantity: 1 },
    { non_field_errors: ['Exactly one of material and component is required.'] },
  ],
  [
    'both material and component',
    { ...part, component: 2 },
    { non_field_errors: ['Exactly one of material and component is required.'] },
  ],
  [
    'a product inside itself',
    { product: 1, component: 1, quantity: 1 },
    { component: ['A product cannot be a component of itself.'] },
  ],
  ['no quantity', { product: 1, material: 1 }, { quantity: ['This field is required.'] }],
  ['a quantity of 0', { ...part, quantity: '0.00' }, { quantity: ['Ensure this value is greater than 0.'] }],
  ['a quantity with an exponent', { ...part, quantity: '1e3' }, { quantity: ['A valid number is required.'] }],
  ['a mass without a unit', { ...part, mass: { value: '1' } }, { mass: { unit: ['This field is required.'] } }],
  [
    'a day that does not exist',
    { ...part, valid_from: '2026-02-30' },
    { valid_from: ['Date has wrong format. Use one of these formats instead: YYYY-MM-DD.'] },
  ],
  [
    'an end before the beginning',
    { ...part, valid_from: '2026-02-02', valid_to: '2026-02-01' },
    { valid_to: ['Ensure this date is not before valid_from.'] },
  ],
])('the sandbox refuses a BOM item with %s', async (_what, body, errors) => {
  const { call, sandbox } = await startWithParts();
  const refused = await call('POST', PATH, { body });
  expect(refused.status).toBe(400);
  expect(refused.body).toEqual(errors);
  expect(sandbox.inspect().organizations.acme?.bomItems).toEqual([]);
});

test('a BOM item of the sandbox refers by UUID where ids are UUIDs', async () => {
  const { call, sandbox } = await startWithParts({ ids: 'uuid' });
  const acme = sandbox.inspect().organizations.acme;
  const body = { product: acme?.products[0]?.id, material: acme?.materials[0]?.id, quantity: '1' };
  expect(await call('POST', PATH, { body })).toMatchObject({ status: 201, body });
  expect((await call('POST', PATH, { body: { ...body, product: 1 } })).body).toEqual({
    product: ['Incorrect type. Expected a string, received a number.'],
  });
});
