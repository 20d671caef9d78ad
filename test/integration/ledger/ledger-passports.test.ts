import { describe, expect, it } from 'vitest';
import type { Reason } from '../../../src/domain/delivery/stored-reason.ts';
import type { MapResult } from '../../../src/domain/mapping.ts';
import type { Decision } from '../../../src/domain/ports/deliveries.ts';
import { claimDue, claimOne, deliverAll, delivered, settleOne } from '../../support/ledger/deliveries.ts';
import { bomItem, items, material, product } from '../../support/ledger/items.ts';
import { useLedger } from '../../support/ledger/ledger.ts';
import { stageRows } from '../../support/ledger/records.ts';

const fixture = useLedger({ rules: { init: 'when-complete', publish: 'auto' } });

/** P1 has the BOM item B1 of the material M1, P2 has none. */
const ROWS: Record<string, MapResult> = {
  P1: items(product('P1')),
  P2: items(product('P2')),
  M1: items(material('M1')),
  B1: items(bomItem('B1', 'P1', 'M1')),
};

async function evaluate(limit = 1000): Promise<number> {
  let staged = 0;
  let afterKey: string | null = null;
  do {
    const page = await fixture.ledger.evaluatePassports({ afterKey, limit });
    staged += page.staged;
    afterKey = page.lastKey;
  } while (afterKey !== null);
  return staged;
}

/** Delivers all items and evaluates the passports. Returns the writes of passports. */
async function deliverAndEvaluate(): Promise<string[]> {
  await deliverAll(fixture.ledger);
  await evaluate();
  const sent = await deliverAll(fixture.ledger);
  return sent
    .filter(({ operation }) => operation.startsWith('passport.'))
    .map(({ operation, key }) => `${operation} ${key}`);
}

function claimNext() {
  fixture.clock.advance(60_000);
  return claimDue(fixture.ledger);
}

const settle = (deliveryId: number, decision: Decision) => settleOne(fixture.ledger, { id: deliveryId, decision });
const GATE: Decision = { kind: 'blocked', reason: { code: 'gate', message: 'review is missing', status: 409 } };
const DONE = delivered();

const stateOf = (key: string) => fixture.ledger.views.passport(key)?.state;

/** Publishes P2, and has a gate refuse the publication of P1. */
async function withBlockedP1(): Promise<void> {
  await stageRows(fixture.ledger, ROWS);
  await deliverAll(fixture.ledger);
  await evaluate();
  for (const decision of [DONE, GATE, DONE, DONE]) await settle((await claimNext()).id, decision);
  expect([stateOf('P1'), stateOf('P2')]).toEqual(['blocked', 'published']);
}

