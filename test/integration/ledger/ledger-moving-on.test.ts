// The deliveries of an item whose desired payload changes while an earlier one is acknowledged or may be at the API.

import { describe, expect, it } from 'vitest';
import type { ClaimedRequest, Decision } from '../../../src/domain/ports/deliveries.ts';
import type { ListableKind } from '../../../src/domain/ports/target.ts';
import { verifyLedger } from '../../../src/ledger/backup/verify.ts';
import { openDatabaseReadOnly } from '../../../src/ledger/upgrade/open.ts';
import { covers } from '../../support/docs/reliability.ts';
import { alone, deliverAll, delivered } from '../../support/ledger/deliveries.ts';
import { bomItem, items, material, product } from '../../support/ledger/items.ts';
import { useLedger } from '../../support/ledger/ledger.ts';
import { stageRows } from '../../support/ledger/records.ts';

const fixture = useLedger();

interface Stored {
  acknowledged: number;
  baseline: string | null;
  sent: string | null;
  state: string;
  revision: number;
}

function stored(kind: string, key: string): Stored | undefined {
  const db = openDatabaseReadOnly(fixture.file);
  try {
    return db
      ?.prepare<[string, string], Stored>(
        'SELECT acknowledged, baseline, sent, state, revision FROM items WHERE kind = ? AND key = ?',
      )
      .get(kind, key);
  } finally {
    db?.close();
  }
}

const soundness = () => verifyLedger(fixture.file, () => {})?.findings;
const reason = { code: 'reset', message: 'why' } as const;
const ACCEPTED = delivered(7);
const UNCONFIRMED: Decision = { kind: 'unconfirmed', nextLookAt: 1, spend: true, reason };

async function claim(): Promise<ClaimedRequest> {
  const due = await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 });
  const [claimed] = await fixture.ledger.claim([alone(due)]);
  if (claimed === undefined) throw new Error('Nothing is due.');
  return claimed;
}

async function settle(claimed: ClaimedRequest, decision: Decision, readBack = false) {
  const settlements = claimed.members.map(({ id, revision }) => ({ id, revision, decision }));
  const claimName = readBack ? null : claimed;
  return await fixture.ledger.settle([{ claim: claimName, settlements, keep: true, groupMax: null }]);
}

const MAKE = { product, material } as const;
const stage = (kind: ListableKind, name: string) => stageRows(fixture.ledger, { A: items(MAKE[kind]('A', name)) });
const body = (kind: ListableKind, name: string) => JSON.stringify({ ...MAKE[kind]('A', name).payload });
const sorted = (text: string | null | undefined): unknown => (text ? (JSON.parse(text) as unknown) : text);

/** The operations for products and materials. `before` is the acknowledged payload, if there is one. */
const WRITES: readonly { operation: string; kind: ListableKind; before: string | null }[] = [
  { operation: 'product.create', kind: 'product', before: null },
  { operation: 'material.create', kind: 'material', before: null },
  { operation: 'material.update', kind: 'material', before: 'first' },
  { operation: 'product.import', kind: 'product', before: 'first' },
];

