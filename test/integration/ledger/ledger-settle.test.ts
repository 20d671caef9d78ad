import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decide, type ManualResolution, manualDecision } from '../../../src/delivery/outcome/decide.ts';
import { decideImport } from '../../../src/delivery/outcome/decide-import.ts';
import type { Outcome } from '../../../src/domain/delivery/outcome.ts';
import type { MapResult } from '../../../src/domain/mapping.ts';
import type { Decision } from '../../../src/domain/ports/deliveries.ts';
import { Profile } from '../../../src/domain/profile.ts';
import { restoreLedger } from '../../../src/ledger/backup/restore.ts';
import { verifyLedger } from '../../../src/ledger/backup/verify.ts';
import { replay } from '../../../src/pipeline/replay.ts';
import { covers } from '../../support/docs/reliability.ts';
import {
  claimDue,
  claimOne,
  deliverAll,
  delivered,
  LOST,
  loseAnswers,
  NEVER_ANSWERED,
  settleOne,
} from '../../support/ledger/deliveries.ts';
import { bomItem, items, material, product, text } from '../../support/ledger/items.ts';
import { NO_PARTS, TARGET, useLedger } from '../../support/ledger/ledger.ts';
import { stageRows } from '../../support/ledger/records.ts';

const fixture = useLedger({ rules: NO_PARTS });
afterEach(() => expect(verifyLedger(fixture.file, () => {})?.findings).toEqual([]));

const claimNext = () => claimDue(fixture.ledger);
const loseAll = () => loseAnswers(fixture.ledger);

async function say(name: string, word: ManualResolution) {
  const named = await fixture.ledger.deliveriesNamed(name);
  expect(named).toHaveLength(1);
  const [unconfirmed] = named;
  if (unconfirmed === undefined) throw new Error('no delivery is unconfirmed');
  return settleOne(fixture.ledger, {
    id: unconfirmed.id,
    decision: manualDecision(unconfirmed, word),
    seen: unconfirmed,
  });
}

const stateOf = (kind: 'product' | 'material' | 'bom_item' | 'passport', key: string) =>
  fixture.ledger.views.item(kind, key)?.state;

const replayAll = (force: boolean, dryRun = false) =>
  replay(
    {
      selection: { states: ['in_doubt', 'rejected', 'blocked', 'parked'], sources: [], keys: [], deliveryIds: [] },
      force,
      dryRun,
    },
    {
      ledger: fixture.ledger,
      mapperOf: () => ({
        revision: 'r1',
        streams: ['default'],
        map: ({ fields }) => JSON.parse(text(fields['version'])) as MapResult,
      }),
    },
  );

it('a forced replay sends a new revision, under its own key', covers('cached-refusal', 'I2'), async () => {
  await stageRows(fixture.ledger, { 1: items(product('1')) });
  const lost = await claimNext();
  await settleOne(fixture.ledger, { id: lost.id, decision: NEVER_ANSWERED });
  await replayAll(true);
  const forced = await claimNext();
  expect(forced).toMatchObject({ key: '1', body: lost.body, revision: lost.revision + 1, again: false });
  expect(forced.idempotencyKey).not.toBe(lost.idempotencyKey);
  await settleOne(fixture.ledger, { id: forced.id, decision: NEVER_ANSWERED });
});

it.each([
  ['are due together although they are stored one after the other', 11, 2],
  ['are due in turn if the clock was set between two of them', 3_600_000, 1],
])('deliveries that were decided together %s', async (_, betweenMs, count) => {
  const { clock, ledger } = fixture;
  await stageRows(ledger, { 1: items(product('1')), 2: items(product('2')) });
  const [first, second] = [await claimNext(), await claimNext()];
  const decidedAt = clock.now();
  const decision: Decision = { kind: 'unconfirmed', nextLookAt: decidedAt + 10_000, spend: false, reason: LOST };
  await settleOne(ledger, { id: first.id, decision, decidedAt });
  clock.advance(betweenMs);
  await settleOne(ledger, { id: second.id, decision, decidedAt });
  clock.advance(Math.max(0, decidedAt + 10_000 - clock.now()));
  expect(await ledger.unconfirmedDeliveries({ limit: 9 })).toHaveLength(count);
});

