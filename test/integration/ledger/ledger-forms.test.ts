import { describe, expect, it } from 'vitest';
import { verifyLedger } from '../../../src/ledger/backup/verify.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { replayForm } from '../../../src/pipeline/replay.ts';
import { claimDue, deliverAll, delivered, LOST, settleOne } from '../../support/ledger/deliveries.ts';
import { bomItem, items, material, product } from '../../support/ledger/items.ts';
import { useLedger } from '../../support/ledger/ledger.ts';
import { stageRows } from '../../support/ledger/records.ts';

const A = {};
const B = { wireNames: { material: { name: 'title' }, product: { name: 'title' }, bom_item: { quantity: 'qty' } } };
const ALL = { sources: [], keys: [], kinds: [], dryRun: false };

describe('the form in which the API has acknowledged an item', () => {
  const fixture = useLedger();

  const named = (name: string) => ({ ...material('m1'), payload: { ...material('m1').payload, name } });
  const stage = (first = material('m1')) =>
    stageRows(fixture.ledger, { 1: items(first), 2: items(material('m2')), 3: items(material('m3')) });
  const inOtherForm = () =>
    Object.fromEntries(fixture.ledger.views.otherForms().map(({ kind, items: count }) => [kind, count]));
  const due = async () => (await fixture.ledger.dueDeliveries({ afterId: 0, limit: 100 })).map(({ key }) => key);
  const bodyOf = (text: string | null) => JSON.parse(text ?? '{}') as JsonObject;

  /** Opens the ledger as a new process does. */
  async function open(profile: object): Promise<void> {
    await fixture.reopen(profile);
    await fixture.ledger.recover(0);
  }

  async function deliverOne(): Promise<JsonObject> {
    const { id, body } = await claimDue(fixture.ledger);
    await settleOne(fixture.ledger, { id, decision: delivered() });
    return bodyOf(body);
  }

  it('a replay that is interrupted leaves the rest in another form, and what is due is sent later', async () => {
    await stage();
    await deliverAll(fixture.ledger);
    await open(B);
    expect(await replayForm(ALL, fixture.ledger)).toEqual({ staged: { material: 3 }, unsupported: {}, open: {} });
    expect(inOtherForm()).toEqual({ material: 3 });
    await deliverOne();
    await open(B);
    expect(inOtherForm()).toEqual({ material: 2 });
    expect(await replayForm(ALL, fixture.ledger)).toEqual({ staged: {}, unsupported: {}, open: { material: 2 } });
    const sent = await deliverAll(fixture.ledger);
    expect(sent.map(({ operation, key }) => [operation, key])).toEqual([
      ['material.update', 'm2'],
      ['material.update', 'm3'],
    ]);
    expect(bodyOf(sent[0]?.body ?? null)).toEqual(material('m2').payload);
    expect(inOtherForm()).toEqual({});
    expect(verifyLedger(fixture.file, () => {})?.findings).toEqual([]);
  });

  it('a read of the source that changes nothing neither sends an item again nor takes it back', async () => {
    await stage();
    await deliverAll(fixture.ledger);
    await open(B);
    await stage();
    expect(await due()).toEqual([]);
    await replayForm(ALL, fixture.ledger);
    await fixture.ledger.remapRecords({ source: 'erp', streams: ['default'], mappingRevision: 'r2' });
    await stage();
    expect(await due()).toEqual(['m1', 'm2', 'm3']);
  });

  it('an item that is to be sent again is not sent once the profile has its form again', async () => {
    await stage();
    await deliverAll(fixture.ledger);
    await open(B);
    await replayForm(ALL, fixture.ledger);
    const { id } = await claimDue(fixture.ledger);
    await settleOne(fixture.ledger, {
      id,
      decision: { kind: 'rejected', reason: { code: 'refused', message: 'No.' } },
    });
    await open(A);
    expect(inOtherForm()).toEqual({});
    expect(await due()).toEqual([]);
    expect(fixture.ledger.views.itemCounts().material).toEqual({ delivered: 3 });
  });

  it('a change of the source takes the place of the same content in another form', async () => {
    await stage();
    await deliverAll(fixture.ledger);
    await open(B);
    await replayForm({ ...ALL, keys: ['m1'] }, fixture.ledger);
    await stage(named('New'));
    expect(await due()).toEqual(['m1']);
    expect(await deliverOne()).toEqual(named('New').payload);
    expect(inOtherForm()).toEqual({ material: 2 });
  });

  it('a change that the source takes back does not send the former content again', async () => {
    await stage();
    await deliverAll(fixture.ledger);
    await open(B);
    await stage(named('New'));
    await stage();
    expect(await due()).toEqual([]);
    expect(inOtherForm()).toEqual({ material: 3 });
  });

  it('bytes that are sent again keep the form in which they were made', async () => {
    await stage();
    await deliverAll(fixture.ledger);
    await stage(named('New'));
    const { id, body } = await claimDue(fixture.ledger);
    const decision = { kind: 'retry', dueAt: 0, spend: true, uncertain: true, reason: LOST } as const;
    await settleOne(fixture.ledger, { id, decision });
    await open(B);
    expect(await deliverOne()).toEqual(bodyOf(body));
    expect(inOtherForm()).toEqual({ material: 3 });
    await stage(named('Newer'));
    expect(await deliverOne()).toEqual(named('Newer').payload);
    expect(inOtherForm()).toEqual({ material: 2 });
  });

  it('a write that was in flight while the profile changed is acknowledged in its own form', async () => {
    await stage();
    const { id } = await claimDue(fixture.ledger);
    await open(B);
    await settleOne(fixture.ledger, { id, decision: delivered(7, 'read_back') });
    expect(inOtherForm()).toEqual({ material: 1 });
    await deliverAll(fixture.ledger);
    expect(inOtherForm()).toEqual({ material: 1 });
    expect(fixture.ledger.views.item('material', 'm1')).toMatchObject({ inOtherForm: ['name'] });
    expect(fixture.ledger.views.item('material', 'm2')).toMatchObject({ inOtherForm: [] });
  });

  it('a product is imported whole, and a BOM item is only counted unless it is named', async () => {
    await stageRows(fixture.ledger, {
      1: items(product('p')),
      2: items(material('m')),
      3: items(bomItem('b', 'p', 'm')),
    });
    await deliverAll(fixture.ledger);
    await open(B);
    await replayForm(ALL, fixture.ledger);
    const sent = await deliverAll(fixture.ledger);
    expect(sent.map(({ operation }) => operation).sort()).toEqual(['material.update', 'product.import']);
    expect(fixture.ledger.views.item('bom_item', 'b')).toMatchObject({ state: 'delivered', inOtherForm: ['quantity'] });
    expect(inOtherForm()).toEqual({ bom_item: 1 });
    await replayForm({ ...ALL, kinds: ['bom_item'] }, fixture.ledger);
    expect(fixture.ledger.views.item('bom_item', 'b')).toMatchObject({
      state: 'blocked',
      reason: { code: 'unsupported', message: expect.stringContaining('The profile has changed how items') },
    });
    await open(A);
    expect(fixture.ledger.views.item('bom_item', 'b')).toMatchObject({ state: 'delivered', inOtherForm: [] });
  });
});
