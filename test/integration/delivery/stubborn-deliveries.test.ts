import { afterEach, describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/domain/delivery/outcome.ts';
import type { Reason } from '../../../src/domain/delivery/stored-reason.ts';
import type { DeliveryName } from '../../../src/domain/ports/deliveries.ts';
import { covers } from '../../support/docs/reliability.ts';
import { deliverAll, together } from '../../support/ledger/deliveries.ts';
import { items, product, text } from '../../support/ledger/items.ts';
import { createLedgerFixture, type LedgerFixture, plainEncode } from '../../support/ledger/ledger.ts';
import { pullAndMap, row } from '../../support/ledger/records.ts';
import { createVirtualWorld, type VirtualWorld } from '../../support/time/virtual-world.ts';

let world: VirtualWorld;

/** Lets time pass in small steps, so that work that does not wait for the clock can keep up. */
async function pass({ time }: VirtualWorld, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) await time.pass(100);
}
const names = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);
const HANGS: Outcome = { kind: 'ambiguous', cause: 'timeout', detail: { status: null, message: 'No answer came.' } };

describe('requests that hang', () => {
  afterEach(() => world.remove());

  it.each([1, 9])(
    'requests that hang hold nothing but their own places: %i of them keep 200 others waiting for no longer than one does',
    covers('network-slow', 'I5', 'I9'),
    async (count) => {
      world = await createVirtualWorld({});
      world.failing = ({ what, sku }) =>
        what === 'write' && sku?.startsWith('hangs') ? { outcome: HANGS, tookMs: 30_000 } : null;
      const good = names('good', 200);
      const hanging = names('hangs', count);
      // The hanging deliveries are spread among the others, each in a wake-up job of its own.
      const all = good.flatMap((name, index) => {
        const next = index % 19 === 0 ? hanging[index / 19] : undefined;
        return next === undefined ? [name] : [next, name];
      });
      const begunAt = world.time.now();
      await world.stage(all);
      await pass(world, 20_000);
      const took = good.map((name) => (world.createdAt.get(name) ?? Number.POSITIVE_INFINITY) - begunAt);
      // The first request is the scope probe, and the others wait for it for a second.
      expect(Math.max(...took)).toBeLessThan((await alone(good)) + 2000);
    },
  );

  it('deliveries behind hanging requests are handed back at the stop', covers('shutdown', 'I5', 'I6'), async () => {
    world = await createVirtualWorld({});
    world.failing = () => ({ outcome: HANGS, tookMs: 30_000 });
    await world.stage(names('hangs', 400));
    // Before the first answer a few requests are sent each second.
    await pass(world, 15_000);
    const sent = world.requests.length;
    expect(sent).toBe(32);
    const stopped = world.engine.stop();
    await pass(world, 31_000);
    await stopped;
    expect(world.requests).toHaveLength(sent);
    expect(world.states()).toEqual({ in_doubt: 32, due: 368 });
  });
});

/** How long all these deliveries take if none hangs. */
async function alone(keys: readonly string[]): Promise<number> {
  const calm = await createVirtualWorld({});
  const begunAt = calm.time.now();
  await calm.stage(keys);
  await pass(calm, 20_000);
  const last = Math.max(...calm.createdAt.values());
  await calm.remove();
  return last - begunAt;
}