describe('a manual resolution that a write arrived', () => {
  it(
    'a write settled as arrived binds the item, releases the deliveries that wait for it, and is sent no more',
    covers('answer-lost', 'I4', 'I6'),
    async () => {
      const rows = { P1: items(product('P1')), M1: items(material('M1')), B1: items(bomItem('B1', 'P1', 'M1')) };
      await stageRows(fixture.ledger, rows);
      await loseAll();
      expect(await say('SKU-P1', { said: 'delivered', remoteId: 7 })).toMatchObject({ applied: true, released: 0 });
      expect(await say('M1', { said: 'delivered', remoteId: 'm-7' })).toMatchObject({ applied: true, released: 1 });
      expect(await deliverAll(fixture.ledger)).toEqual([
        { operation: 'bom_item.create', key: 'B1', body: '{"quantity":"1","material":"m-7","product":7}' },
      ]);
      expect(fixture.ledger.views.item('product', 'P1')).toMatchObject({ state: 'delivered', remoteId: 7 });
      await stageRows(fixture.ledger, rows);
      expect(await deliverAll(fixture.ledger)).toEqual([]);
    },
  );

  it('a write settled as arrived has in its timeline that a person settled it', async () => {
    await stageRows(fixture.ledger, { P1: items(product('P1')) });
    await loseAll();
    await say('P1', { said: 'delivered', remoteId: 7 });
    expect(
      fixture.ledger.views.item('product', 'P1')?.timeline.map(({ what, detail }) => [what, detail]),
    ).toContainEqual(['person', 'A person has reported that the write arrived.']);
  });

  it('a write settled as arrived stages what is desired by now', covers('changed-amid', 'I4'), async () => {
    await stageRows(fixture.ledger, { M1: items(material('M1')) });
    await loseAll();
    await stageRows(fixture.ledger, { M1: items(material('M1', 'Iron')) });
    expect(await say('M1', { said: 'delivered', remoteId: 7 })).toMatchObject({ released: 1 });
    expect(await deliverAll(fixture.ledger)).toEqual([
      { operation: 'material.update', key: 'M1', body: '{"name":"Iron"}' },
    ]);
  });

  it('a BOM item is settled as arrived without an id', covers('answer-lost', 'I6'), async () => {
    await stageRows(fixture.ledger, {
      P1: items(product('P1')),
      M1: items(material('M1')),
      B1: items(bomItem('B1', 'P1', 'M1')),
    });
    await settleFirstTwo();
    await loseAll();
    await say('B1', { said: 'delivered', remoteId: null });
    expect(stateOf('bom_item', 'B1')).toBe('delivered');
    expect(await deliverAll(fixture.ledger)).toEqual([]);
  });

  it('a publication settled as arrived moves its passport on', covers('answer-lost', 'I4'), async () => {
    await stageRows(fixture.ledger, { P1: items(product('P1')) });
    await deliverAll(fixture.ledger);
    await fixture.ledger.askForPassports({ products: ['P1'], status: 'published' });
    await loseAll();
    expect(await say('SKU-P1', { said: 'delivered', remoteId: null })).toMatchObject({ released: 1 });
    await loseAll();
    await say('P1', { said: 'delivered', remoteId: null });
    expect(fixture.ledger.views.passport('P1')).toMatchObject({ state: 'published', acknowledged: 'published' });
  });

  it('an item that existed before has no baseline once settled', covers('answer-lost', 'I4'), async () => {
    await stageRows(fixture.ledger, { M1: items(material('M1')) });
    await loseAnswers(fixture.ledger, {
      kind: 'unconfirmed',
      nextLookAt: 1,
      spend: false,
      reason: { code: 'exists', message: 'taken' },
    });
    await say('M1', { said: 'delivered', remoteId: 7 });
    expect(await deliverAll(fixture.ledger)).toMatchObject([{ operation: 'material.update', key: 'M1' }]);
  });
});

