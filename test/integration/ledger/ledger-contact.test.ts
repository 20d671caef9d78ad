import { describe, expect, it } from 'vitest';
import type { ContactEntry } from '../../../src/domain/ports/ledger/contact-ledger.ts';
import { claimOne, deliverAll, settleOne } from '../../support/ledger/deliveries.ts';
import { items, material, product, text } from '../../support/ledger/items.ts';
import { useLedger } from '../../support/ledger/ledger.ts';
import { mapRows, pullAndMap, pullRows, row } from '../../support/ledger/records.ts';

const fixture = useLedger({ contactRules: { firstContact: 'list', bom: 'ask' } });

async function stage(count: number): Promise<void> {
  await pullRows(fixture.ledger, {
    rows: Array.from({ length: count }, (_, index) => row(String(index))),
    snapshot: false,
  });
  await mapRows(fixture.ledger, ({ id }) => items(product(text(id))));
}

/** Reads the list of products to its end. */
async function readProducts(entries: ContactEntry[] = []): Promise<void> {
  await fixture.ledger.beginListing('product');
  if (entries.length > 0) await fixture.ledger.storeListed({ list: 'product', entries, position: null });
  await fixture.ledger.endListing({ list: 'product', count: entries.length });
}

async function readNoPublications(): Promise<void> {
  await fixture.ledger.beginListing('publication');
  await fixture.ledger.endListing({ list: 'publication', count: 0 });
}

/** The platform has nothing. */
async function readEmptyList(): Promise<void> {
  await readProducts();
  expect(await fixture.ledger.compareListed('product')).toEqual({ adopted: 0, ambiguous: 0, next: 'released' });
}

describe('creates before first contact', () => {
  it('creates before first contact are neither listed as due nor claimed, and those of another kind are', async () => {
    await pullAndMap(fixture.ledger, [row('1'), row('2')], ({ id }) => items(product(text(id)), material(text(id))));
    const due = await fixture.ledger.dueDeliveries({ afterId: 0, limit: 10 });
    expect(due).toEqual([]);
    expect(await fixture.ledger.nextDueAt()).toBeNull();
    expect((await fixture.ledger.contactSteps()).map(({ kind, step }) => [kind, step])).toEqual([
      ['material', 'read'],
      ['product', 'read'],
    ]);
    for (const id of [1, 2, 3, 4]) expect(await claimOne(fixture.ledger, id)).toBeNull();
    await readEmptyList();
    const sent = await deliverAll(fixture.ledger);
    expect(sent.map(({ operation }) => operation)).toEqual(['product.create', 'product.create']);
  });

  it('creates are compared with the list again where a create begins again on a compared item', async () => {
    const stageFirst = async (sku: string) => {
      await pullRows(fixture.ledger, { rows: [row('1', { sku }), row('2')], snapshot: false });
      await mapRows(fixture.ledger, ({ id, sku: given }) => {
        const one = product(text(id));
        return items(typeof given === 'string' ? { ...one, payload: { ...one.payload, sku: given } } : one);
      });
    };
    await stageFirst('NEW');
    await readProducts([{ remoteId: 7, fields: { sku: 'OLD', name: 'There before' } }]);
    await readNoPublications();
    expect(await fixture.ledger.compareListed('product')).toEqual({ adopted: 0, ambiguous: 0, next: 'released' });
    await claimOne(fixture.ledger, 1);
    const decision = { kind: 'rejected', reason: { code: 'refused', message: 'No.' } } as const;
    await settleOne(fixture.ledger, { id: 1, decision });
    await stageFirst('OLD');
    expect(await fixture.ledger.compareListed('product')).toMatchObject({ adopted: 1 });
    expect(fixture.ledger.views.item('product', '1')?.remoteId).toBe(7);
  });

  it('creates continue after a restart where the reading of their list had ended', async () => {
    await stage(1);
    await fixture.ledger.beginListing('product');
    const entries = [{ remoteId: 7, fields: { sku: 'OTHER', name: 'Of somebody else' } }];
    await fixture.ledger.storeListed({ list: 'product', entries, position: 'page 2' });
    await fixture.reopen();
    expect(await fixture.ledger.contactSteps()).toEqual([
      { kind: 'product', step: 'read', from: { position: 'page 2', ids: [7] }, expected: null },
    ]);
  });

  it('a list is read again for more than 20 creates in one run of a source in contact, and one request may spare that', async () => {
    await stage(1);
    await readEmptyList();
    await deliverAll(fixture.ledger);
    fixture.clock.advance(3_600_000);
    await stage(21);
    expect(await fixture.ledger.contactSteps()).toEqual([]);
    await deliverAll(fixture.ledger, 201);
    fixture.clock.advance(3_600_000);
    await stage(42);
    // One of the first run, and twenty of the second.
    expect(await fixture.ledger.contactSteps()).toEqual([{ kind: 'product', step: 'read', from: null, expected: 21 }]);
    await fixture.ledger.confirmListing('product');
    expect(await fixture.ledger.compareListed('product')).toMatchObject({ next: 'released' });
    expect(await deliverAll(fixture.ledger, 301)).toHaveLength(21);
  });

  it('creates are listed once where the platform refuses a second item of a key', async () => {
    await fixture.reopen({ duplicateKeys: 'refused' });
    await stage(1);
    expect(await fixture.ledger.contactSteps()).toHaveLength(1);
    await readEmptyList();
    await deliverAll(fixture.ledger);
    fixture.clock.advance(3_600_000);
    await stage(60);
    expect(await fixture.ledger.contactSteps()).toEqual([]);
  });
});

