import { afterEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/lib/json.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import { text } from '../../support/ledger/items.ts';
import { API_KEY } from '../../support/worlds/world.ts';
import { createDeliveryWorld, type DeliveryWorld, PROVEN } from './delivery-world.ts';

let world: DeliveryWorld;
afterEach(() => world.remove());

type Lies = NonNullable<SandboxOptions['lies']>;
type Profile = Parameters<typeof createDeliveryWorld>[0]['profile'];
type Proofs = NonNullable<Parameters<typeof createDeliveryWorld>[0]['proofs']>;

async function open(
  lies: Lies,
  sandbox: SandboxOptions = {},
  profile: Profile = {},
  known: Proofs = {},
): Promise<void> {
  const imports = { createsMin: 5, lostSettlesWithinMs: 10, ...profile?.imports };
  world = await createDeliveryWorld({ sandbox: { ...sandbox, lies }, profile: { ...profile, imports }, proofs: known });
}

function products(count: number, fieldsOf: (id: number) => JsonObject = () => ({})): Record<string, JsonObject> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [String(at + 1), fieldsOf(at + 1)]));
}

async function load(count: number, fieldsOf?: (id: number) => JsonObject): Promise<void> {
  await world.stage(products(count, fieldsOf));
  await world.drain();
}

/** Loads new products in steps, so that proofs of each size are sent. */
async function loadInSteps(): Promise<number> {
  for (const count of [20, 60, 200, 500]) await load(count);
  return 500;
}

const renewed = (id: number) => ({ name: `New ${id}` });
const states = () => world.ledger.views.itemCounts().product;
const proofs = () => world.ledger.views.importProofs();
const listed = () => world.sandbox.inspect().organizations['acme']?.products ?? [];
const skus = () => listed().map(({ sku }) => text(sku));
/** How many products the platform has beside the first of each SKU. */
const seconds = () => skus().length - new Set(skus()).size;

/** True if each delivered item has an id of a product with its SKU. */
function expectOwnIds(): void {
  const { items } = world.ledger.views.itemsAfter({ kind: 'product', afterId: 0, limit: 1000 });
  const sku = new Map(listed().map(({ id, sku }) => [id, sku]));
  for (const { naturalKey, remoteId } of items.filter(({ remoteId }) => remoteId !== null)) {
    expect(sku.get(remoteId as number)).toBe(naturalKey);
  }
}

describe('changed products of a platform whose import does not update', () => {
  it('one changed product is doubled, and the others are not sent', async () => {
    await open(['product.import:doubles-known']);
    await load(60);
    expect(seconds()).toBe(0);
    world.requests();
    await load(60, renewed);
    expect(seconds()).toBe(1);
    expect(world.requests()['product.import']).toBe(1);
    expect(states()).toEqual({ blocked: 60 });
    const reasons = world.ledger.views
      .itemsAfter({ state: 'blocked', afterId: 0, limit: 100 })
      .items.map(({ reason }) => reason);
    expect(reasons.filter((reason) => reason?.code === 'not_upserted')).toHaveLength(1);
    for (const reason of reasons) expect(reason?.message).toContain('`productUpdate: none`');
    expect(proofs().changes).toMatchObject({ state: 'failed', message: expect.stringContaining('second product') });
  });
});

describe('new products of a platform whose imports lie', () => {
  it('doubling from two rows on doubles the products of one proof', async () => {
    await open(['product.import:doubles-from-two']);
    const count = await loadInSteps();
    expect(new Set(skus()).size).toBe(count);
    expect(seconds()).toBe(10);
    expect(proofs().creates).toMatchObject({ state: 'failed', message: expect.stringContaining('shows 2 products') });
    // A person has to remove one of the two. Nothing of these products is sent before that.
    expect(states()).toEqual({ in_doubt: 10, delivered: count - 10 });
    expectOwnIds();
  });

  it('ids that are rotated among the rows are not used: the list gives the ids', async () => {
    await open(['product.import:rotates-ids']);
    const count = await loadInSteps();
    expect(skus()).toHaveLength(count);
    expect(seconds()).toBe(0);
    expect(states()).toEqual({ delivered: count });
    expectOwnIds();
  });

  it('an import that stores half of its rows loses nothing', async () => {
    await open(['product.import:stores-half']);
    const count = await loadInSteps();
    expect(skus().toSorted()).toEqual(Array.from({ length: count }, (_, at) => `SKU-${at + 1}`).toSorted());
    expect(states()).toEqual({ delivered: count });
    expectOwnIds();
  });

  it('an import that says an unknown word about each row is read back, and ends', async () => {
    await open(['product.import:says-processed']);
    const count = await loadInSteps();
    expect([skus().length, seconds()]).toEqual([count, 0]);
    expect(states()).toEqual({ delivered: count });
    expectOwnIds();
  });

  it.each(['product.import:refuses-many', 'product.import:fails-many'] as const)(
    'imports of many that always fail are given up: %s',
    async (lie) => {
      await open([lie]);
      for (const count of [40, 80, 120, 160, 200]) await load(count);
      expect([skus().length, seconds()]).toEqual([200, 0]);
      const {
        'product.create': creates = 0,
        'product.import': imports = 0,
        'product.list': lists = 0,
      } = world.requests();
      expect(creates).toBeLessThanOrEqual(200);
      expect(imports + lists).toBeLessThanOrEqual(15);
      expect(proofs().creates).toMatchObject({ state: 'postponed', until: expect.any(Number) });
      await world.reopen();
      await load(300);
      expect(world.requests()['product.import']).toBeUndefined();
    },
  );
});