describe('a manual resolution that a write did not arrive', () => {
  it(
    'a write settled as not arrived ends its revision: only a replay sends it, as a new one under another key',
    covers('answer-lost', 'I2', 'I6'),
    async () => {
      await stageRows(fixture.ledger, { P1: items(product('P1')) });
      const first = await claimNext();
      await settleOne(fixture.ledger, { id: first.id, decision: NEVER_ANSWERED });
      await say('P1', { said: 'rejected' });
      expect(fixture.ledger.views.item('product', 'P1')).toMatchObject({
        state: 'rejected',
        reason: { code: 'person' },
      });
      await stageRows(fixture.ledger, { P1: items(product('P1')) });
      expect(await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 })).toEqual([]);
      expect(await replayAll(false)).toMatchObject({ staged: 1, leftUnconfirmed: 0 });
      const second = await claimNext();
      expect(second.revision).toBe(first.revision + 1);
      expect(second.idempotencyKey).not.toBe(first.idempotencyKey);
      await settleOne(fixture.ledger, { id: second.id, decision: DONE });
    },
  );

  it('a write settled as not arrived stages a change of meanwhile', covers('changed-amid', 'I4'), async () => {
    await stageRows(fixture.ledger, { P1: items(product('P1')) });
    await loseAll();
    await stageRows(fixture.ledger, { P1: items(product('P1', 'Changed')) });
    expect(await say('P1', { said: 'rejected' })).toMatchObject({ released: 1 });
    expect(await deliverAll(fixture.ledger)).toMatchObject([{ body: '{"name":"Changed","sku":"SKU-P1"}' }]);
  });

  it(
    'a write settled as not arrived keeps the acknowledged baseline, so that nothing is sent when it is taken back',
    covers('changed-amid', 'I4'),
    async () => {
      await stageRows(fixture.ledger, { M1: items(material('M1')) });
      await deliverAll(fixture.ledger);
      await stageRows(fixture.ledger, { M1: items(material('M1', 'Iron')) });
      await loseAll();
      await say('M1', { said: 'rejected' });
      await stageRows(fixture.ledger, { M1: items(material('M1')) });
      expect(await deliverAll(fixture.ledger)).toEqual([]);
      expect(stateOf('material', 'M1')).toBe('delivered');
    },
  );

  it('a replay sends a BOM item settled as not arrived', covers('ledger-restored', 'I6'), async () => {
    await stageRows(fixture.ledger, {
      P1: items(product('P1')),
      M1: items(material('M1')),
      B1: items(bomItem('B1', 'P1', 'M1')),
    });
    await settleFirstTwo();
    await fixture.ledger.close();
    restoreLedger({ file: fixture.file, from: null, target: TARGET, profile: Profile.parse({}), clock: fixture.clock });
    await fixture.reopen();
    fixture.clock.advance(10);
    expect(stateOf('bom_item', 'B1')).toBe('in_doubt');
    await say('B1', { said: 'rejected' });
    await stageRows(fixture.ledger, {
      P1: items(product('P1')),
      M1: items(material('M1')),
      B1: items(bomItem('B1', 'P1', 'M1')),
    });
    await replayAll(false);
    expect(stateOf('bom_item', 'B1')).toBe('due');
    await deliverAll(fixture.ledger);
  });
});

describe('a definitive refusal', () => {
  it.each(['blocked', 'rejected', 'parked'] as const)(
    'a definitive refusal ends its revision, so that a write asked again as %s is sent under another key',
    covers('cached-refusal', 'I2', 'I6'),
    async (kind) => {
      await stageRows(fixture.ledger, { P1: items(product('P1')) });
      const first = await claimNext();
      if (kind === 'parked') await settleOne(fixture.ledger, { id: first.id, decision: NEVER_ANSWERED });
      await settleOne(fixture.ledger, {
        id: first.id,
        decision: { kind, reason: { code: 'refused', message: 'no' } },
      });
      expect(stateOf('product', 'P1')).toBe(kind);
      expect(await replayAll(false)).toMatchObject({ staged: 1 });
      const second = await claimNext();
      expect(second.body).toBe(first.body);
      expect(second.revision).toBe(first.revision + 1);
      expect(second.idempotencyKey).not.toBe(first.idempotencyKey);
      await settleOne(fixture.ledger, { id: second.id, decision: DONE });
    },
  );
});

describe('replay --force', () => {
  it(
    'replay --force counts what it sends again, passports too, and nothing of it as left alone',
    covers('answer-lost', 'I6'),
    async () => {
      await stageRows(fixture.ledger, { P1: items(product('P1')), P2: items(product('P2')) });
      await settleOne(fixture.ledger, { id: (await claimNext()).id, decision: DONE });
      await loseAll();
      await fixture.ledger.askForPassports({ products: ['P1'], status: 'published' });
      await loseAll();
      expect([stateOf('product', 'P2'), stateOf('passport', 'P1')]).toEqual(['in_doubt', 'in_doubt']);
      expect(await replayAll(false)).toMatchObject({ staged: 0, leftUnconfirmed: 2 });
      expect(await replayAll(true, true)).toMatchObject({ staged: 2, leftUnconfirmed: 0 });
      expect(stateOf('product', 'P2')).toBe('in_doubt');
      expect(await replayAll(true)).toMatchObject({ staged: 2, leftUnconfirmed: 0 });
      expect([stateOf('product', 'P2'), stateOf('passport', 'P1')]).toEqual(['due', 'due']);
      expect(fixture.ledger.views.item('product', 'P2')?.timeline.map(({ what }) => what)).toContain('forced');
    },
  );
});