describe('an entry of a list', () => {
  it('an entry of a list that is staged later is compared before its create is sent', async () => {
    await stage(1);
    await readProducts([{ remoteId: 7, fields: { sku: 'SKU-1', name: 'Product 1' } }]);
    await fixture.ledger.compareListed('product');
    expect(await deliverAll(fixture.ledger)).toHaveLength(1);
    await stage(2);
    expect(await fixture.ledger.contactSteps()).toEqual([{ kind: 'product', step: 'compare' }]);
    expect(await fixture.ledger.compareListed('product')).toMatchObject({ next: 'publications' });
    await readNoPublications();
    expect(await fixture.ledger.compareListed('product')).toEqual({ adopted: 1, ambiguous: 0, next: 'released' });
    expect(fixture.ledger.views.item('product', '1')).toMatchObject({ state: 'delivered', remoteId: 7 });
    expect(await deliverAll(fixture.ledger)).toEqual([]);
  });
});

describe('an entry with a field that cannot be compared', () => {
  /** As an earlier version has stored it. */
  const halfOfACharacter = { sku: 'SKU-1', name: 'cut \ud83d' };

  it('an entry with a field that cannot be compared blocks its own item alone, and the other creates are sent', async () => {
    await stage(3);
    await readNoPublications();
    await readProducts([{ remoteId: 7, fields: halfOfACharacter }]);
    expect(await fixture.ledger.compareListed('product')).toEqual({ adopted: 0, ambiguous: 1, next: 'released' });
    expect(fixture.ledger.views.item('product', '1')).toMatchObject({ state: 'blocked' });
    expect(await deliverAll(fixture.ledger)).toHaveLength(2);
  });

  it('a person can accept an entry with a field that cannot be compared as the item', async () => {
    await stage(2);
    await readNoPublications();
    await readProducts([{ remoteId: 7, fields: halfOfACharacter }]);
    await fixture.ledger.compareListed('product');
    expect(await fixture.ledger.adoptAs({ name: '1', kind: 'product', remoteId: 7 })).toEqual({ key: '1' });
    expect(fixture.ledger.views.item('product', '1')).toMatchObject({ remoteId: 7 });
  });
});