describe('the judgement of passports', () => {
  it('the evaluation of passports goes over all products page by page, and each passport step by step', async () => {
    await stageRows(fixture.ledger, ROWS);
    await deliverAll(fixture.ledger);
    expect(await evaluate(1)).toBe(2);
    const sent = await deliverAll(fixture.ledger);
    expect(sent).toEqual([
      { operation: 'passport.init', key: 'P1', body: expect.any(String) },
      { operation: 'passport.init', key: 'P2', body: expect.any(String) },
      { operation: 'passport.publish', key: 'P1', body: expect.any(String) },
      { operation: 'passport.publish', key: 'P2', body: expect.any(String) },
    ]);
    expect(await evaluate()).toBe(0);
  });

  it('each step of a passport is asked for under the id of the product, with a key of its own', async () => {
    await stageRows(fixture.ledger, { P2: items(product('P2')) });
    await deliverAll(fixture.ledger, 700);
    await evaluate();
    const init = await claimNext();
    await settle(init.id, DONE);
    const publish = await claimNext();
    expect([init.path, publish.path]).toEqual(['/passport.init/701', '/passport.publish/701']);
    expect(publish.idempotencyKey).not.toBe(init.idempotencyKey);
  });

  it('an initialised passport is published when the policy changes to publish', async () => {
    await stageRows(fixture.ledger, ROWS);
    await fixture.reopen(undefined, { publish: 'manual' });
    expect(await deliverAndEvaluate()).toEqual(['passport.init P1', 'passport.init P2']);
    await fixture.reopen(undefined, { publish: 'auto' });
    expect(await deliverAndEvaluate()).toEqual(['passport.publish P1', 'passport.publish P2']);
    await fixture.reopen(undefined, { publish: 'manual' });
    expect(await deliverAndEvaluate()).toEqual([]);
    expect(stateOf('P1')).toBe('published');
  });

  it('a passport waits while a row of its product is in quarantine, and continues when the row is mapped', async () => {
    const wrong: MapResult = {
      status: 'quarantined',
      issues: [{ code: 'row.value', message: 'wrong' }],
      blockedProducts: ['P1'],
    };
    await stageRows(fixture.ledger, { ...ROWS, B2: wrong });
    expect(await deliverAndEvaluate()).toEqual(['passport.init P2', 'passport.publish P2']);
    expect(fixture.ledger.views.passport('P1')?.blockers).toEqual([
      'A row of the product has an error: test.csv:1: wrong',
    ]);
    await stageRows(fixture.ledger, { ...ROWS, B2: items(bomItem('B2', 'P1', 'M1')) });
    expect(await deliverAndEvaluate()).toEqual(['passport.init P1', 'passport.publish P1']);
  });

  it('a passport continues when a row in quarantine no longer belongs to its product', async () => {
    const wrong = (product: string): MapResult => ({
      status: 'quarantined',
      issues: [{ code: 'row.value', message: 'wrong' }],
      blockedProducts: [product],
    });
    await stageRows(fixture.ledger, { ...ROWS, B2: wrong('P1') });
    await stageRows(fixture.ledger, { ...ROWS, B2: wrong('P2') });
    expect(await deliverAndEvaluate()).toEqual(['passport.init P1', 'passport.publish P1']);
  });

  it('a passport waits for a row in quarantine that another row has kept out', async () => {
    await stageRows(fixture.ledger, { ...ROWS, rival: items(bomItem('B1', 'P2', 'M1')) });
    expect(await deliverAndEvaluate()).toEqual(['passport.init P1', 'passport.publish P1']);
    expect(fixture.ledger.views.passport('P2')?.blockers[0]).toContain('Another row makes the ');
  });

  it('a passport names a row in quarantine once that has both its product and a BOM item of it', async () => {
    await stageRows(fixture.ledger, {
      ...ROWS,
      rival: items({ ...product('P2'), payload: { sku: 'P2', name: 'another' } }, bomItem('B9', 'P2', 'M1')),
    });
    await deliverAndEvaluate();
    const rows = fixture.ledger.views.passport('P2')?.blockers.filter((blocker) => blocker.includes('has an error'));
    expect(rows).toHaveLength(1);
  });

  it('a passport does not wait for a part that its source no longer has and that never came to the platform', async () => {
    await stageRows(fixture.ledger, { ...ROWS, B2: items(bomItem('B2', 'P1', 'M9')) });
    expect(await deliverAndEvaluate()).toEqual(['passport.init P2', 'passport.publish P2']);
    await stageRows(fixture.ledger, ROWS);
    expect(await deliverAndEvaluate()).toEqual(['passport.init P1', 'passport.publish P1']);
  });
});

