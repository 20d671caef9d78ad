import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLocalAdmin, operationContext } from '../../../src/admin/local-admin.ts';
import type { Runtime } from '../../../src/daemon/runtime.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { type SettleRequest, settle } from '../../../src/operations/settle.ts';
import { settleSelected } from '../../../src/operations/settle-selected.ts';
import { covers } from '../../support/docs/reliability.ts';
import { claimOne, LOST, settleOne } from '../../support/ledger/deliveries.ts';
import { createAtPlatform, MATERIAL_M1, PRODUCT_P1, stageLostAnswers } from '../../support/worlds/settle-world.ts';
import { SMALL_SOURCES } from '../../support/worlds/small-export.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

let world: World;
let runtime: Runtime;
/** A product and a material of which the answers are lost and that only a person settles; the platform has both. */
beforeEach(async () => {
  world = await createWorld({ config: { sources: SMALL_SOURCES } });
  await stageLostAnswers(world, ['P1', 'M1']);
  await createAtPlatform(world, 'products', PRODUCT_P1);
  await createAtPlatform(world, 'materials', MATERIAL_M1);
  runtime = await world.open();
});
afterEach(async () => {
  await runtime.close();
  await world.remove();
});

function admin(abort = new AbortController().signal) {
  return createLocalAdmin({ runtime, clock: systemClock, abort });
}

const stateOf = async (kind: 'product' | 'material', key: string) => (await runtime.reads.item(kind, key))?.state;

async function deliveryOf(name: string) {
  const [delivery] = await runtime.ledger.deliveriesNamed(name);
  if (delivery === undefined) throw new Error(`nothing of ${name} can be settled`);
  return delivery;
}

/** Settles as delivered, and has something happen while the list of the platform is read. */
async function settleWhile(happens: () => Promise<unknown>, names: string[]) {
  world.sandbox.faults.add({ operation: 'material.list', kind: 'latency', ms: 60_000 });
  const request: SettleRequest = { names, resolution: 'delivered', id: null, kind: null };
  const settling = admin().run(settle, request);
  const ended = settling.catch(() => undefined);
  await expect.poll(() => world.sandbox.inspect().faults[0]?.used).toBe(1);
  await happens();
  world.endLatency();
  await ended;
  return settling;
}

describe('settling while workers go on', () => {
  it(
    'settling beside workers leaves a delivery that was found at the platform meanwhile as it is, and reports it',
    covers('answer-lost', 'I4'),
    async () => {
      const { id, revision } = await deliveryOf('M1');
      const found = { kind: 'delivered', remoteId: 1, contentKnown: true, by: 'read_back' } as const;
      const settling = settleWhile(() => settleOne(runtime.ledger, { id, revision, decision: found }), ['M1']);
      await expect(settling).rejects.toMatchObject({
        code: 'item.changed',
        exitCode: 1,
        message: expect.stringMatching(/material "M1" is delivered now\. Nothing was settled\.$/),
      });
      expect((await runtime.reads.item('material', 'M1'))?.timeline.map(({ what }) => what)).not.toContain('person');
    },
  );

  it('settling goes on with the others where one is sent again meanwhile', covers('answer-lost', 'I6'), async () => {
    const { id, revision } = await deliveryOf('P1');
    const sendAgain = async () => {
      const decision = { kind: 'resend', dueAt: 0, absent: true, reason: LOST } as const;
      await settleOne(runtime.ledger, { id, revision, decision });
      expect(await claimOne(runtime.ledger, { id, revision })).not.toBeNull();
    };
    await expect(settleWhile(sendAgain, ['P1', 'M1'])).rejects.toMatchObject({
      code: 'item.changed',
      message: expect.stringMatching(/product "P1" is sending now\. The other deliveries were settled\.$/),
    });
    expect([await stateOf('product', 'P1'), await stateOf('material', 'M1')]).toEqual(['sending', 'delivered']);
  });

  it('settling beside workers takes two names of one item for one', async () => {
    const request: SettleRequest = { names: ['P1', 'SKU-P1'], resolution: 'rejected', id: null, kind: null };
    expect(await admin().run(settle, request)).toMatchObject({ settled: [{ kind: 'product', key: 'P1' }] });
  });

  it('settling a state settles what is still in it after the question', covers('answer-lost', 'I6'), async () => {
    const selection = { state: 'in_doubt', kind: null, source: null, resolution: 'rejected' } as const;
    const nothing = { settled: 0, left: 0, released: 0 };
    expect(await admin().run(settleSelected, { ...selection, dryRun: true })).toEqual({ selected: 2, ...nothing });
    const { id, revision } = await deliveryOf('P1');
    await settleOne(runtime.ledger, { id, revision, decision: { kind: 'blocked', reason: LOST } });
    expect(await admin().run(settleSelected, { ...selection, dryRun: false })).toEqual({
      ...nothing,
      selected: 1,
      settled: 1,
    });
    expect([await stateOf('product', 'P1'), await stateOf('material', 'M1')]).toEqual(['blocked', 'rejected']);
  });

  it('settling beside workers settles nothing more once it is stopped', covers('shutdown', 'I6'), async () => {
    const selection = { state: 'in_doubt', kind: null, source: null, resolution: 'rejected' } as const;
    const stopped = admin(AbortSignal.abort()).run(settleSelected, { ...selection, dryRun: false });
    await expect(stopped).rejects.toMatchObject({
      code: 'interrupted',
      message: 'The command was stopped after 0 items.',
    });
    const given = { runtime, clock: systemClock, abort: AbortSignal.abort(), who: 'kim', goesOn: true };
    const withDaemon = settleSelected.run({ ...selection, dryRun: false }, operationContext(given));
    await expect(withDaemon).rejects.toMatchObject({
      code: 'daemon.stopped',
      message: 'The command was stopped after 0 items.',
    });
    expect(await stateOf('product', 'P1')).toBe('in_doubt');
  });
});