describe.each(WRITES)('an item that changes around its $operation', ({ operation, kind, before }) => {
  async function begin(): Promise<void> {
    if (before !== null) {
      await stage(kind, before);
      await deliverAll(fixture.ledger);
      expect(stored(kind, 'A')).toMatchObject({ acknowledged: 1, baseline: null, state: 'delivered' });
    }
    await stage(kind, 'A');
  }

  it('an item that changes keeps its acknowledged payload as baseline', covers('changed-amid', 'I4'), async () => {
    await begin();
    const { acknowledged, baseline } = stored(kind, 'A') ?? {};
    expect(acknowledged).toBe(before === null ? 0 : 2);
    expect(sorted(baseline)).toEqual(before === null ? null : sorted(body(kind, before)));
    expect(soundness()).toEqual([]);
  });

  it.each([
    { when: 'while it is being sent', isUnconfirmed: false },
    { when: 'while it is unconfirmed', isUnconfirmed: true },
  ])(
    'a write of an item that changes is acknowledged as it was sent, and followed, $when',
    covers('changed-amid', 'I3', 'I4'),
    async ({ isUnconfirmed }) => {
      await begin();
      const claimed = await claim();
      expect(claimed.operation).toBe(operation);
      if (isUnconfirmed) await settle(claimed, UNCONFIRMED);
      await stage(kind, 'B');
      expect(sorted(stored(kind, 'A')?.sent)).toEqual(sorted(body(kind, 'A')));
      expect(await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 })).toEqual([]);
      expect(soundness()).toEqual([]);
      const settled = await settle(claimed, isUnconfirmed ? delivered(7, 'read_back') : ACCEPTED, isUnconfirmed);
      expect(settled).toMatchObject([{ applied: true }]);
      const after = stored(kind, 'A');
      expect(after).toMatchObject({ acknowledged: 2, sent: null, revision: (claimed.members[0]?.revision ?? 0) + 1 });
      expect(sorted(after?.baseline)).toEqual(sorted(body(kind, 'A')));
      expect(fixture.ledger.views.item(kind, 'A')).toMatchObject({ baseline: sorted(body(kind, 'A')) });
      expect(soundness()).toEqual([]);
    },
  );

  it('an item that changes back to what was sent needs no next write', covers('changed-amid', 'I4'), async () => {
    await begin();
    const claimed = await claim();
    await stage(kind, 'B');
    await stage(kind, 'A');
    await settle(claimed, ACCEPTED);
    expect(stored(kind, 'A')).toMatchObject({ acknowledged: 1, baseline: null, sent: null, state: 'delivered' });
    expect(await fixture.ledger.dueDeliveries({ afterId: 0, limit: 9 })).toEqual([]);
    expect(soundness()).toEqual([]);
  });

  it("an item that changes is sent with the first claim's bytes", covers('answer-lost', 'I2', 'I3'), async () => {
    await begin();
    const claimed = await claim();
    await settle(claimed, UNCONFIRMED);
    await stage(kind, 'B');
    await settle(claimed, { kind: 'resend', dueAt: 0, absent: false, reason }, true);
    // It is due now, and may be at the API all the same.
    await stage(kind, 'C');
    const again = await claim();
    expect(again).toMatchObject({ body: claimed.body, idempotencyKey: claimed.idempotencyKey, sends: 2 });
    expect(again.request).toBe(claimed.request);
    expect(soundness()).toEqual([]);
  });

  it('an item that changes ignores answers to earlier claims', covers('changed-amid', 'I3', 'I4'), async () => {
    await begin();
    const first = await claim();
    await settle(first, { kind: 'retry', dueAt: 0, spend: false, reason: { code: 'throttled', message: 'why' } });
    const second = await claim();
    expect(await settle(first, ACCEPTED)).toMatchObject([{ applied: false }]);
    expect(stored(kind, 'A')?.state).toBe('sending');
    expect(await settle(second, ACCEPTED)).toMatchObject([{ applied: true }]);
  });

  it('an item that changes ignores answers to old revisions', covers('changed-amid', 'I3', 'I4'), async () => {
    await begin();
    const first = await claim();
    await settle(first, { kind: 'rejected', reason: { code: 'refused', message: 'why' } });
    await stage(kind, 'B');
    const second = await claim();
    expect(await settle(first, ACCEPTED)).toMatchObject([{ applied: false }]);
    const mixed = first.members.map(({ id, revision }) => ({ id, revision, decision: ACCEPTED }));
    const group = { claim: second, settlements: mixed, keep: false, groupMax: null };
    expect(await fixture.ledger.settle([group])).toMatchObject([{ applied: false }]);
    expect(stored(kind, 'A')?.state).toBe('sending');
  });
});

it('a claim takes no other revision than the one that it names', covers('changed-amid', 'I3'), async () => {
  await stage('product', 'A');
  const [due] = await fixture.ledger.dueDeliveries({ afterId: 0, limit: 1 });
  await stage('product', 'B');
  expect(await fixture.ledger.claim([alone([due!])])).toEqual([]);
});

describe('a product that is given another natural key', () => {
  const renamed = { ...product('A'), payload: { sku: 'SKU-OTHER', name: 'Product A' } };

  it('a product with a new natural key is created under it where the API has acknowledged nothing', async () => {
    await stageRows(fixture.ledger, { A: items(product('A')) });
    await stageRows(fixture.ledger, { A: items(renamed) });
    expect(await claim()).toMatchObject({
      operation: 'product.create',
      body: JSON.stringify(renamed.payload, ['name', 'sku']),
    });
  });

  it('a product with a new natural key is blocked where the API knows it', covers('changed-amid', 'I6'), async () => {
    await stageRows(fixture.ledger, { A: items(product('A')) });
    await deliverAll(fixture.ledger);
    await stageRows(fixture.ledger, { A: items(renamed) });
    expect(fixture.ledger.views.item('product', 'A')).toMatchObject({ state: 'blocked', reason: { code: 'renamed' } });
  });

  it('a product renamed during its create is blocked afterwards', covers('changed-amid', 'I6'), async () => {
    await stageRows(fixture.ledger, { A: items(product('A')) });
    const claimed = await claim();
    await stageRows(fixture.ledger, { A: items(renamed) });
    await settle(claimed, ACCEPTED);
    expect(fixture.ledger.views.item('product', 'A')).toMatchObject({ state: 'blocked', reason: { code: 'renamed' } });
  });
});