const DONE = delivered(1);

/** Delivers product and material, and leaves the BOM item due. */
async function settleFirstTwo(): Promise<void> {
  for (const { id } of await fixture.ledger.dueDeliveries({ afterId: 0, limit: 2 })) {
    await claimOne(fixture.ledger, id);
    await settleOne(fixture.ledger, { id, decision: DONE });
  }
}

describe('since when the API could not take a delivery', () => {
  const AWAY: Outcome = {
    kind: 'unavailable',
    sent: true,
    retryAfterMs: null,
    detail: { status: 503, message: 'Away.' },
  };
  const SLOWLY: Outcome = { kind: 'throttled', retryAfterMs: null, detail: { status: 429, message: 'Slowly.' } };
  const REFUSED: Outcome = { kind: 'denied', by: 'key', detail: { status: 401, message: 'Who?' } };

  /** Answers the due delivery with this outcome. Returns since when the API could not accept the delivery. */
  async function answered(outcome: Outcome): Promise<number | null> {
    const { ledger, clock } = fixture;
    clock.advance(600_000);
    const delivery = await claimNext();
    const isImport = delivery.operation === 'product.import';
    const shared = { profile: Profile.parse({}), now: clock.now(), random: 0.5, takesOthers: false };
    const judging = { ...shared, forbidden: false, isProof: false, isTaken: false };
    const decision = isImport
      ? decideImport(outcome, delivery, judging).decisions[0]
      : decide(outcome, { ...delivery, ...judging, echoedBefore: false, readable: 'yes' });
    if (decision === undefined) throw new Error('Nothing was decided.');
    const settlements = [{ ...delivery, decision }];
    await ledger.settle([{ claim: delivery, settlements, keep: false, groupMax: null }]);
    return delivery.awaySince;
  }

  it.each(['create', 'import'])(
    'the time since when the API could not take a delivery is kept while it only has to wait, of an %s',
    covers('throttled', 'I5'),
    async (what) => {
      await stageRows(fixture.ledger, { A: items(product('A')) });
      if (what === 'an import') {
        await deliverAll(fixture.ledger);
        await stageRows(fixture.ledger, { A: items(product('A', 'Changed')) });
      }
      const since = fixture.clock.now() + 600_000;
      const told: (number | null)[] = [];
      for (const outcome of [AWAY, SLOWLY, AWAY, SLOWLY, SLOWLY, AWAY]) told.push(await answered(outcome));
      expect(told).toEqual([null, since, since, since, since, since]);
      // After any other outcome, the time begins again.
      await answered(REFUSED);
      expect(await answered(AWAY)).toBe(null);
    },
  );
});

