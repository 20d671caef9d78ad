import { afterEach, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/lib/json.ts';
import type { SandboxOptions } from '../../../src/sandbox/settings/settings.ts';
import { claimOne, settleOne, together } from '../../support/ledger/deliveries.ts';
import { text } from '../../support/ledger/items.ts';
import { API_KEY } from '../../support/worlds/world.ts';
import { createDeliveryWorld, type DeliveryWorld, PROVEN } from './delivery-world.ts';

let world: DeliveryWorld;
afterEach(() => world.remove());

type Options = Parameters<typeof createDeliveryWorld>[0];

/** This many products by id, with the fields that the function gives. */
function products(count: number, fieldsOf: (id: string) => JsonObject): Record<string, JsonObject> {
  const ids = Array.from({ length: count }, (_, index) => String(index + 1));
  return Object.fromEntries(ids.map((id) => [id, fieldsOf(id)]));
}

const old = (id: string) => ({ name: `Old ${id}` });
const renewed = (id: string) => ({ name: `New ${id}` });
/** Changes every product. One of them gets a value that the platform refuses. */
const withBadRow = (bad: string) => (id: string) => ({ ...renewed(id), ...(id === bad && { status: 'NONSENSE' }) });

/** The names of this many products at the platform. Only some of the products were changed. */
function names(count: number, isNew: (id: string) => boolean = () => true): Record<string, string> {
  const all = products(count, (id) => (isNew(id) ? renewed(id) : old(id)));
  return Object.fromEntries(Object.entries(all).map(([id, { name }]) => [`SKU-${id}`, text(name)]));
}

/** A world in which this many products were delivered, and none has changed yet. */
async function delivered(count: number, sandbox: SandboxOptions = {}, profile: Options['profile'] = {}) {
  world = await createDeliveryWorld({ sandbox, profile, proofs: { changes: PROVEN } });
  await world.stage(products(count, old));
  await world.drain();
  expect(states()).toEqual({ delivered: count });
  world.requests();
}

const states = () => world.ledger.views.itemCounts().product;
const itemOf = (key: string) => world.ledger.views.item('product', key);

async function change(count: number, fieldsOf: (id: string) => JsonObject = renewed): Promise<void> {
  await world.stage(products(count, fieldsOf));
  await world.drain();
}

describe('changed products', () => {
  it('changed products are sent as one import, and each has its own history', async () => {
    await delivered(5);
    await change(5);
    expect(world.requests()).toEqual({ 'product.import': 1 });
    expect(world.names()).toEqual(names(5));
    expect(states()).toEqual({ delivered: 5 });
    const timeline = itemOf('3')?.timeline.slice(-3);
    expect(timeline?.map(({ what, operation }) => `${what} ${operation}`)).toEqual([
      'staged product.import',
      'sent product.import',
      'delivered product.import',
    ]);
    const settled = world.events.filter((event) => event.type === 'settled').slice(-5);
    expect(settled.filter(({ latencyMs }) => latencyMs !== null)).toHaveLength(1);
    expect(settled).toMatchObject(['1', '2', '3', '4', '5'].map((key) => ({ key, state: 'delivered', status: null })));
  });

  it('changed products lose at the platform the fields that they no longer have', async () => {
    await delivered(1);
    await change(1, (id) => ({ ...old(id), description: 'Will go again.' }));
    await change(1, old);
    expect(world.products()).toMatchObject({ 'SKU-1': { name: 'Old 1', description: null } });
  });

  it('changed products are split over imports where one import has room for no more members', async () => {
    await delivered(5, {}, { imports: { membersMax: 2 } });
    await change(5);
    expect(world.requests()).toEqual({ 'product.import': 3 });
    expect(world.names()).toEqual(names(5));
  });

  it('changed products are split over imports where one import has room for no more bytes', async () => {
    await delivered(6, {}, { imports: { bytesMax: 1024 } });
    await change(6, (id) => ({ ...renewed(id), description: 'x'.repeat(400) }));
    expect(world.requests()).toEqual({ 'product.import': 3 });
    expect(world.names()).toEqual(names(6));
  });

  it('changed products that the platform had with other content are written once a person accepts that', async () => {
    world = await createDeliveryWorld({ proofs: { changes: PROVEN } });
    await fetch(`${world.baseUrl}/api/products/`, {
      method: 'POST',
      headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
      body: JSON.stringify({ sku: 'SKU-1', name: 'From before' }),
    });
    world.requests();
    await change(2);
    expect(world.requests()).toEqual({ 'product.create': 2, 'product.list': 1 });
    expect(world.names()).toMatchObject({ 'SKU-1': 'From before' });
    expect(await world.ledger.acceptAdopted('erp')).toEqual({ product: 1 });
    await world.drain();
    expect(world.requests()).toEqual({ 'product.import': 1 });
    expect(world.names()).toEqual(names(2));
  });

  it('changed products are not imported under another SKU, which would make a second product', async () => {
    await delivered(2);
    await change(2, (id) => ({ ...renewed(id), sku: `NEW-${id}` }));
    expect(states()).toEqual({ blocked: 2 });
    expect(itemOf('1')?.reason).toMatchObject({ code: 'renamed' });
    expect(world.requests()).toEqual({});
    await change(2);
    expect(world.names()).toEqual(names(2));
  });

  it('changed products are not imported under another SKU where only their presence was known', async () => {
    world = await createDeliveryWorld({ proofs: { changes: PROVEN } });
    await world.stage(products(1, old));
    const [due] = await world.ledger.dueDeliveries({ afterId: 0, limit: 1 });
    await claimOne(world.ledger, due?.id ?? 0);
    await world.stage(products(1, (id) => ({ ...old(id), sku: 'NEW' })));
    const decision = { kind: 'delivered', remoteId: 7, contentKnown: false, by: 'read_back' } as const;
    await settleOne(world.ledger, { id: due?.id ?? 0, decision });
    expect(itemOf('1')?.reason).toMatchObject({ code: 'renamed' });
  });

  it('changed products are blocked where the profile says that an import does not update, and sent once it says otherwise', async () => {
    await delivered(3, {}, { productUpdate: 'none' });
    await change(3, withBadRow('2'));
    expect(states()).toEqual({ blocked: 3 });
    expect(itemOf('1')?.reason).toMatchObject({ code: 'unsupported' });
    expect(world.requests()).toEqual({});
    await world.reopen({ productUpdate: 'import' });
    expect(states()).toEqual({ due: 3 });
    await world.drain();
    expect(states()).toEqual({ delivered: 2, rejected: 1 });
    await world.stage(products(3, (id) => (id === '3' ? old(id) : withBadRow('2')(id))));
    await world.reopen({ productUpdate: 'none' });
    expect(states()).toEqual({ delivered: 1, blocked: 2 });
    world.requests();
    await world.drain();
    expect(world.requests()).toEqual({});
  });

  it('changed products are blocked by a platform that has no import, and none is sent one by one', async () => {
    await delivered(4, { faults: [{ operation: 'product.import', kind: 'status', status: 404 }] });
    await change(4);
    expect(states()).toEqual({ blocked: 4 });
    expect(itemOf('1')?.reason).toMatchObject({ code: 'unsupported', status: 404 });
    expect(world.requests()).toEqual({ 'product.import': 1 });
  });
});

/** Nothing is sent again before the platform is known to be there. */
const ASKED_FIRST = { 'product.list': 1 };

describe('a bad row costs only itself', () => {
  it('a bad row costs only itself where the answer names each row', async () => {
    await delivered(4);
    await change(4, withBadRow('2'));
    expect(states()).toEqual({ delivered: 3, rejected: 1 });
    expect(world.names()).toEqual(names(4, (id) => id !== '2'));
    expect(itemOf('2')?.reason).toMatchObject({ code: 'refused', fields: { status: expect.any(String) as string } });
    expect(world.requests()).toEqual({ 'product.import': 1 });
    await change(4);
    expect(world.names()).toEqual(names(4));
  });

  it.each(['summary', 'none'] as const)(
    'a bad row costs only itself where the answer is: %s, and the list has to tell',
    async (answer) => {
      await delivered(4, { import: { answer } });
      await change(4, withBadRow('2'));
      expect(states()).toEqual({ delivered: 3, parked: 1 });
      expect(world.names()).toEqual(names(4, (id) => id !== '2'));
      expect(itemOf('2')?.reason).toMatchObject({ code: 'exhausted' });
      expect(itemOf('3')?.timeline.filter(({ what }) => what === 'read_back')).toHaveLength(1);
      // The products that arrived were sent once. The other one was sent as often as the profile allows.
      expect(world.requests()).toEqual({ 'product.import': 3, 'product.list': 3 });
      // It is proven that this product has not arrived, so a corrected row replaces the delivery.
      await change(4);
      expect(states()).toEqual({ delivered: 4 });
      expect(world.names()).toEqual(names(4));
    },
  );

  it('a bad row costs only itself where the import is refused as a whole without a word about its rows', async () => {
    await delivered(8, { faults: [{ operation: 'product.import', kind: 'status', status: 422, match: 'NONSENSE' }] });
    await change(8, withBadRow('6'));
    expect(states()).toEqual({ delivered: 7, rejected: 1 });
    expect(world.names()).toEqual(names(8, (id) => id !== '6'));
    // 8, then 4 + 4, 2 + 2, 1 + 1.
    expect(world.requests()).toEqual({ 'product.import': 7 });
  });

  it('a bad row costs only itself where the import fails at the platform each time that the row is in it', async () => {
    await delivered(4, { faults: [{ operation: 'product.import', kind: 'status', status: 500, match: 'NONSENSE' }] });
    await change(4, (id) => ({ ...renewed(id), ...(id === '3' && { description: 'NONSENSE' }) }));
    expect(states()).toEqual({ delivered: 3, parked: 1 });
    expect(world.names()).toEqual(names(4, (id) => id !== '3'));
    expect(itemOf('3')?.reason).toMatchObject({ code: 'exhausted', status: 500 });
    expect(itemOf('3')?.attempts).toBe(3);
    // The write may have arrived nevertheless, so the delivery that replaces it writes all fields.
    await change(4);
    expect(states()).toEqual({ delivered: 4 });
    expect(world.names()).toEqual(names(4));
  });

  it('a bad row costs only itself where nobody knows whether it arrived when its attempts were spent, and it changes back', async () => {
    const fault = { operation: 'product.import', kind: 'status', status: 500, effect: 'done', match: 'New 1' } as const;
    await delivered(1, { faults: [fault] });
    await change(1);
    expect([states(), world.names()]).toEqual([{ parked: 1 }, names(1)]);
    await change(1, old);
    expect([states(), world.names()]).toEqual([{ delivered: 1 }, names(1, () => false)]);
  });

  it('a bad row costs only itself where the platform takes smaller imports than the profile thinks', async () => {
    await delivered(6, { bodyBytesMax: 150 });
    await change(6);
    expect(states()).toEqual({ delivered: 6 });
    expect(world.names()).toEqual(names(6));
  });

  it('a bad row costs only itself where the platform takes fewer rows than the profile thinks', async () => {
    await delivered(6, { import: { rowsMax: 2 } });
    await change(6);
    expect(states()).toEqual({ delivered: 6 });
  });
});

describe('an import without a usable answer', () => {
  it('an import without a usable answer is sent again after a 429, however often, and uses no attempt', async () => {
    const throttle = { kind: 'status', status: 429, retryAfterSeconds: 0, count: 5 } as const;
    await delivered(3, { faults: [{ operation: 'product.import', ...throttle }] });
    await change(3);
    expect(states()).toEqual({ delivered: 3 });
    expect(world.requests()).toEqual({ 'product.import': 6 });
    expect(itemOf('1')?.timeline.map(({ what }) => what)).not.toContain('retry');
  });

  it('an import without a usable answer is sent again with the same bytes and key', async () => {
    const honoured = { idempotency: 'honoured' as const };
    const faults = [{ operation: 'product.import' as const, kind: 'reset-after' as const, count: 1 }];
    await delivered(3, { ...honoured, faults }, honoured);
    await change(3);
    expect(states()).toEqual({ delivered: 3 });
    // The platform replays an answer only where key, path and body are the same.
    expect(world.sandbox.inspect().replayed).toBe(1);
    const counts = world.sandbox.inspect().writes.filter(({ operation }) => operation === 'product.import');
    expect(counts.map(({ count }) => count)).toEqual([1, 1, 1]);
  });

  it('an import without a usable answer makes no second product where the platform ignores keys', async () => {
    const faults = [{ operation: 'product.import' as const, kind: 'reset-after' as const, count: 1 }];
    await delivered(3, { idempotency: 'ignored', faults });
    await change(3);
    expect(world.requests()).toEqual({ 'product.import': 2, ...ASKED_FIRST });
    expect(world.names()).toEqual(names(3));
    expect(states()).toEqual({ delivered: 3 });
  });

  it('an import without a usable answer ends with the newer content of a product that changed while it was in flight', async () => {
    await delivered(3, { faults: [{ operation: 'product.import', kind: 'latency', ms: 60_000, count: 1 }] });
    const under = change(3);
    await expect.poll(() => world.sandbox.inspect().faults[0]?.used).toBe(1);
    const newer = (id: string) => (id === '2' ? { name: 'Newest' } : renewed(id));
    await world.stage(products(3, newer));
    expect(itemOf('2')?.state).toBe('sending');
    world.endLatency();
    await under;
    expect(world.names()).toEqual({ ...names(3), 'SKU-2': 'Newest' });
    expect(world.requests()).toEqual({ 'product.import': 2 });
  });

  it('an import without a usable answer brings no old content back for a product that changed before it was sent again', async () => {
    await delivered(3, {
      faults: [{ operation: 'product.import', kind: 'status', status: 502, effect: 'done', count: 1 }],
    });
    await world.stage(products(3, renewed));
    await world.send(await world.ledger.dueDeliveries({ afterId: 0, limit: 9 }));
    expect(states()).toEqual({ in_doubt: 3 });
    await change(3, (id) => (id === '2' ? { name: 'Newest' } : renewed(id)));
    expect(world.names()).toEqual({ ...names(3), 'SKU-2': 'Newest' });
    expect(world.requests()).toEqual({ 'product.import': 3, ...ASKED_FIRST });
  });

  it('an import without a usable answer is finished after the process that sent it has ended', async () => {
    await delivered(3);
    await world.stage(products(3, renewed));
    await world.ledger.claim([together(await world.ledger.dueDeliveries({ afterId: 0, limit: 9 }))]);
    await world.reopen();
    expect(states()).toEqual({ in_doubt: 3 });
    await world.drain();
    expect(world.requests()).toEqual({ 'product.import': 1, ...ASKED_FIRST });
    expect(world.names()).toEqual(names(3));
  });
});

it.each([1, 2])('a series of imports ends with what the source asks for, whatever fails (seed %i)', async (seed) => {
  const retry = { attemptsMax: 100, backoff: { baseMs: 2, capMs: 4 } };
  await delivered(
    12,
    { import: { answer: seed % 2 === 0 ? 'none' : 'per-row' } },
    { retry, imports: { membersMax: 5 } },
  );
  const mishap = { operation: 'product.import', probability: 0.15 } as const;
  world.sandbox.faults.add({ ...mishap, kind: 'reset-before', seed });
  world.sandbox.faults.add({ ...mishap, kind: 'reset-after', seed: seed + 10 });
  world.sandbox.faults.add({ ...mishap, kind: 'truncate', seed: seed + 20 });
  world.sandbox.faults.add({ ...mishap, kind: 'status', status: 500, effect: 'done', seed: seed + 30 });
  world.sandbox.faults.add({ ...mishap, kind: 'status', status: 429, retryAfterSeconds: 0, seed: seed + 40 });
  world.sandbox.faults.add({ ...mishap, kind: 'status', status: 422, seed: seed + 50, match: '"SKU-2"' });
  world.sandbox.faults.add({ ...mishap, kind: 'duplicate', seed: seed + 60 });
  for (let round = 1; round <= 3; round += 1) {
    await world.stage(
      products(12, (id) => (Number(id) % (round + 1) === 0 ? { name: `Round ${round}` } : renewed(id))),
    );
    const under = world.drain();
    await world.stage(products(12, (id) => (Number(id) % 4 === 0 ? { name: `Late ${round}` } : renewed(id))));
    await under;
    await world.ledger.claim([together(await world.ledger.dueDeliveries({ afterId: 0, limit: 99 }))]);
    await world.reopen();
  }
  world.sandbox.faults.clear();
  await world.stage(products(12, (id) => ({ name: `Last ${id}` })));
  await world.drain();
  const rejected = world.ledger.views
    .itemsAfter({ state: 'rejected', afterId: 0, limit: 99 })
    .items.map(({ key }) => key);
  expect(rejected).toEqual([]);
  expect(states()).toEqual({ delivered: 12 });
  expect(world.names()).toEqual(
    Object.fromEntries(Object.keys(names(12)).map((sku) => [sku, sku.replace('SKU-', 'Last ')])),
  );
});
