import { expect, test } from 'vitest';
import { PASSPORT_ACTIONS, PASSPORT_STATES } from '../../../src/sandbox/items/passports.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import { type Call, type RunningSandbox, startSandbox } from '../../support/sandbox/sandbox-caller.ts';

const PRODUCT = { sku: 'BIKE-1', name: 'Bicycle', country_of_origin: 'DE' };
const STEEL = { code: 'ST-1', name: 'Steel', origin_country: 'SE' };

/** A product that every gate lets through: product 1, material 1, one BOM item. */
async function startWithProduct(options: SandboxOptions = {}): Promise<RunningSandbox> {
  const running = await startSandbox(options);
  await running.call('POST', '/api/products/', { body: PRODUCT });
  await running.call('POST', '/api/materials/', { body: STEEL });
  await running.call('POST', '/api/bom-items/', { body: { product: 1, material: 1, quantity: '2.5', unit: 'kg' } });
  return running;
}

const act = (call: Call, action: string, id: number | string = 1) => call('POST', `/api/dpp/${id}/${action}/`);

test('the sandbox initialises, publishes and unpublishes a passport, and shows each publication', async () => {
  const { call, clock } = await startWithProduct();
  const initialized = await act(call, 'init');
  expect(initialized).toMatchObject({
    status: 201,
    body: { id: 1, product: 1, sku: 'BIKE-1', status: 'initialized', public_url: null, published_at: null },
  });
  expect((await call('GET', '/api/dpp/publications/')).body.results).toEqual([]);

  clock.advance(1000);
  const published = await act(call, 'publish');
  expect(published).toMatchObject({
    status: 200,
    body: { id: 1, status: 'published', published_at: '2026-01-01T00:00:01.000Z' },
  });
  expect(published.body.public_url).toBe('https://passport.example.com/passports/1');
  const [publication] = (await call('GET', '/api/dpp/publications/')).body.results;
  expect(publication).toMatchObject({
    id: 1,
    product: 1,
    sku: 'BIKE-1',
    status: 'published',
    published_at: '2026-01-01T00:00:01.000Z',
    unpublished_at: null,
    public_url: published.body.public_url,
  });

  clock.advance(1000);
  const withdrawn = await act(call, 'unpublish');
  expect(withdrawn).toMatchObject({ status: 200, body: { status: 'unpublished', public_url: null } });
  await act(call, 'publish');
  const { results } = (await call('GET', '/api/dpp/publications/')).body;
  expect(results.map(({ status, unpublished_at: at }) => [status, at])).toEqual([
    ['unpublished', '2026-01-01T00:00:02.000Z'],
    ['published', null],
  ]);
});

/** The actions that bring a new product into a state. */
const WAYS = {
  none: [],
  initialized: ['init'],
  published: ['init', 'publish'],
  unpublished: ['init', 'publish', 'unpublish'],
};
const SENSIBLE = ['none init', 'initialized publish', 'published unpublish', 'unpublished publish'];

test.each(PASSPORT_STATES.flatMap((state) => PASSPORT_ACTIONS.map((action) => [action, state] as const)))(
  'the sandbox answers %s of a passport in the state %s with success or 409, as the table has it',
  async (action, state) => {
    const { call, sandbox } = await startWithProduct();
    for (const step of WAYS[state]) expect((await act(call, step)).status).toBeLessThan(300);
    const before = sandbox.inspect().organizations;
    const answer = await act(call, action);
    if (SENSIBLE.includes(`${state} ${action}`)) {
      expect(answer.status).toBeLessThan(300);
    } else {
      expect(answer).toMatchObject({ status: 409, body: { detail: expect.stringContaining('passport') } });
      expect(sandbox.inspect().organizations).toEqual(before);
    }
  },
);

test('the sandbox publishes a product with a GTIN at its GS1 Digital Link', async () => {
  const { call } = await startWithProduct({ publicBaseUrl: 'https://id.example.com/' });
  await call('POST', '/api/products/', { body: { ...PRODUCT, sku: 'BIKE-2', gtin: '04012345678901' } });
  await call('POST', '/api/bom-items/', { body: { product: 2, material: 1, quantity: 1 } });
  await act(call, 'init', 2);
  expect((await act(call, 'publish', 2)).body.public_url).toBe('https://id.example.com/01/04012345678901');
});

test('the sandbox blocks the publication of an incomplete product with all that is missing, until it is there', async () => {
  const { call, sandbox } = await startSandbox();
  await call('POST', '/api/products/', { body: { sku: 'A', name: 'x' } });
  await act(call, 'init');
  expect(await act(call, 'publish')).toMatchObject({
    status: 409,
    body: {
      detail: 'The passport cannot be published: country_of_origin is missing, bom_items is missing.',
      missing: ['country_of_origin', 'bom_items'],
    },
  });
  await call('POST', '/api/materials/', { body: { name: 'Wood' } });
  await call('POST', '/api/bom-items/', { body: { product: 1, material: 1, quantity: 1 } });
  await call('POST', '/api/imports/products/', { body: [{ sku: 'A', name: 'x', country_of_origin: 'AT' }] });
  expect((await act(call, 'publish')).body.missing).toEqual(['materials[Wood].origin_country']);
  expect(sandbox.inspect().organizations.acme?.publications).toEqual([]);
  await call('PATCH', '/api/materials/1/', { body: { origin_country: 'AT' } });
  expect((await act(call, 'publish')).status).toBe(200);
});