describe('a person settles what is stuck', () => {
  const BOM = (quantity: string) => ({
    P: items(product('P')),
    M: items(material('M')),
    B: items(bomItem('B', 'P', 'M', quantity)),
  });
  const bom = () => fixture.ledger.views.item('bom_item', 'B');

  beforeEach(async () => {
    await stageRows(fixture.ledger, BOM('1'));
    await deliverAll(fixture.ledger);
    await stageRows(fixture.ledger, BOM('2'));
    expect(bom()).toMatchObject({ state: 'blocked', reason: { code: 'unsupported' } });
  });

  it('an item settled as done by hand has its desired content as baseline, and a later change is staged again', async () => {
    expect(bom()?.reason?.message).toContain('dpp-sync settle --delivered B');
    await say('B', { said: 'delivered', remoteId: null });
    expect(bom()).toMatchObject({ state: 'delivered', baseline: { quantity: '2' }, remoteId: 103 });
    await stageRows(fixture.ledger, BOM('2'));
    expect(stateOf('bom_item', 'B')).toBe('delivered');
    await stageRows(fixture.ledger, BOM('3'));
    expect(stateOf('bom_item', 'B')).toBe('blocked');
  });

  it('an ignored delivery is superseded with its reason until something else is desired', async () => {
    await say('B', { said: 'ignored' });
    const ignored = { state: 'superseded', baseline: { quantity: '1' }, desired: { quantity: '2' } };
    expect(bom()).toMatchObject({ ...ignored, reason: { code: 'ignored', message: expect.stringMatching(/person/) } });
    const { views } = fixture.ledger;
    expect(views.itemCounts().bom_item).toEqual({ superseded: 1 });
    expect(views.stuck(10)).toEqual([]);
    expect(views.itemsAfter({ state: 'superseded', afterId: 0, limit: 9 }).items).toMatchObject([{ key: 'B' }]);
    expect(views.itemsAfter({ state: 'delivered', afterId: 0, limit: 9 }).items).toHaveLength(2);

    // The same row again, a new mapping and a restart change nothing of it.
    await stageRows(fixture.ledger, BOM('2'));
    await fixture.reopen();
    await fixture.ledger.recover(0);
    expect(bom()).toMatchObject(ignored);
    await stageRows(fixture.ledger, BOM('3'));
    expect(bom()).toMatchObject({ state: 'blocked', desired: { quantity: '3' } });
    await stageRows(fixture.ledger, BOM('2'));
    expect(stateOf('bom_item', 'B')).toBe('blocked');
  });

  it('an ignored item is delivered once the source agrees with the platform again', async () => {
    await say('B', { said: 'ignored' });
    await stageRows(fixture.ledger, BOM('1'));
    expect(fixture.ledger.views.itemCounts().bom_item).toEqual({ delivered: 1 });
    await stageRows(fixture.ledger, BOM('2'));
    expect(stateOf('bom_item', 'B')).toBe('blocked');
  });

  it('a replay that names an ignored item sends it all the same', async () => {
    await say('B', { said: 'ignored' });
    const selection = { states: ['superseded' as const], sources: [], keys: ['B'], deliveryIds: [] };
    const mapperOf = () => ({
      revision: 'r1',
      streams: ['default'],
      map: ({ fields }: { fields: Record<string, unknown> }) => JSON.parse(text(fields['version'])) as MapResult,
    });
    expect((await replayAll(false)).records).toBe(0);
    await replay({ selection, force: false, dryRun: false }, { ledger: fixture.ledger, mapperOf });
    expect(stateOf('bom_item', 'B')).toBe('blocked');
  });

  it('a product is complete after a person has settled its BOM item, whatever the person has said', async () => {
    const rules = { init: 'when-complete', publish: 'auto' } as const;
    for (const word of [{ said: 'ignored' }, { said: 'delivered', remoteId: null }] as const) {
      await stageRows(fixture.ledger, BOM(word.said === 'ignored' ? '4' : '5'));
      await fixture.reopen(undefined, rules);
      const decide = () => fixture.ledger.evaluatePassports({ afterKey: null, limit: 9 });
      await decide();
      expect(fixture.ledger.views.passport('P')?.blockers).toMatchObject([
        expect.stringContaining('BOM item B is blocked'),
      ]);
      await say('B', word);
      expect(fixture.ledger.views.passport('P')?.blockers).toEqual([]);
    }
    await fixture.ledger.evaluatePassports({ afterKey: null, limit: 9 });
    const sent = await deliverAll(fixture.ledger, 900);
    expect(sent.map(({ operation }) => operation)).toEqual(['passport.init', 'passport.publish']);
  });

  it('a person can ignore neither what may have arrived nor what is under way, and no passport', async () => {
    await stageRows(fixture.ledger, { ...BOM('2'), N: items(product('N')) });
    await loseAll();
    expect(await fixture.ledger.deliveriesNamed('N')).toMatchObject([{ state: 'in_doubt', uncertain: true }]);
    expect(await say('N', { said: 'ignored' })).toMatchObject({ applied: false });
    expect(stateOf('product', 'N')).toBe('in_doubt');
  });

  it('rejected and parked deliveries can be settled too, and what waits for an ignored item is ignored by itself', async () => {
    await stageRows(fixture.ledger, { ...BOM('2'), N: items(product('N')), C: items(bomItem('C', 'N', 'M')) });
    await loseAnswers(fixture.ledger, { kind: 'rejected', reason: { code: 'refused', message: 'No.' } });
    expect([stateOf('product', 'N'), stateOf('bom_item', 'C')]).toEqual(['rejected', 'waiting']);
    await say('C', { said: 'ignored' });
    await say('N', { said: 'ignored' });
    expect([stateOf('product', 'N'), stateOf('bom_item', 'C')]).toEqual(['superseded', 'superseded']);
    expect(fixture.ledger.views.waitingFor(5)).toEqual([]);
    await stageRows(fixture.ledger, {
      ...BOM('2'),
      N: items(product('N', 'Other')),
      C: items(bomItem('C', 'N', 'M', '9')),
    });
    expect([stateOf('product', 'N'), stateOf('bom_item', 'C')]).toEqual(['due', 'waiting']);
  });
});