describe('a blocked passport', () => {
  it('a blocked passport is left alone while nothing of its product is delivered', async () => {
    await withBlockedP1();
    expect(await evaluate()).toBe(0);
  });

  const changes: { what: string; rows: Record<string, MapResult> }[] = [
    { what: 'a material of its parts has changed', rows: { ...ROWS, M1: items(material('M1', 'Other')) } },
    { what: 'a part has come to it', rows: { ...ROWS, B2: items(bomItem('B2', 'P1', 'M1', '3')) } },
  ];
  it.each(changes)('a blocked passport is sent under a new key once $what', async ({ rows }) => {
    await withBlockedP1();
    await stageRows(fixture.ledger, rows);
    expect(await evaluate()).toBe(0);
    await deliverAll(fixture.ledger);
    expect(await evaluate()).toBe(1);
    const again = await claimNext();
    expect(again).toMatchObject({ operation: 'passport.publish', key: 'P1', revision: 3 });
    await settle(again.id, GATE);
    expect(await evaluate()).toBe(0);
  });

  it('a blocked passport is sent again once its product has changed after a restart', async () => {
    await withBlockedP1();
    await fixture.reopen();
    await stageRows(fixture.ledger, { ...ROWS, P1: items(product('P1', 'Other')) });
    await deliverAll(fixture.ledger);
    expect(await evaluate()).toBe(1);
  });

  it('a blocked passport is sent again where something was delivered while the request was in flight', async () => {
    await stageRows(fixture.ledger, ROWS);
    await deliverAll(fixture.ledger);
    await evaluate();
    await settle((await claimNext()).id, DONE);
    const first = await claimNext();
    await stageRows(fixture.ledger, { ...ROWS, M1: items(material('M1', 'Other')) });
    await deliverAll(fixture.ledger);
    expect(await evaluate()).toBe(0);
    await settle(first.id, GATE);
    expect(await evaluate()).toBe(1);
  });

  it('a blocked passport keeps what was acknowledged of it when an unconfirmed write ends in a business rule', async () => {
    await stageRows(fixture.ledger, { P2: items(product('P2')) });
    await deliverAll(fixture.ledger);
    await evaluate();
    await settle((await claimNext()).id, DONE);
    const { id } = await claimNext();
    await settle(id, {
      kind: 'unconfirmed',
      nextLookAt: fixture.clock.now(),
      spend: true,
      reason: { code: 'reset', message: 'lost' },
    });
    expect(await fixture.ledger.unconfirmedDeliveries({ limit: 10 })).toMatchObject([
      { naturalKey: 'SKU-P2', productId: 101 },
    ]);
    await settle(id, GATE);
    expect(fixture.ledger.views.passport('P2')).toMatchObject({ state: 'blocked', acknowledged: 'initialized' });
    expect(await fixture.ledger.dueDeliveries({ afterId: 0, limit: 10 })).toEqual([]);
  });
});

describe('a manual resolution of passports', () => {
  const ask = (status: 'published' | 'unpublished', ...products: string[]) =>
    fixture.ledger.askForPassports({ products, status });

  it('a manual resolution of a passport follows a publication that is in flight', async () => {
    await stageRows(fixture.ledger, { P2: items(product('P2')) });
    await deliverAll(fixture.ledger);
    await evaluate();
    await settle((await claimNext()).id, DONE);
    const { id } = await claimNext();
    expect(await ask('unpublished', 'P2')).toMatchObject([{ result: 'busy' }]);
    await settle(id, DONE);
    expect((await claimNext()).operation).toBe('passport.unpublish');
  });

  it('a passport that a person has settled stays against the policy, across a new process', async () => {
    await stageRows(fixture.ledger, ROWS);
    await deliverAndEvaluate();
    await ask('unpublished', 'P1');
    await deliverAll(fixture.ledger);
    await fixture.reopen();
    expect(await evaluate()).toBe(0);
    expect([stateOf('P1'), stateOf('P2')]).toEqual(['unpublished', 'published']);
    await stageRows(fixture.ledger, { ...ROWS, M1: items(material('M1', 'Other')) });
    await deliverAll(fixture.ledger);
    expect(await evaluate()).toBe(0);
    expect(stateOf('P1')).toBe('unpublished');
  });

  it('a person takes back a publication that a business rule has refused', async () => {
    await withBlockedP1();
    expect(await ask('unpublished', 'SKU-P1')).toMatchObject([{ result: 'settled' }]);
    // The platform has initialised it, and nobody publishes it without a person.
    expect(fixture.ledger.views.passport('P1')).toMatchObject({ state: 'unpublished', acknowledged: 'initialized' });
    expect(await evaluate()).toBe(0);
  });
});

