import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { type Item, partRef } from '../../../src/domain/item.ts';
import type { Mapper } from '../../../src/domain/mapping.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { createPageWorld, type PageWorld, pagesOf, sourceRow } from '../../support/worlds/page-world.ts';
import '../../support/runner/property-seed.ts';

/** A row of each kind of item. A part is a product or a material, whichever has the key. */
type Row = { id: string; kind: 'product' | 'material' | 'part'; key: string };

function itemOf({ id, kind, key }: Row): Item {
  if (kind === 'product') return { kind, key, payload: { sku: key, name: key }, refs: [] };
  if (kind === 'material') return { kind, key, payload: { name: `material ${key}` }, refs: [] };
  const product = { role: 'product', kind: 'product', key: 'P' } as const;
  return { kind: 'bom_item', key: id, payload: { quantity: '1' }, refs: [product, partRef(key)] };
}

const mapper: Mapper = {
  revision: 'r1',
  streams: ['default'],
  map: ({ fields }) => ({ status: 'mapped', items: [{ ...itemOf(fields as unknown as Row), mapping: 0 }] }),
};

let world: PageWorld;
afterEach(() => world.remove());

async function pull(rows: readonly Row[], size = 2): Promise<void> {
  const list = rows.map((row, at) => sourceRow({ ...row } satisfies JsonObject, at + 1));
  await world.pull({ pages: pagesOf(list, size), mapper });
  while (world.ledger.pendingSources().length > 0) await world.mapStored();
}

/** The item to which a part refers, or the code of its issue. */
function partOf(id: string): string | undefined {
  const found = world.ledger.views.quarantined({ afterId: 0, limit: 100 }).find(({ fields }) => fields['id'] === id);
  if (found !== undefined) return found.issues[0]?.code;
  const refs = world.ledger.views.item('bom_item', id)?.refs ?? [];
  return refs.flatMap(({ role, kind }) => (role === 'product' ? [] : [`${role} ${kind}`]))[0];
}

const P: Row = { id: 'p', kind: 'product', key: 'P' };
const PART: Row = { id: 'b', kind: 'part', key: 'X' };
const MATERIAL: Row = { id: 'm', kind: 'material', key: 'X' };
const COMPONENT: Row = { id: 'c', kind: 'product', key: 'X' };

describe('a part that is a product or a material', () => {
  it('a ref to a part waits until a product or a material has the key', async () => {
    world = await createPageWorld();
    await pull([P, PART]);
    expect(world.ledger.views.item('bom_item', 'b')?.state).toBe('waiting');
    await pull([P, PART, MATERIAL]);
    expect(partOf('b')).toBe('material material');
  });

  it('a ref to a part is quarantined while both a product and a material have the key, and taken up when one is gone', async () => {
    world = await createPageWorld();
    await pull([P, PART, MATERIAL, COMPONENT]);
    expect(partOf('b')).toBe('refs.ambiguous');
    await pull([P, PART, COMPONENT]);
    expect(partOf('b')).toBe('component product');
  });

  it('a ref to a part changes nothing where a mapping begins to write `part` in place of `material`', async () => {
    world = await createPageWorld();
    const named: Mapper = {
      ...mapper,
      revision: 'r0',
      map(record) {
        const result = mapper.map(record);
        if (result.status !== 'mapped') return result;
        const refs = (item: Item) =>
          item.refs.map((ref) =>
            ref.either ? { role: 'material' as const, kind: 'material' as const, key: ref.key } : ref,
          );
        return { ...result, items: result.items.map((item) => ({ ...item, refs: refs(item) })) };
      },
    };
    const rows = [P, MATERIAL, PART].map((row, at) => sourceRow({ ...row }, at + 1));
    await world.pull({ pages: [rows], mapper: named });
    const before = world.ledger.views.item('bom_item', 'b');
    await pull([P, MATERIAL, PART]);
    expect(world.ledger.views.item('bom_item', 'b')).toMatchObject({ revision: before?.revision, refs: before?.refs });
  });

  it('a ref to a part is the same in whatever order the rows arrive, and in pages of any size', async () => {
    const row = fc.record({
      id: fc.constantFrom('1', '2', '3', '4', '5'),
      kind: fc.constantFrom('product', 'material', 'part'),
      key: fc.constantFrom('P', 'X', 'Y'),
    });
    const snapshot = fc
      .uniqueArray(row, { selector: ({ id }) => id, maxLength: 5 })
      // Two rows that make the same item are left out here: other tests show contenders.
      .filter(
        (rows) => new Set(rows.map(({ id, kind, key }) => (kind === 'part' ? id : kind + key))).size === rows.length,
      );
    await fc.assert(
      fc.asyncProperty(
        fc.array(snapshot, { maxLength: 3 }),
        snapshot,
        fc.integer({ min: 1, max: 4 }),
        async (before, last, size) => {
          world = await createPageWorld();
          try {
            for (const rows of before) await pull(rows as Row[], size);
            await pull(last as Row[], size);
            const has = (kind: string, key: string) => last.some((one) => one.kind === kind && one.key === key);
            for (const { id, key } of last.filter(({ kind }) => kind === 'part')) {
              const isProduct = key !== 'P' && has('product', key);
              const isMaterial = has('material', key);
              // A part that no row gives waits, whatever it is taken for.
              if (!isProduct && !isMaterial) continue;
              const only = isMaterial ? 'material material' : 'component product';
              const expected = isProduct && isMaterial ? 'refs.ambiguous' : only;
              expect(`${id}: ${partOf(id)}`).toBe(`${id}: ${expected}`);
            }
          } finally {
            await world.remove();
          }
        },
      ),
      { numRuns: 60 },
    );
    world = await createPageWorld();
  });
});
