import { describe, expect, it } from 'vitest';
import type { Decision } from '../../../src/domain/ports/deliveries.ts';
import { claimOne, delivered, settleOne } from '../../support/ledger/deliveries.ts';
import { bomItem, items, material, product, text } from '../../support/ledger/items.ts';
import { NO_PARTS, useLedger } from '../../support/ledger/ledger.ts';
import { pullAndMap, row } from '../../support/ledger/records.ts';

const fixture = useLedger({ rules: NO_PARTS });
const issue = { code: 'value.missing', field: 'name', value: null, message: 'bad' } as never;
const LOST = { code: 'reset', message: 'lost' } as const;

/** Rows by id, each with a version; `bad` cannot be mapped. M… is a material, B… a BOM item of A, C… one of X. */
async function stage(rows: Record<string, string>): Promise<void> {
  await pullAndMap(
    fixture.ledger,
    Object.entries(rows).map(([id, v]) => row(id, { v })),
    (fields) => {
      const [id, v] = [text(fields['id']), text(fields['v'])];
      if (v === 'bad') return { status: 'quarantined', issues: [issue], blockedProducts: [id] };
      if (id.startsWith('M')) return items(material(id));
      if (id.startsWith('B')) return items(bomItem(id, 'A', 'M1', v));
      if (id.startsWith('C')) return items(bomItem(id, 'X', 'M1', v));
      return items({ ...product(id), payload: { sku: id === 'X' ? 'SKU-X' : 'SKU-A', name: v } });
    },
  );
}
async function deliver(decisions: Record<string, Decision>): Promise<void> {
  for (const { id, key } of await fixture.ledger.dueDeliveries({ afterId: 0, limit: 99 })) {
    const decision = decisions[key];
    if (decision !== undefined && (await claimOne(fixture.ledger, id)) !== null)
      await settleOne(fixture.ledger, { id, decision });
  }
}
const due = async () =>
  (await fixture.ledger.dueDeliveries({ afterId: 0, limit: 99 })).map(({ key, operation }) => [key, operation]);

describe('an id that goes to another item', () => {
  it('a page is stored with a row that fails, whose product gave its id away, and a changed BOM item of this product', async () => {
    const { ledger } = fixture;
    await stage({ A: '1', M1: '1', B1: '1' });
    await deliver({ A: delivered(1), M1: delivered(2) });
    await deliver({ B1: delivered(7) });
    await stage({ A: '2', M1: '1', B1: '1' });
    const [change] = await ledger.dueDeliveries({ afterId: 0, limit: 9 });
    const id = change?.id ?? 0;
    await claimOne(ledger, id);
    await stage({ N: '2', M1: '1', B1: '1' });
    await deliver({ N: delivered(1, 'read_back') });
    await settleOne(ledger, { id, decision: { kind: 'unconfirmed', nextLookAt: 0, spend: true, reason: LOST } });
    await settleOne(ledger, { id, decision: { kind: 'resend', dueAt: 0, absent: true, reason: LOST } });
    await stage({ N: '2', A: 'bad', M1: '1', B1: '5' });
    expect(ledger.views.item('bom_item', 'B1')).toMatchObject({ state: 'waiting', remoteId: null });
    expect(await due()).toEqual([['A', 'product.create']]);
  });

  it('a BOM item that its source no longer has is not created again where its id and the id of its product go to others at once', async () => {
    const { ledger } = fixture;
    await stage({ A: '1', X: '1', M1: '1', B1: '1' });
    await deliver({ A: delivered(1), X: delivered(9), M1: delivered(2) });
    await deliver({ B1: delivered(7) });
    await stage({ N: '1', X: '1', M1: '1', C1: '1' });
    const claimed = [];
    for (const { id } of await ledger.dueDeliveries({ afterId: 0, limit: 9 })) claimed.push(await claimOne(ledger, id));
    await ledger.settle(
      claimed.flatMap((one) =>
        one === null
          ? []
          : [
              {
                claim: { request: one.request, sends: one.sends },
                settlements: [
                  {
                    id: one.id,
                    revision: one.revision,
                    decision: delivered(one.operation === 'product.create' ? 1 : 7),
                  },
                ],
                keep: false,
                groupMax: null,
              },
            ],
      ),
    );
    expect(ledger.views.item('product', 'N')).toMatchObject({ state: 'delivered', remoteId: 1 });
    expect(ledger.views.item('bom_item', 'C1')).toMatchObject({ state: 'delivered', remoteId: 7 });
    expect(ledger.views.item('bom_item', 'B1')).toMatchObject({ missing: true, revision: 1 });
    await stage({ N: '1', A: '1', X: '1', M1: '1', C1: '1' });
    await deliver({ A: delivered(3) });
    expect(await due()).toEqual([]);
  });
});

it('the blockers of a product that is named by its key and by its SKU are listed once', async () => {
  const { ledger } = fixture;
  await stage({ A: '1', M1: '1', B1: '1' });
  const blockers = ledger.views.passport('A')?.blockers;
  const both = fixture.ledger.views.passportsOf(['A', 'SKU-A']);
  expect(new Set(blockers).size).toBe(blockers?.length);
  expect(both.get('A')?.blockers).toEqual(blockers);
  expect(both.get('SKU-A')?.blockers).toEqual(blockers);
});