describe('what was staged for a passport', () => {
  const WRONG: MapResult = {
    status: 'quarantined',
    issues: [{ code: 'row.value', message: 'wrong' }],
    blockedProducts: ['P1'],
  };
  const BROKEN = { ...ROWS, B2: WRONG };

  it('a staged passport is not sent while its product is not complete, and is sent when it is again', async () => {
    await stageRows(fixture.ledger, ROWS);
    await deliverAll(fixture.ledger);
    expect(await evaluate()).toBe(2);
    await stageRows(fixture.ledger, BROKEN);
    expect(await deliverAndEvaluate()).toEqual([]);
    expect([stateOf('P1'), stateOf('P2')]).toEqual(['incomplete', 'published']);
    await stageRows(fixture.ledger, ROWS);
    expect(await deliverAndEvaluate()).toEqual(['passport.init P1', 'passport.publish P1']);
  });

  it('a passport has no next step staged while a row of its product is in quarantine', async () => {
    await stageRows(fixture.ledger, ROWS);
    await deliverAll(fixture.ledger);
    await evaluate();
    const init = await claimNext();
    await stageRows(fixture.ledger, BROKEN);
    await settle(init.id, DONE);
    const due = await fixture.ledger.dueDeliveries({ afterId: 0, limit: 10 });
    expect(due.map(({ operation, key }) => `${operation} ${key}`)).toEqual(['passport.init P2']);
  });

  it('a staged passport is not sent while a source of parts is being read', async () => {
    await stageRows(fixture.ledger, ROWS);
    await deliverAll(fixture.ledger);
    await evaluate();
    await fixture.ledger.startRun({ source: 'erp', trigger: 'cli', streams: [], mappingRevision: 'r1' });
    expect(await deliverAll(fixture.ledger)).toEqual([]);
  });

  it('a staged passport that may have arrived is followed to its end', async () => {
    await stageRows(fixture.ledger, ROWS);
    await deliverAll(fixture.ledger);
    await evaluate();
    const { id, idempotencyKey } = await claimNext();
    const reason: Reason = { code: 'reset', message: 'lost' };
    await settle(id, { kind: 'unconfirmed', nextLookAt: fixture.clock.now(), spend: true, reason });
    await stageRows(fixture.ledger, BROKEN);
    await settle(id, { kind: 'resend', dueAt: 0, absent: false, reason });
    expect(await claimNext()).toMatchObject({ id, idempotencyKey, again: true });
  });

  it('a staged passport is taken back by a policy that no longer wants it', async () => {
    await withBlockedP1();
    await fixture.reopen(undefined, { publish: 'manual' });
    await evaluate();
    expect([stateOf('P1'), stateOf('P2')]).toEqual(['initialized', 'published']);
    await stageRows(fixture.ledger, { ...ROWS, M1: items(material('M1', 'Other')) });
    expect(await deliverAndEvaluate()).toEqual([]);
    await fixture.reopen(undefined, { publish: 'auto' });
    expect(await deliverAndEvaluate()).toEqual(['passport.publish P1']);
  });

  it('a staged passport is not sent under a policy that no longer wants it, also before it is evaluated', async () => {
    await stageRows(fixture.ledger, { P2: items(product('P2')) });
    await deliverAll(fixture.ledger);
    await evaluate();
    await fixture.reopen(undefined, { init: 'manual', publish: 'manual' });
    expect(await deliverAndEvaluate()).toEqual([]);
    expect(stateOf('P2')).toBe('none');
  });
});

