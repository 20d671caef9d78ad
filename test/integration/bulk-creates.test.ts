import { afterEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/lib/json.ts';
import type { SandboxOptions } from '../../src/sandbox/settings.ts';
import { createDeliveryWorld, type DeliveryWorld } from '../support/delivery-world.ts';

let world: DeliveryWorld;
afterEach(() => world.remove());

type Options = Parameters<typeof createDeliveryWorld>[0];

async function open(sandbox: SandboxOptions = {}, imports: NonNullable<Options['profile']>['imports'] = {}) {
  world = await createDeliveryWorld({ sandbox, profile: { imports: { createsMin: 5, ...imports } } });
}

/** So many new products by id, each with the fields that the function gives it. */
function products(count: number, fieldsOf: (id: number) => JsonObject = () => ({})): Record<string, JsonObject> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [String(at + 1), fieldsOf(at + 1)]));
}

async function load(count: number, fieldsOf?: (id: number) => JsonObject): Promise<void> {
  await world.stage(products(count, fieldsOf));
  await world.drain();
}

const states = () => world.ledger.views.itemCounts().product;
const proof = () => world.ledger.views.importProof();
/** How often each SKU is at the platform. */
const listed = () => world.sandbox.inspect().organizations['acme']?.products?.map(({ sku }) => sku) ?? [];
const expected = (count: number) => Array.from({ length: count }, (_, at) => `SKU-${at + 1}`).toSorted();

/** All products are at the platform once, and the ledger has the id of each. */
function expectAllOnce(count: number): void {
  expect(listed().toSorted()).toEqual(expected(count));
  expect(states()).toEqual({ delivered: count });
  const { items } = world.ledger.views.items({ kind: 'product', afterId: 0, limit: count });
  const ids = new Map(world.sandbox.inspect().organizations['acme']?.products?.map(({ sku, id }) => [sku, id]));
  for (const { naturalKey, remoteId } of items) expect(remoteId).toBe(ids.get(naturalKey ?? ''));
}

describe('new products', () => {
  it.each(['per-row', 'summary', 'none'] as const)(
    'are sent in imports after the first one has proven itself, where an answer is %s',
    async (answer) => {
      await open({ import: { answer } }, { membersMax: 50 });
      await load(20);
      expectAllOnce(20);
      expect(proof()).toEqual({ state: 'proven', answersIds: answer === 'per-row' });
      expect(world.requests()).toMatchObject({ 'product.import': 1, 'product.create': 19 });
      await load(170);
      expectAllOnce(170);
      expect(world.requests()['product.create']).toBeUndefined();
    },
  );

  it('are sent one by one where few of them are due, or the profile says so', async () => {
    await open({}, {});
    await load(4);
    expect(world.requests()['product.import']).toBeUndefined();
    await world.remove();
    await open({}, { creates: 'off' });
    await load(20);
    expectAllOnce(20);
    expect(world.requests()['product.import']).toBeUndefined();
  });

  it('are all sent in imports once the proof is there, and that is kept', async () => {
    await open({}, { membersMax: 50 });
    await load(30);
    expect(proof()).toMatchObject({ state: 'proven' });
    await world.reopen();
    world.requests();
    await load(130);
    expectAllOnce(130);
    expect(world.requests()).toMatchObject({ 'product.import': 2 });
    expect(world.requests()['product.create']).toBeUndefined();
  });

  it('are rejected by their own results', async () => {
    await open({}, { membersMax: 20 });
    await load(30);
    await load(60, (id) => (id === 45 ? { status: 'NONSENSE' } : {}));
    expect(states()).toEqual({ delivered: 59, rejected: 1 });
    expect(listed()).toHaveLength(59);
  });
});

describe('an import of new products whose answer is lost', () => {
  it.each(['reset-before', 'reset-after', 'truncate'] as const)('doubles and loses nothing: %s', async (kind) => {
    await open({}, { membersMax: 10 });
    await load(20);
    world.sandbox.faults.add({ operation: 'product.import', kind, count: 3 });
    await load(80);
    expectAllOnce(80);
  });

  it.each(['reset-before', 'reset-after', 'truncate'] as const)('also where it was the first: %s', async (kind) => {
    await open({}, { membersMax: 10 });
    world.sandbox.faults.add({ operation: 'product.import', kind, count: 2 });
    await load(80);
    expectAllOnce(80);
  });

  it('begins a new revision for each product that the list lacks', async () => {
    await open({}, { membersMax: 10 });
    await load(20);
    world.sandbox.faults.add({ operation: 'product.import', kind: 'reset-before', count: 1 });
    await load(30);
    expectAllOnce(30);
    const { timeline = [], revision } = world.ledger.views.item('product', '25') ?? {};
    expect(revision).toBe(2);
    expect(timeline.map(({ what }) => what)).toContain('unconfirmed');
  });
});

describe('an import of new products that is refused as a whole', () => {
  it('is split until the row at fault is alone', async () => {
    await open({}, { membersMax: 16 });
    await load(20);
    world.sandbox.faults.add({ operation: 'product.import', kind: 'status', status: 422, match: '"SKU-30"' });
    world.sandbox.faults.add({ operation: 'product.create', kind: 'status', status: 422, match: '"SKU-30"' });
    await load(52);
    expect(states()).toEqual({ delivered: 51, rejected: 1 });
    expect(world.ledger.views.item('product', '30')).toMatchObject({ state: 'rejected' });
    expect(listed()).toHaveLength(51);
  });

  it('is sent in smaller imports where it was too large', async () => {
    await open({ import: { rowsMax: 6 } }, { membersMax: 50 });
    await load(20);
    world.requests();
    await load(120);
    expectAllOnce(120);
    expect(world.requests()['product.import']).toBeLessThan(50);
  });
});
