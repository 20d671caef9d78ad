import { afterEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/lib/json.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import { text } from '../../support/ledger/items.ts';
import { createDeliveryWorld, type DeliveryWorld, PROVEN } from './delivery-world.ts';

let world: DeliveryWorld;
afterEach(() => world.remove());

type Options = Parameters<typeof createDeliveryWorld>[0];

type Imports = NonNullable<Options['profile']>['imports'];

async function open(sandbox: SandboxOptions = {}, imports: Imports = {}, proofs: Options['proofs'] = {}) {
  world = await createDeliveryWorld({ sandbox, profile: { imports: { createsMin: 5, ...imports } }, proofs });
}

/** This many new products by id, with the fields that the function gives. */
function products(count: number, fieldsOf: (id: number) => JsonObject = () => ({})): Record<string, JsonObject> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [String(at + 1), fieldsOf(at + 1)]));
}

async function load(count: number, fieldsOf?: (id: number) => JsonObject): Promise<void> {
  await world.stage(products(count, fieldsOf));
  await world.drain();
}

const states = () => world.ledger.views.itemCounts().product;
const proof = () => world.ledger.views.importProofs().creates;
/** How often each SKU is at the platform. */
const listed = () => world.sandbox.inspect().organizations['acme']?.products?.map(({ sku }) => text(sku)) ?? [];
const expected = (count: number) => Array.from({ length: count }, (_, at) => `SKU-${at + 1}`).toSorted();

/** All products are at the platform once, and the ledger has the id of each. */
function expectAllOnce(count: number): void {
  expect(listed().toSorted()).toEqual(expected(count));
  expect(states()).toEqual({ delivered: count });
  const { items } = world.ledger.views.itemsAfter({ kind: 'product', afterId: 0, limit: count });
  const ids = new Map(world.sandbox.inspect().organizations['acme']?.products?.map(({ sku, id }) => [sku, id]));
  for (const { naturalKey, remoteId } of items) expect(remoteId).toBe(ids.get(naturalKey ?? ''));
}

describe('new products', () => {
  it.each(['per-row', 'summary', 'none'] as const)(
    'new products are sent in imports after the first import has proven itself, where an answer is %s',
    async (answer) => {
      await open({ import: { answer } }, { membersMax: 50 });
      await load(20);
      expectAllOnce(20);
      expect(proof()).toMatchObject({ state: 'proven', answersIds: answer === 'per-row' });
      expect(world.requests()).toMatchObject({ 'product.import': 1, 'product.create': 19 });
      // The next proofs have ten products, and then as many as an import may have.
      await load(40);
      expect(proof()).toMatchObject({ size: 10 });
      await load(100);
      expect(proof()).toMatchObject({ size: 50 });
      world.requests();
      await load(170);
      expectAllOnce(170);
      expect(world.requests()['product.create']).toBeUndefined();
    },
  );

  it('new products are sent one by one where few of them are due, or the profile says so', async () => {
    await open({}, {});
    await load(4);
    expect(world.requests()['product.import']).toBeUndefined();
    await world.remove();
    await open({}, { creates: 'off' });
    await load(20);
    expectAllOnce(20);
    expect(world.requests()['product.import']).toBeUndefined();
  });

  it('new products are all sent in imports once the import proof is there, and the next sync still has the proof', async () => {
    await open({}, { membersMax: 50 });
    for (const count of [10, 20, 30]) await load(count);
    expect(proof()).toMatchObject({ state: 'proven', size: 10 });
    await load(80);
    expect(proof()).toMatchObject({ size: 50 });
    await world.reopen();
    world.requests();
    await load(180);
    expectAllOnce(180);
    const requests = world.requests();
    expect(requests).toMatchObject({ 'product.import': 2 });
    expect(requests['product.create']).toBeUndefined();
  });

  it('new products that an import refuses are rejected by their own results', async () => {
    await open({}, { membersMax: 20 });
    await load(30);
    await load(60, (id) => (id === 45 ? { status: 'NONSENSE' } : {}));
    expect(states()).toEqual({ delivered: 59, rejected: 1 });
    expect(listed()).toHaveLength(59);
  });
});