describe('a passport whose product comes and goes', () => {
  const WITHDRAWS = { withdrawMissingOf: ['erp'] };
  const withoutP2 = Object.fromEntries(Object.entries(ROWS).filter(([id]) => id !== 'P2'));

  it('a passport is published again when its product is back, where a person had published it', async () => {
    await fixture.reopen(undefined, { init: 'manual', publish: 'manual', ...WITHDRAWS });
    await stageRows(fixture.ledger, ROWS);
    await deliverAll(fixture.ledger);
    await fixture.ledger.askForPassports({ products: ['P2'], status: 'published' });
    await deliverAll(fixture.ledger);
    await stageRows(fixture.ledger, withoutP2);
    expect(await deliverAndEvaluate()).toEqual(['passport.unpublish P2']);
    await stageRows(fixture.ledger, ROWS);
    expect(await deliverAndEvaluate()).toEqual(['passport.publish P2']);
  });

  it('a replay can withdraw a passport that a business rule has blocked, whatever state its product is in', async () => {
    await fixture.reopen(undefined, WITHDRAWS);
    await stageRows(fixture.ledger, ROWS);
    await deliverAndEvaluate();
    await stageRows(fixture.ledger, withoutP2);
    await evaluate();
    await settle((await claimNext()).id, GATE);
    const selection = { states: ['blocked'] as const, sources: [], keys: [], deliveryIds: [] };
    expect(await fixture.ledger.replayPassports({ selection, dryRun: false })).toMatchObject({
      asked: 1,
      incomplete: 0,
    });
    expect((await claimNext()).operation).toBe('passport.unpublish');
  });

  it('a passport does not wait for a row of a source that the config no longer has', async () => {
    await stageRows(fixture.ledger, {
      ...ROWS,
      B2: { status: 'quarantined', issues: [{ code: 'row.value', message: 'wrong' }], blockedProducts: ['P1', null] },
    });
    expect(await deliverAndEvaluate()).toEqual([]);
    await fixture.reopen(undefined, { sources: ['other'], partSources: [], bomSources: [] });
    expect(await deliverAndEvaluate()).toEqual([
      'passport.init P1',
      'passport.init P2',
      'passport.publish P1',
      'passport.publish P2',
    ]);
  });
});

it('passports that are wanted count as left to send from the first row on, and the publication after the initialisation too', async () => {
  const open = () => fixture.ledger.views.openDeliveries();
  await stageRows(fixture.ledger, ROWS);
  expect(open()).toMatchObject({ due: 3, waiting: 1, incomplete: 2, following: 0 });
  await deliverAll(fixture.ledger);
  expect(open()).toMatchObject({ due: 0, waiting: 0, incomplete: 2, following: 0 });
  await evaluate();
  expect(open()).toMatchObject({ due: 2, incomplete: 0, following: 2 });
  await settle((await claimNext()).id, DONE);
  expect(open()).toMatchObject({ due: 2, sending: 0, incomplete: 0, following: 1 });
  for (let sent = 0; sent < 3; sent += 1) await settle((await claimNext()).id, DONE);
  expect(open()).toEqual({ due: 0, sending: 0, waiting: 0, unconfirmed: 0, following: 0, incomplete: 0 });
});

it('an initialised passport that is wanted in public is shown as incomplete until it is sent', async () => {
  await fixture.reopen(undefined, { publish: 'manual' });
  await stageRows(fixture.ledger, ROWS);
  await deliverAndEvaluate();
  await stageRows(fixture.ledger, {
    ...ROWS,
    B2: { status: 'quarantined', issues: [{ code: 'row.value', message: 'wrong' }], blockedProducts: ['P1'] },
  });
  await fixture.reopen(undefined, { publish: 'auto' });
  await deliverAndEvaluate();
  expect(fixture.ledger.views.standing({ sources: [], watched: [], configured: [] }).passports).toEqual({
    published: 1,
    incomplete: 1,
  });
});

