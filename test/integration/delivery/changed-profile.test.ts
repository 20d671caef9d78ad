import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Decision } from '../../../src/domain/ports/deliveries.ts';
import { covers } from '../../support/docs/reliability.ts';
import { claimDue, claimOne, deliverAll, settleOne } from '../../support/ledger/deliveries.ts';
import { bomItem, items, material, product } from '../../support/ledger/items.ts';
import { useLedger } from '../../support/ledger/ledger.ts';
import { stageRows } from '../../support/ledger/records.ts';
import { createDeliveryWorld, type DeliveryWorld } from './delivery-world.ts';

const LOST = { code: 'reset', message: 'The connection was lost.' } as const;

describe('a delivery that was to be sent again, under a profile that does not allow it any more', () => {
  const fixture = useLedger();

  /** Claims the due delivery, loses its answer, and decides that it is sent again. */
  async function resend(): Promise<{ id: number; key: string; body: string | null }> {
    const { ledger, clock } = fixture;
    const { id, idempotencyKey: key, body } = await claimDue(ledger);
    const unconfirmed: Decision = { kind: 'unconfirmed', nextLookAt: clock.now(), spend: true, reason: LOST };
    await settleOne(ledger, { id, decision: unconfirmed });
    await settleOne(ledger, {
      id,
      decision: { kind: 'resend', dueAt: 0, absent: false, refund: false, reason: LOST },
    });
    expect(await ledger.dueDeliveries({ afterId: 0, limit: 10 })).toMatchObject([{ id }]);
    return { id, key, body };
  }

  async function reopen(profile: object): Promise<void> {
    await fixture.reopen(profile);
    await fixture.ledger.recover(0);
  }

  const due = () => fixture.ledger.dueDeliveries({ afterId: 0, limit: 10 });
  const unconfirmed = () => fixture.ledger.unconfirmedDeliveries({ limit: 10 });

  it('a write that may not repeat is looked up with its key and bytes', covers('answer-lost', 'I2', 'I6'), async () => {
    await reopen({ idempotency: 'honoured' });
    await stageRows(fixture.ledger, { 1: items(product('1')) });
    const sent = await resend();
    await reopen({ idempotency: 'publish' });
    expect(await due()).toEqual([]);
    expect(await unconfirmed()).toMatchObject([{ id: sent.id, operation: 'product.create', reason: LOST }]);
    // The list proves that it did not arrive, so it is sent again.
    const { id } = sent;
    await settleOne(fixture.ledger, {
      id,
      decision: { kind: 'resend', dueAt: 0, absent: true, refund: false, reason: LOST },
    });
    const again = await claimOne(fixture.ledger, id);
    expect(again).toMatchObject({ again: true, idempotencyKey: sent.key, body: sent.body });
  });

  it('a write that may not repeat is not claimed where no list shows it', covers('answer-lost', 'I6'), async () => {
    await reopen({ idempotency: 'honoured' });
    const parts = { 1: items(product('1'), material('m')) };
    await stageRows(fixture.ledger, parts);
    await deliverAll(fixture.ledger);
    await stageRows(fixture.ledger, { ...parts, 2: items(bomItem('b', '1', 'm')) });
    const { id } = await resend();
    await reopen({ idempotency: 'publish' });
    expect(await due()).toEqual([]);
    expect(await claimOne(fixture.ledger, id)).toBeNull();
    expect(fixture.ledger.views.item('bom_item', 'b')).toMatchObject({ state: 'in_doubt' });
  });

  it('an import is not claimed again once imports do not update', covers('answer-lost', 'I6'), async () => {
    await reopen({});
    await stageRows(fixture.ledger, { 1: items(product('1')) });
    await deliverAll(fixture.ledger);
    await stageRows(fixture.ledger, { 1: items(product('1', 'Changed')) });
    await resend();
    await reopen({ productUpdate: 'none' });
    expect(await due()).toEqual([]);
    expect(await unconfirmed()).toMatchObject([{ operation: 'product.import' }]);
  });

  it(
    'a delivery that the changed profile does not allow to repeat has the reason of an unconfirmed one where its last answer was a limit',
    covers('throttled', 'I6'),
    async () => {
      await reopen({ idempotency: 'honoured' });
      await stageRows(fixture.ledger, { 1: items(product('1')) });
      const { id } = await resend();
      await claimOne(fixture.ledger, id);
      const reason = { code: 'throttled', message: 'Too many requests.' } as const;
      await settleOne(fixture.ledger, { id, decision: { kind: 'retry', dueAt: 0, spend: false, reason } });
      await reopen({ idempotency: 'publish' });
      expect(await unconfirmed()).toMatchObject([{ id, reason: { code: 'timeout' } }]);
    },
  );

  it('a delivery is sent again under an unchanged profile, also where the platform still worked on it', async () => {
    await reopen({});
    await stageRows(fixture.ledger, { 1: items(product('1'), material('m')) });
    await deliverAll(fixture.ledger);
    await stageRows(fixture.ledger, { 1: items(product('1'), material('m')), 2: items(bomItem('b', '1', 'm')) });
    const [first] = await due();
    const id = first?.id ?? 0;
    await claimOne(fixture.ledger, id);
    const reason = { code: 'in_flight', message: 'An earlier request is being processed.', since: 1 } as const;
    await settleOne(fixture.ledger, {
      id,
      decision: { kind: 'retry', dueAt: 0, spend: false, uncertain: true, reason },
    });
    await reopen({});
    expect(await due()).toMatchObject([{ id, operation: 'bom_item.create' }]);
  });
});

describe('a platform that ignores keys, unlike the profile', () => {
  let world: DeliveryWorld;
  beforeEach(async () => {
    world = await createDeliveryWorld({
      sandbox: {
        idempotency: 'ignored',
        duplicates: { taken: true },
        faults: [{ operation: 'product.create', kind: 'reset-after', count: 1 }],
      },
      profile: { idempotency: 'honoured' },
    });
  });
  afterEach(() => world.remove());

  it(
    'a platform that ignores keys gets no second product if the profile is corrected before the create is sent again',
    covers(['answer-lost', 'keys-ignored'], 'I6'),
    async () => {
      await world.stage({ 1: { name: 'One' } });
      await world.send(await world.ledger.dueDeliveries({ afterId: 0, limit: 9 }));
      const [{ id, revision, reason }] = await untilUnconfirmed();
      const decision: Decision = { kind: 'resend', dueAt: 0, absent: false, refund: false, reason };
      await world.ledger.settle([
        { claim: null, keep: false, groupMax: null, settlements: [{ id, revision, decision }] },
      ]);
      await world.reopen({ idempotency: 'publish' });
      await world.drain();
      expect(world.requests()).toMatchObject({ 'product.create': 1 });
      expect(world.sandbox.inspect().organizations['acme']?.products).toHaveLength(1);
      expect(world.ledger.views.itemCounts().product).toEqual({ delivered: 1 });
    },
  );

  /** The unconfirmed delivery, once its settling delay is over. */
  async function untilUnconfirmed() {
    await expect.poll(() => world.ledger.unconfirmedDeliveries({ limit: 1 })).toHaveLength(1);
    const [found] = await world.ledger.unconfirmedDeliveries({ limit: 1 });
    if (found === undefined) throw new Error('Nothing is unconfirmed.');
    return [found] as const;
  }
});