describe('changed products of a platform whose import forgets them', () => {
  it.each(['product.import:forgets-changes', 'product.import:says-exists'] as const)(
    'no change counts as done, and the platform is asked a bounded number of times: %s',
    async (lie) => {
      await open([lie]);
      await load(40);
      world.requests();
      await load(40, renewed);
      const { delivered = 0, ...open_ } = states() ?? {};
      expect([delivered, seconds()]).toEqual([0, 0]);
      expect(open_).toEqual({ parked: 3, blocked: 37 });
      const { 'product.import': imports = 0 } = world.requests();
      expect(imports).toBeLessThanOrEqual(9);
      expect(proofs().changes).toMatchObject({ state: 'failed' });
      if (lie === 'product.import:says-exists') {
        const { items } = world.ledger.views.itemsAfter({ state: 'parked', afterId: 0, limit: 9 });
        for (const { reason } of items) expect(reason?.message).toContain('It says "exists" about the product.');
      }
    },
  );
});

describe('products that the list finds', () => {
  it('a product whose answer had a wrong id is found, and is not sent again where imports do not update', async () => {
    await open(['product.import:rotates-ids', 'product.import:doubles-known']);
    const count = await loadInSteps();
    expect(new Set(skus()).size).toBe(count);
    expect(seconds()).toBeLessThanOrEqual(1);
    expectOwnIds();
    const before = seconds();
    await load(count, renewed);
    expect(seconds()).toBeLessThanOrEqual(Math.max(1, before));
  });

  it('all products that an import of new products has changed are named and adopted', async () => {
    await open([], {}, {}, { creates: PROVEN });
    const made = Array.from({ length: 30 }, (_, at) => ({ sku: `SKU-${at + 1}`, name: 'By hand', status: 'DRAFT' }));
    for (const product of made) {
      const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' };
      await fetch(`${world.baseUrl}/api/products/`, { method: 'POST', headers, body: JSON.stringify(product) });
    }
    await load(60, () => ({ name: 'Ours' }));
    expect([skus().length, seconds()]).toEqual([60, 0]);
    const { creates } = proofs();
    expect(creates).toMatchObject({ state: 'failed', overwrote: { count: 30 } });
    expect('message' in creates ? creates.message : '').toMatch(/have changed 30 products .*SKU-1.* and 10 more/);
    expectOwnIds();
    const isAdopted = (key: string) =>
      world.ledger.views.item('product', key)?.timeline.some(({ what }) => what === 'adopted') === true;
    const adopted = Array.from({ length: 60 }, (_, at) => String(at + 1)).filter(isAdopted);
    expect(adopted).toEqual(made.map((_, at) => String(at + 1)));
  });
});

describe('what imports have proven', () => {
  it('what imports have proven is kept, and is used by the next process', async () => {
    await open([]);
    await loadInSteps();
    const { size } = proofs().creates as { size: number };
    expect(size).toBe(100);
    await world.reopen();
    world.requests();
    await load(700);
    expect(world.requests()).toEqual({ 'product.import': 2 });
  });

  it('the next import is a proof again where the answers have another form', async () => {
    const change = async (name: string): Promise<Record<string, number>> => {
      world.requests();
      await load(200, () => ({ name }));
      expect([states(), seconds()]).toEqual([{ delivered: 200 }, 0]);
      expect(new Set(Object.values(world.names()))).toEqual(new Set([name]));
      return world.requests();
    };
    await open([]);
    await load(200);
    await change('A');
    expect(await change('B')).not.toHaveProperty('product.list');
    world.sandbox.setImport({ answer: 'summary' });
    expect(await change('C')).toHaveProperty('product.list');
    expect(proofs().changes).toMatchObject({ form: expect.arrayContaining(['counted as updated']) });
    expect(await change('D')).not.toHaveProperty('product.list');
    world.sandbox.setImport({ answer: 'per-row' });
    expect(await change('E')).not.toHaveProperty('product.list');
  });
});