describe('a passport', () => {
  const withPassports = useLedger({
    rules: { init: 'when-complete', publish: 'auto', partSources: [], bomSources: [] },
  });

  it(
    'a passport keeps what the API has acknowledged, whatever is desired of it meanwhile',
    covers('changed-amid', 'I4'),
    async () => {
      const { ledger } = withPassports;
      await stageRows(ledger, { A: items(product('A')) });
      await deliverAll(ledger);
      await ledger.evaluatePassports({ afterKey: null, limit: 9 });
      const status = () => ledger.views.item('passport', 'A')?.baseline;
      const step = async (decision: Decision) => {
        const due = await ledger.dueDeliveries({ afterId: 0, limit: 1 });
        const [claimed] = await ledger.claim([alone(due)]);
        if (claimed === undefined) throw new Error('Nothing is due.');
        await ledger.askForPassports({ products: ['A'], status: 'unpublished' });
        const settlements = claimed.members.map(({ id, revision }) => ({ id, revision, decision }));
        await ledger.settle([{ claim: claimed, settlements, keep: false, groupMax: null }]);
        return claimed.operation;
      };
      const done: Decision = { ...ACCEPTED, remoteId: null };
      expect(status()).toBeNull();
      expect(await step(done)).toBe('passport.init');
      expect(status()).toEqual({ status: 'initialized' });
      await ledger.askForPassports({ products: ['A'], status: 'published' });
      expect(await step(done)).toBe('passport.publish');
      expect(status()).toEqual({ status: 'published' });
      expect(await step(done)).toBe('passport.unpublish');
      expect(status()).toEqual({ status: 'unpublished' });
      expect(verifyLedger(withPassports.file, () => {})?.findings).toEqual([]);
    },
  );
});

describe('the history of an item', () => {
  const revisions = () => {
    const db = openDatabaseReadOnly(fixture.file);
    try {
      return db?.prepare('SELECT revision, operation, state FROM history ORDER BY revision').all() ?? [];
    } finally {
      db?.close();
    }
  };

  it('the history of an item has each revision once, from when the next one begins', async () => {
    await stage('material', 'A');
    await stage('material', 'B');
    const superseded = { revision: 1, operation: 'material.create', state: 'superseded' };
    expect(revisions()).toEqual([superseded]);
    await deliverAll(fixture.ledger);
    expect(revisions()).toEqual([superseded]);
    await stage('material', 'C');
    expect(revisions()).toEqual([superseded, { revision: 2, operation: 'material.create', state: 'delivered' }]);
    // The desired payload is again the acknowledged one: no delivery is open, and no revision begins.
    await stage('material', 'B');
    expect(revisions()).toHaveLength(2);
    await stage('material', 'D');
    expect(revisions().at(-1)).toEqual({ revision: 3, operation: 'material.update', state: 'superseded' });
  });
});

it(
  'the ledger gives no item or request the id of an earlier one, also after a restart',
  covers('process-killed', 'I2'),
  async () => {
    const present = { A: items(product('A')), M: items(material('M')), B: items(bomItem('B', 'A', 'M')) };
    await stageRows(fixture.ledger, present);
    await deliverAll(fixture.ledger);
    const ids = (): [number, number] => {
      const db = openDatabaseReadOnly(fixture.file);
      const [items, requests] = ['items', 'requests'].map((name) =>
        Number(db?.prepare('SELECT seq FROM sqlite_sequence WHERE name = ?').pluck().get(name)),
      );
      db?.close();
      return [items ?? 0, requests ?? 0];
    };
    expect(ids()).toEqual([3, 3]);
    // An item whose record is excluded before the first send is deleted.
    await stageRows(fixture.ledger, { ...present, C: items(product('C')) });
    expect(ids()).toEqual([4, 3]);
    await stageRows(fixture.ledger, { ...present, C: { status: 'excluded' } });
    await fixture.reopen();
    await stageRows(fixture.ledger, { ...present, C: items(product('C')) });
    const claimed = await claim();
    expect(claimed.members[0]?.id).toBe(5);
    expect(claimed.request).toBe(4);
  },
);