describe('a delivery that cannot even be attempted', () => {
  afterEach(() => world.remove());
  const thrown = new RangeError('"" cannot stand for an id');

  it('an impossible delivery is dead-lettered once, and the others continue', covers('bad-row', 'I5'), async () => {
    world = await createVirtualWorld({});
    let encoded = 0;
    world.encode = (write) => {
      if (text(write.payload['sku']) !== 'bad') return plainEncode(write);
      encoded += 1;
      throw thrown;
    };
    await world.stage(['bad', ...names('good', 50)]);
    await pass(world, 20_000);
    expect(world.states()).toEqual({ rejected: 1, delivered: 50 });
    // Encoded once together with the others, and once more alone.
    expect(encoded).toBe(2);
    expect(world.ledger.views.item('product', 'bad')).toMatchObject({
      reason: { code: 'internal', message: 'The delivery cannot be sent: "" cannot stand for an id' },
    });
    expect(await world.engine.status()).toEqual({
      outstanding: 0,
      nextDueAt: null,
      isListing: false,
      trouble: null,
    });
  });

  it('a failed attempt is unconfirmed where bytes may have been sent', covers('bad-row', 'I5', 'I6'), async () => {
    world = await createVirtualWorld({});
    world.failing = ({ sku }) => {
      if (sku === 'bad') throw thrown;
      return null;
    };
    await world.stage(['bad', ...names('good', 5)]);
    await pass(world, 20_000);
    expect(world.states()).toEqual({ in_doubt: 1, delivered: 5 });
    expect(world.requests.filter(({ sku }) => sku === 'bad')).toHaveLength(1);
    expect((await world.engine.status()).nextDueAt).toBe(null);
  });

  it('a delivery that cannot be attempted and not dead-lettered either is reported, and is not tried in a hot loop', async () => {
    world = await createVirtualWorld({});
    let encoded = 0;
    world.encode = () => {
      encoded += 1;
      throw thrown;
    };
    const full = new Error('It cannot be dead-lettered.');
    const deadLetter = world.ledger.deadLetter.bind(world.ledger);
    world.ledger.deadLetter = () => Promise.reject(full);
    await world.stage(['bad']);
    await pass(world, 10_000);
    expect((await world.engine.status()).trouble).toBe(full);
    // Two for each attempt.
    expect(encoded).toBeGreaterThan(2);
    expect(encoded).toBeLessThan(30);
    world.ledger.deadLetter = deadLetter;
    await pass(world, 5000);
    expect(world.states()).toEqual({ rejected: 1 });
  });
});

describe('a dead letter', () => {
  let fixture: LedgerFixture;
  afterEach(() => fixture.remove());

  it('a dead letter changes nothing of an item at another revision', covers('bad-row', 'I5'), async () => {
    fixture = createLedgerFixture();
    const { ledger } = fixture;
    const stage = async (name: string) => {
      await pullAndMap(ledger, [row('A', { name })], ({ id }) => items(product(text(id), name)));
      const [due] = await ledger.dueDeliveries({ afterId: 0, limit: 1 });
      return { deliveryId: due?.id ?? 0, revision: due?.revision ?? 0 };
    };
    const reason: Reason = { code: 'internal', message: 'It cannot be sent.' };
    const first = await stage('first');
    const second = await stage('second');
    await ledger.deadLetter({ ...first, reason, isOneOfMany: false });
    expect(ledger.views.item('product', 'A')).toMatchObject({ state: 'due', reason: null });
    await ledger.deadLetter({ ...second, reason, isOneOfMany: false });
    expect(ledger.views.item('product', 'A')).toMatchObject({ state: 'rejected', reason });
  });
});

describe('a dead-lettered member of an import', () => {
  let fixture: LedgerFixture;
  afterEach(() => fixture.remove());
  const reason: Reason = { code: 'internal', message: 'It cannot be sent.' };

  it('a dead-lettered member of an import is sent alone first', covers('bad-row', 'I5'), async () => {
    fixture = createLedgerFixture();
    const { ledger } = fixture;
    await ledger.storeImportProof('changes', { state: 'proven', size: 100, answersIds: true, form: [] });
    const stage = async (name: string) => {
      await pullAndMap(
        ledger,
        ['A', 'B', 'C'].map((id) => row(id, { name })),
        ({ id }) => items(product(text(id), name)),
      );
    };
    await stage('first');
    await deliverAll(ledger);
    await stage('second');
    const [first] = await ledger.dueDeliveries({ afterId: 0, limit: 1 });
    const deadLetter = ({ id = 0, revision = 0 }: Partial<DeliveryName> = {}) =>
      ledger.deadLetter({ deliveryId: id, revision, reason, isOneOfMany: true });
    await deadLetter(first);
    expect(ledger.views.item('product', 'A')).toMatchObject({ state: 'due' });
    await deadLetter(first);
    expect(ledger.views.item('product', 'A')).toMatchObject({ state: 'rejected', reason });

    // After the import was sent, each member may have arrived.
    const left = await ledger.dueDeliveries({ afterId: 0, limit: 9 });
    await ledger.claim([together(left)]);
    await deadLetter(left[0]);
    for (const key of ['B', 'C'])
      expect(ledger.views.item('product', key)).toMatchObject({ state: 'in_doubt', reason });
    expect(await ledger.nextDueAt()).toBe(null);
  });
});