describe('an import of new products whose answer is lost', () => {
  it.each(['reset-before', 'reset-after', 'truncate'] as const)(
    'an import of new products with a lost answer loses nothing: %s',
    async (kind) => {
      await open({}, { membersMax: 10, lostSettlesWithinMs: 10 });
      await load(20);
      world.sandbox.faults.add({ operation: 'product.import', kind, count: 3 });
      await load(80);
      expectAllOnce(80);
    },
  );

  it.each(['reset-before', 'reset-after', 'truncate'] as const)(
    'the first import of new products whose answer is lost makes each product once: %s',
    async (kind) => {
      await open({}, { membersMax: 10, settlesWithinMs: 100 });
      world.sandbox.faults.add({ operation: 'product.import', kind, count: 2 });
      await load(80);
      expectAllOnce(80);
    },
  );

  it('an import of new products whose answer is lost begins a new revision for each product that the list lacks', async () => {
    await open({}, { membersMax: 10, lostSettlesWithinMs: 10 });
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
  it('an import of new products that is refused as a whole is split until the row at fault is alone', async () => {
    await open({}, { membersMax: 16 });
    await load(20);
    world.sandbox.faults.add({ operation: 'product.import', kind: 'status', status: 422, match: '"SKU-30"' });
    world.sandbox.faults.add({ operation: 'product.create', kind: 'status', status: 422, match: '"SKU-30"' });
    await load(52);
    expect(states()).toEqual({ delivered: 51, rejected: 1 });
    expect(world.ledger.views.item('product', '30')).toMatchObject({ state: 'rejected' });
    expect(listed()).toHaveLength(51);
  });

  it.each([
    { rowsMax: 6 },
    { rowsMax: 6, rowsMaxStatus: 413 as const },
    { bytesMax: 400, bytesMaxAnswer: 'nginx' as const },
  ])('an import of new products that was too large is sent in smaller imports: %j', async (limits) => {
    await open({ import: limits }, { membersMax: 50 });
    await load(20);
    world.requests();
    await load(120);
    expectAllOnce(120);
    // Far fewer than one for each product, also where a busy machine sends imports that are not full.
    expect(world.requests()['product.import']).toBeLessThan(90);
  });
});

describe('an import that stores its rows after its answer', () => {
  const LATER = { import: { answer: 'later', storesAfterMs: 400 } } as const;

  it.each([null, 1500])(
    'an import that stores its rows after its answer doubles and loses nothing, where the profile says %s about the time',
    async (settlesWithinMs) => {
      await open(LATER, { membersMax: 10, settlesWithinMs });
      await load(20);
      expectAllOnce(20);
      expect(proof()).toMatchObject({ state: 'proven', size: 1, answersIds: false });
      await load(40);
      expect(proof()).toMatchObject({ size: 10 });
      world.requests();
      await load(90);
      expectAllOnce(90);
      expect(world.requests()['product.create']).toBeUndefined();
    },
  );

  it('an import that stores its rows late is not sent again where its answer was lost and the profile gives no time for it', async () => {
    await open(LATER, { membersMax: 10 });
    await load(20);
    world.sandbox.faults.add({ operation: 'product.import', kind: 'reset-after', count: 2 });
    await load(60);
    expectAllOnce(60);
  });

  it('an import that never arrived is sent again after the time that the profile gives for storing its rows', async () => {
    await open(LATER, { membersMax: 10, settlesWithinMs: 1500 });
    await load(20);
    world.sandbox.faults.add({ operation: 'product.import', kind: 'reset-before', count: 1 });
    await load(40);
    expectAllOnce(40);
  });
});

describe('an import that makes a second product', () => {
  it('an import that makes a second product is noticed at the first product, and the others are sent one by one', async () => {
    await open({ import: { doublesNew: true } });
    await load(60);
    const seconds = listed().length - new Set(listed()).size;
    expect([seconds, new Set(listed()).size]).toEqual([1, 60]);
    expect(world.requests()).toMatchObject({ 'product.import': 1, 'product.create': 59 });
    expect(proof()).toMatchObject({ state: 'failed', message: expect.stringContaining('shows 2 products') });
    // A person has to remove one of the two products.
    expect(states()).toEqual({ in_doubt: 1, delivered: 59 });
    await world.reopen();
    await load(90);
    expect(world.requests()['product.import']).toBeUndefined();
  });
});

describe('an import that fails in the middle', () => {
  it.each(['error', 'reset'] as const)('an import that fails in the middle loses nothing: %s', async (ending) => {
    await open({}, { membersMax: 20, lostSettlesWithinMs: 10 });
    await load(20);
    const fault = { operation: 'product.import', kind: 'partial-import', rows: 7, ending, count: 1 } as const;
    world.sandbox.faults.add(fault);
    world.sandbox.faults.add({ ...fault, skip: 1 });
    await load(100);
    expectAllOnce(100);
  });
});

describe('a first import whose product is refused', () => {
  it('a refused product of a first import costs that row alone, and the next product becomes the import proof', async () => {
    await open({}, { membersMax: 16 });
    await load(60, (id) => (id === 1 ? { status: 'NONSENSE' } : {}));
    expect(states()).toEqual({ delivered: 59, rejected: 1 });
    expect(proof()).toMatchObject({ state: 'proven' });
  });
});

describe('an import that refuses all rows because of one', () => {
  it.each(['refuses-all', 'refuses-all-named'] as const)(
    'a bad row that refuses its whole import costs itself: %s',
    async (badRow) => {
      await open({ import: { badRow } }, { membersMax: 16 }, { creates: PROVEN });
      await load(20);
      world.requests();
      await load(52, (id) => (id === 33 ? { status: 'NONSENSE' } : {}));
      expect(states()).toEqual({ delivered: 51, rejected: 1 });
      expect(world.ledger.views.item('product', '33')).toMatchObject({ state: 'rejected' });
      // Nearly all of the other products of its import go in smaller imports.
      expect(world.requests()['product.create'] ?? 0).toBeLessThan(6);
      expect(listed().toSorted()).toEqual(expected(52).filter((sku) => sku !== 'SKU-33'));
    },
  );
});