test.each<[string, SandboxOptions['gates'], string[]]>([
  ['none', off(), []],
  ['the product', { ...off(), productComplete: { fields: ['gtin', 'description'] } }, ['gtin', 'description']],
  ['the BOM', { ...off(), bomPresent: {} }, ['bom_items']],
  ['the review', { ...off(), review: { enabled: true } }, ['review']],
  ['other products', { ...off(), bomPresent: { match: 'CAR-*' } }, []],
  ['these products', { ...off(), bomPresent: { match: 'B*K*-*1' } }, ['bom_items']],
  ['one SKU', { ...off(), bomPresent: { match: 'BIKE-1' } }, ['bom_items']],
  ['a SKU that only begins like it', { ...off(), bomPresent: { match: 'BIKE' } }, []],
])('a publication obeys the gates that are set: %s', async (_what, gates, missing) => {
  const { call } = await startSandbox({ gates });
  await call('POST', '/api/products/', { body: PRODUCT });
  await act(call, 'init');
  const answer = await act(call, 'publish');
  expect(answer.status).toBe(missing.length === 0 ? 200 : 409);
  if (missing.length > 0) expect(answer.body.missing).toEqual(missing);
});

function off() {
  return { productComplete: { enabled: false }, bomPresent: { enabled: false }, materialData: { enabled: false } };
}

test('the BOM gate wants every field of every material on it, each once', async () => {
  const { call } = await startWithProduct({
    gates: { materialData: { fields: ['recycled_mass_fraction', 'category'] } },
  });
  await call('POST', '/api/bom-items/', { body: { product: 1, material: 1, quantity: 1 } });
  await act(call, 'init');
  expect((await act(call, 'publish')).body.missing).toEqual([
    'materials[ST-1].recycled_mass_fraction',
    'materials[ST-1].category',
  ]);
});

test('the sandbox lets a passport through the review gate once it is approved', async () => {
  const { call, sandbox } = await startWithProduct({ gates: { review: { enabled: true } } });
  expect(sandbox.approvePassport('acme', 'BIKE-1')).toBe(false);
  await act(call, 'init');
  expect((await act(call, 'publish')).body.missing).toEqual(['review']);
  expect(sandbox.approvePassport('rival', 'BIKE-1')).toBe(false);
  expect(sandbox.approvePassport('acme', 'BIKE-1')).toBe(true);
  expect((await act(call, 'publish')).status).toBe(200);
});

test.each(['2', '0', 'abc', '1.0', '..%2f1', '%00', '9'.repeat(30)])(
  'the sandbox answers every passport operation on the product %s with 404',
  async (id) => {
    const { call } = await startWithProduct();
    for (const action of PASSPORT_ACTIONS) expect((await act(call, action, id)).status).toBe(404);
    expect((await call('GET', `/api/exports/passport/${id}.pdf`)).status).toBe(404);
  },
);

test('the sandbox refuses a body of a passport operation where none is stated', async () => {
  const { call } = await startWithProduct();
  expect(await call('POST', '/api/dpp/1/init/', { body: { force: true } })).toMatchObject({
    status: 400,
    body: { force: ['Unknown field.'] },
  });
  expect((await call('POST', '/api/dpp/1/init/', { body: {} })).status).toBe(201);
});

test('the sandbox publishes once for two requests with one key by default, and replays the refusal of a gate', async () => {
  const { call, sandbox } = await startWithProduct();
  await act(call, 'init');
  const headers = { 'idempotency-key': 'k-1' };
  const path = '/api/dpp/1/publish/';
  const [first, second] = [await call('POST', path, { headers }), await call('POST', path, { headers })];
  expect(second).toMatchObject({ status: 200, body: first.body, headers: { 'idempotent-replayed': 'true' } });
  expect(sandbox.inspect()).toMatchObject({ replayed: 1, organizations: { acme: { publications: [{ id: 1 }] } } });

  await call('POST', '/api/products/', { body: { ...PRODUCT, sku: 'BIKE-2' } });
  await act(call, 'init', 2);
  const gated = { headers: { 'idempotency-key': 'k-2' } };
  expect((await call('POST', '/api/dpp/2/publish/', gated)).status).toBe(409);
  await call('POST', '/api/bom-items/', { body: { product: 2, material: 1, quantity: 1 } });
  expect(await call('POST', '/api/dpp/2/publish/', gated)).toMatchObject({
    status: 409,
    headers: { 'idempotent-replayed': 'true' },
  });
  expect((await call('POST', '/api/dpp/2/publish/', { headers: { 'idempotency-key': 'k-3' } })).status).toBe(200);
});