it('a replay of passports reports which ones it leaves alone', async () => {
  await withBlockedP1();
  await stageRows(fixture.ledger, {
    ...ROWS,
    B2: { status: 'quarantined', issues: [{ code: 'row.value', message: 'wrong' }], blockedProducts: ['P1'] },
  });
  const selection = { states: ['blocked', 'in_doubt'] as const, sources: [], keys: ['SKU-P1'], deliveryIds: [] };
  expect(await fixture.ledger.replayPassports({ selection, dryRun: true })).toEqual({
    asked: 0,
    incomplete: 1,
    leftUnconfirmed: 0,
  });
});

describe('what a person has asked for', () => {
  const byHand = async () =>
    (await fixture.ledger.dueByHand({ limit: 9 })).map(({ operation, key }) => `${operation} ${key}`);
  const deliverByHand = async () => {
    const [due] = await fixture.ledger.dueByHand({ limit: 1 });
    const claimed = await claimOne(fixture.ledger, due?.id ?? 0);
    await settle(claimed?.id ?? 0, DONE);
  };
  const ask = (status: 'published' | 'unpublished') => fixture.ledger.askForPassports({ products: ['P1'], status });

  it("a person's request for a passport is distinguished from that of the policy, step by step", async () => {
    await fixture.reopen(undefined, { init: 'when-complete', publish: 'manual' });
    await stageRows(fixture.ledger, ROWS);
    await deliverAll(fixture.ledger);
    expect(await evaluate()).toBe(2);
    expect(await byHand()).toEqual([]);

    await ask('published');
    expect(await byHand()).toEqual(['passport.init P1']);
    await deliverByHand();
    expect(await byHand()).toEqual(['passport.publish P1']);
    await deliverByHand();
    expect(await byHand()).toEqual([]);
    await ask('unpublished');
    expect(await byHand()).toEqual(['passport.unpublish P1']);
    const dueAtAll = await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 });
    expect(dueAtAll.map(({ operation }) => operation).toSorted()).toEqual(['passport.init', 'passport.unpublish']);
  });

  it("a person's request moves a passport of the policy forward, also where it is sent again while unconfirmed", async () => {
    await stageRows(fixture.ledger, ROWS);
    await deliverAll(fixture.ledger);
    expect(await evaluate()).toBe(2);
    await fixture.ledger.askForPassports({ products: ['P2'], status: 'published' });
    expect(await byHand()).toEqual(['passport.init P2']);

    const { id, key } = await claimNext();
    expect(key).toBe('P1');
    const reason: Reason = { code: 'reset', message: 'lost' };
    await settle(id, { kind: 'unconfirmed', nextLookAt: fixture.clock.now(), spend: true, reason });
    await ask('unpublished');
    await settle(id, { kind: 'resend', reason, dueAt: 0, absent: false });
    expect(await byHand()).toEqual(['passport.init P1', 'passport.init P2']);
  });

  it("a person's request for a passport waits while its scope is refused, and until its time has come", async () => {
    await stageRows(fixture.ledger, ROWS);
    await deliverAll(fixture.ledger);
    await ask('published');
    const suspended = {
      operations: ['passport.init'] as const,
      unconfirmed: { operations: [], kinds: [], reasons: [] },
    };
    expect(await fixture.ledger.dueByHand({ limit: 9, suspended })).toEqual([]);
    const [due] = await fixture.ledger.dueByHand({ limit: 9 });
    await claimOne(fixture.ledger, due?.id ?? 0);
    const reason: Reason = { code: 'unavailable', message: 'away' };
    const dueAt = fixture.clock.now() + 5000;
    await settle(due?.id ?? 0, { kind: 'retry', reason, dueAt, spend: false });
    expect(await byHand()).toEqual([]);
    fixture.clock.advance(5000);
    expect(await byHand()).toEqual(['passport.init P1']);
  });
});