it('the ledger names the creates that were sent after an unconfirmed create and acknowledged', async () => {
  await stageRows(fixture.ledger, { P1: items(product('P1')), P2: items(product('P2')), M1: items(material('M1')) });
  const lost = await claimNext();
  await settleOne(fixture.ledger, { id: lost.id, decision: NEVER_ANSWERED });
  await deliverAll(fixture.ledger);
  const sentAfter = (at: number) =>
    fixture.ledger.acknowledgedCreates({ kind: 'product', sentAfter: at, besideId: lost.id });
  expect(await sentAfter(0)).toEqual([{ remoteId: expect.any(Number), sentAt: expect.any(Number) }]);
  expect(await sentAfter(Number.MAX_SAFE_INTEGER)).toEqual([]);
});

describe('a manual resolution of a delivery that has changed since it was looked up', () => {
  /** Looks up an unconfirmed product, lets the daemon's own work happen, and then settles with the earlier state. */
  async function settleAfter(happens: (deliveryId: number) => Promise<unknown>, word: ManualResolution) {
    await stageRows(fixture.ledger, { N: items(product('N')) });
    await loseAll();
    const [looked] = await fixture.ledger.deliveriesNamed('N');
    if (looked === undefined) throw new Error('no delivery is unconfirmed');
    await happens(looked.id);
    const before = fixture.ledger.views.item('product', 'N');
    const decision = manualDecision(looked, word);
    expect(await settleOne(fixture.ledger, { id: looked.id, decision, seen: looked })).toMatchObject({
      applied: false,
      released: 0,
    });
    expect(fixture.ledger.views.item('product', 'N')).toEqual(before);
  }
  const resend: Decision = { kind: 'resend', dueAt: 0, absent: true, reason: LOST };
  const REJECTED: ManualResolution = { said: 'rejected' };

  it('a late manual resolution changes nothing where the item was found', covers('answer-lost', 'I4'), () =>
    settleAfter(
      (deliveryId) =>
        settleOne(fixture.ledger, {
          id: deliveryId,
          decision: { kind: 'delivered', remoteId: 7, contentKnown: true, by: 'read_back' },
        }),
      { said: 'delivered', remoteId: 8 },
    ),
  );

  it('a late manual resolution changes nothing while it is sent again', covers('answer-lost', 'I6'), () =>
    settleAfter(async (deliveryId) => {
      await settleOne(fixture.ledger, { id: deliveryId, decision: resend });
      expect(await claimOne(fixture.ledger, deliveryId)).not.toBeNull();
    }, REJECTED),
  );

  it('a late manual resolution changes nothing where it was sent again', covers('answer-lost', 'I6'), () =>
    settleAfter(async (deliveryId) => {
      await settleOne(fixture.ledger, { id: deliveryId, decision: resend });
      fixture.clock.advance(1);
      await loseAll();
      expect(stateOf('product', 'N')).toBe('in_doubt');
    }, REJECTED),
  );

  it('a late manual resolution changes nothing under a new reason', covers('answer-lost', 'I4'), () =>
    settleAfter(
      (deliveryId) =>
        settleOne(fixture.ledger, {
          id: deliveryId,
          decision: { ...NEVER_ANSWERED, reason: { code: 'exists', message: 'It is there.' } },
        }),
      { said: 'delivered', remoteId: 7 },
    ),
  );

  it('a late manual resolution changes nothing where it is blocked', covers('answer-lost', 'I6'), () =>
    settleAfter(
      (deliveryId) => settleOne(fixture.ledger, { id: deliveryId, decision: { kind: 'blocked', reason: LOST } }),
      REJECTED,
    ),
  );
});
