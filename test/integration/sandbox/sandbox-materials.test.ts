import { expect, test } from 'vitest';
import { startSandbox } from '../../support/sandbox/sandbox-caller.ts';

const PATH = '/api/materials/';
const STEEL = {
  code: 'ST-1',
  name: 'Steel',
  description: 'Cold rolled',
  category: 'metal',
  origin_country: 'SE',
  recycled_mass_fraction: '0.25',
  hazardous: false,
  composition: [{ name: 'Iron', cas: '7439-89-6', mass_fraction: '0.98' }],
};

test('the sandbox creates a material with every field and lists it', async () => {
  const { call } = await startSandbox();
  const created = await call('POST', PATH, { body: STEEL });
  expect(created.status).toBe(201);
  expect(created.body).toMatchObject({ id: 1, ...STEEL });
  expect((await call('GET', PATH)).body.results).toEqual([created.body]);
});

test('the sandbox takes decimals as numbers and echoes them as text', async () => {
  const { call } = await startSandbox();
  const body = { name: 'A', recycled_mass_fraction: 0.5, composition: [{ name: 'B', mass_fraction: 1e-7 }] };
  const created = await call('POST', PATH, { body });
  expect(created.body.recycled_mass_fraction).toBe('0.5');
  expect(created.body.composition).toEqual([{ name: 'B', cas: null, mass_fraction: '0.0000001' }]);
});

test.each([
  ['a missing name', { code: 'A' }, { name: ['This field is required.'] }],
  ['a boolean as text', { name: 'A', hazardous: 'no' }, { hazardous: ['Must be a valid boolean.'] }],
  [
    'a fraction above 1',
    { name: 'A', recycled_mass_fraction: '1.01' },
    { recycled_mass_fraction: ['Ensure this value is less than or equal to 1.'] },
  ],
  [
    'a fraction below 0',
    { name: 'A', recycled_mass_fraction: -0.1 },
    { recycled_mass_fraction: ['Ensure this value is greater than or equal to 0.'] },
  ],
  [
    'a decimal comma',
    { name: 'A', recycled_mass_fraction: '0,5' },
    { recycled_mass_fraction: ['A valid number is required.'] },
  ],
  [
    'an endless fraction',
    { name: 'A', recycled_mass_fraction: `0.${'1'.repeat(31)}` },
    { recycled_mass_fraction: ['Ensure that there are no more than 30 digits in total.'] },
  ],
  [
    'what is wrong inside a composition, by position',
    {
      name: 'A',
      composition: [{ name: 'B', mass_fraction: 1 }, { nme: 'C', cas: '7439-89-7', mass_fraction: '0.1' }, 5],
    },
    {
      composition: [
        {},
        {
          name: ['This field is required.'],
          cas: ['The check digit of the CAS number is wrong.'],
          nme: ['Unknown field.'],
        },
        { non_field_errors: ['Invalid data. Expected a dictionary.'] },
      ],
    },
  ],
  [
    'a composition that is no list',
    { name: 'A', composition: { name: 'B' } },
    { composition: ['Expected a list of items.'] },
  ],
  [
    'a huge composition with one message',
    { name: 'A', composition: Array.from({ length: 5000 }, () => 0) },
    { composition: ['Ensure this field has no more than 200 elements.'] },
  ],
])('the sandbox refuses a material with %s', async (_what, body, errors) => {
  const { call } = await startSandbox();
  const refused = await call('POST', PATH, { body });
  expect(refused.status).toBe(400);
  expect(refused.body).toEqual(errors);
});

test('the sandbox wants a material code to be unique, and the name among materials without a code', async () => {
  const { call } = await startSandbox();
  const codeTaken = { code: ['material with this code already exists.'] };
  const nameTaken = { name: ['material with this name already exists.'] };
  expect((await call('POST', PATH, { body: { name: 'Steel', code: 'A' } })).status).toBe(201);
  expect((await call('POST', PATH, { body: { name: 'Steel', code: 'B' } })).status).toBe(201);
  expect((await call('POST', PATH, { body: { name: 'Steel' } })).status).toBe(201);
  expect(await call('POST', PATH, { body: { name: 'Iron', code: 'A' } })).toMatchObject({
    status: 400,
    body: codeTaken,
  });
  expect(await call('POST', PATH, { body: { name: 'Steel' } })).toMatchObject({ status: 400, body: nameTaken });
  expect(await call('PATCH', `${PATH}2/`, { body: { code: 'A' } })).toMatchObject({ status: 400, body: codeTaken });
  expect(await call('PATCH', `${PATH}2/`, { body: { code: null } })).toMatchObject({ status: 400, body: nameTaken });
});

test('a PATCH of a material changes only the fields that it names, and clears those that it sets to null', async () => {
  const { call, clock } = await startSandbox();
  const created = await call('POST', PATH, { body: STEEL });
  clock.advance(1000);
  const patched = await call('PATCH', `${PATH}${created.body.id}/`, { body: { category: 'alloy', description: null } });
  expect(patched.status).toBe(200);
  expect(patched.body).toEqual({
    ...created.body,
    category: 'alloy',
    description: null,
    updated_at: '2026-01-01T00:00:01.000Z',
  });
  expect((await call('GET', PATH)).body.results).toEqual([patched.body]);
  expect((await call('PATCH', `${PATH}1/`, { body: {} })).status).toBe(200);
  expect((await call('PATCH', `${PATH}1/`, { body: { code: 'ST-1', name: 'Steel' } })).status).toBe(200);
});

test.each([
  [{ name: null }, { name: ['This field may not be null.'] }],
  [{ name: '' }, { name: ['This field may not be blank.'] }],
  [{ weight: 1 }, { weight: ['Unknown field.'] }],
  [{ origin_country: 'XX' }, { origin_country: ['"XX" is not a valid choice.'] }],
])('the PATCH %j of a material is refused', async (body, errors) => {
  const { call } = await startSandbox();
  const created = await call('POST', PATH, { body: STEEL });
  expect(await call('PATCH', `${PATH}1/`, { body })).toMatchObject({ status: 400, body: errors });
  expect((await call('GET', PATH)).body.results).toEqual([created.body]);
});

test.each(['2', '0', '-1', 'abc', '1.0', '9'.repeat(30), '%20'])(
  'the sandbox answers a PATCH of a material with the id %s with 404',
  async (id) => {
    const { call } = await startSandbox();
    await call('POST', PATH, { body: STEEL });
    expect(await call('PATCH', `${PATH}${id}/`, { body: {} })).toMatchObject({
      status: 404,
      body: { detail: 'Not found.' },
    });
  },
);

test('the sandbox patches a material by UUID where ids are UUIDs', async () => {
  const { call } = await startSandbox({ ids: 'uuid' });
  const { body } = await call('POST', PATH, { body: STEEL });
  expect((await call('PATCH', `${PATH}${body.id}/`, { body: { name: 'Iron' } })).body.name).toBe('Iron');
  expect((await call('PATCH', `${PATH}1/`, { body: { name: 'Iron' } })).status).toBe(404);
});
