import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Reason } from '../../../src/domain/delivery/stored-reason.ts';
import { covers } from '../../support/docs/reliability.ts';
import { claimDue, settleOne } from '../../support/ledger/deliveries.ts';
import { items, product, text } from '../../support/ledger/items.ts';
import { useLedger } from '../../support/ledger/ledger.ts';
import { pullAndMap, row } from '../../support/ledger/records.ts';
import { createDeliveryWorld, type DeliveryWorld } from './delivery-world.ts';

const HOURS = 3_600_000;
const GATE: Reason = { code: 'gate', message: 'The review is missing.', status: 409 };

describe('what a business rule has blocked', () => {
  const fixture = useLedger();
  beforeEach(async () => {
    await pullAndMap(fixture.ledger, [row('P1')], ({ id }) => items(product(text(id))));
  });

  /** Claims the due delivery and blocks it by a business rule. Returns its idempotency key and revision. */
  async function block(recheckAt: number | undefined, reason = GATE) {
    const claimed = await claimDue(fixture.ledger);
    const decision = { kind: 'blocked' as const, reason, ...(recheckAt === undefined ? {} : { recheckAt }) };
    const settled = await settleOne(fixture.ledger, { id: claimed.id, decision });
    return { ...claimed, failedAgain: settled.failedAgain === true };
  }
  const recheck = () => fixture.ledger.recheckBlocked({ limit: 100 });
  const inAnHour = () => fixture.clock.now() + HOURS;
  const state = () => fixture.ledger.views.item('product', 'P1')?.state;

  it('a blocked delivery is sent at its time, as a new revision with a new key', covers('gate', 'I5'), async () => {
    const first = await block(inAnHour());
    fixture.clock.advance(HOURS - 1);
    expect([await recheck(), state()]).toEqual([{ staged: 0, more: false }, 'blocked']);
    fixture.clock.advance(1);
    expect([await recheck(), state()]).toEqual([{ staged: 1, more: false }, 'due']);
    const second = await block(inAnHour());
    expect([second.body, second.revision]).toEqual([first.body, first.revision + 1]);
    expect(second.idempotencyKey).not.toBe(first.idempotencyKey);
  });

  it('a delivery that a business rule has blocked is left alone where no time was set, and where the profile says never', async () => {
    await block(undefined, { ...GATE, code: 'unsupported' });
    fixture.clock.advance(1000 * HOURS);
    expect(await recheck()).toEqual({ staged: 0, more: false });
    await fixture.ledger.replay({
      records: [{ id: 1, version: 1, result: items(product('P1')) }],
      dryRun: false,
    });
    await block(inAnHour());
    fixture.clock.advance(1000 * HOURS);
    await fixture.reopen({ recheckBlockedMs: 0 });
    expect([await recheck(), state()]).toEqual([{ staged: 0, more: false }, 'blocked']);
  });

  it('a write that is blocked again for the same reason has failed again, and another reason or another content is a new failure', async () => {
    const failedAgain: boolean[] = [];
    const blockAgain = async (message: string) => {
      failedAgain.push((await block(inAnHour(), { ...GATE, message })).failedAgain);
      fixture.clock.advance(HOURS);
      await recheck();
    };
    for (let round = 0; round < 4; round += 1) await blockAgain(`The review of "${round}" is missing.`);
    expect(failedAgain.splice(0)).toEqual([false, true, true, true]);
    await blockAgain('The country is missing.');
    await blockAgain('The country is missing.');
    expect(failedAgain.splice(0)).toEqual([false, true]);
    await pullAndMap(fixture.ledger, [row('P1', { name: 'new' })], ({ id }) => items(product(text(id), 'new')));
    await blockAgain('The country is missing.');
    await blockAgain('The country is missing.');
    expect(failedAgain).toEqual([false, true]);
  });

  it(
    'the history of a blocked delivery does not grow while the business rule refuses, and shows the first and the last refusal',
    covers('gate', 'I9'),
    async () => {
      const first = fixture.clock.now();
      for (let round = 0; round < 50; round += 1) {
        await block(inAnHour());
        fixture.clock.advance(HOURS);
        expect((await recheck()).staged).toBe(1);
      }
      await block(inAnHour());
      const { timeline, revision } = fixture.ledger.views.item('product', 'P1') ?? { timeline: [], revision: 0 };
      expect(revision).toBe(51);
      const refusals = timeline.filter(({ what }) => what === 'blocked');
      expect(refusals.map(({ at }) => (at - first) / HOURS)).toEqual([0, 50]);
      expect(timeline.length).toBeLessThan(10);
    },
  );
});

describe('a platform that repeats its refusals', () => {
  let world: DeliveryWorld;
  afterEach(() => world.remove());

  it(
    'a platform that repeats its refusals accepts a blocked delivery by itself once the business rule allows it',
    covers(['cached-refusal', 'gate'], 'I5', 'I6'),
    async () => {
      world = await createDeliveryWorld({
        sandbox: { idempotency: 'honoured', idempotencyReplays: 'everything' },
        profile: { recheckBlockedMs: 50 },
      });
      world.sandbox.faults.add({ operation: 'product.create', kind: 'status', status: 409, match: 'SKU-P1', count: 1 });
      await world.stage({ P1: {}, P2: {} });
      await world.drain();
      expect(world.names()).toEqual({ 'SKU-P2': 'P2' });
      expect(world.ledger.views.item('product', 'P1')).toMatchObject({ state: 'blocked', reason: { code: 'gate' } });
      let staged = 0;
      while (staged === 0) ({ staged } = await world.ledger.recheckBlocked({ limit: 10 }));
      await world.drain();
      expect(world.names()).toEqual({ 'SKU-P1': 'P1', 'SKU-P2': 'P2' });
    },
  );
});
