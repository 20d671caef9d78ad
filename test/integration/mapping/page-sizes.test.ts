// The size of the pages in which a source gives its rows decides nothing: the ledger is the same after pages of any size.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Item } from '../../../src/domain/item.ts';
import type { MapResult } from '../../../src/domain/mapping.ts';
import type { SourceRow } from '../../../src/domain/ports/source.ts';
import { Fault } from '../../../src/lib/errors.ts';
import type { JsonObject } from '../../../src/lib/json.ts';
import { deliverAll } from '../../support/ledger/deliveries.ts';
import { bomItem, items, text } from '../../support/ledger/items.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';
import { contentsOf, createPageWorld, mapperOf, pagesOf, sourceRow } from '../../support/worlds/page-world.ts';

const SIZES = [1, 7, 100, Number.POSITIVE_INFINITY] as const;
const FLAVOURS = [
  'product',
  'product',
  'product',
  'material',
  'both',
  'part',
  'same twice',
  'bad',
  'excluded',
] as const;

const few = fc.integer({ min: 0, max: 4 }).map(String);
/** Few values of each, so that rows are repeated, contend for items and natural keys, and refer to each other. */
const row = fc.record({
  id: fc.integer({ min: 0, max: 14 }).map(String),
  flavour: fc.constantFrom(...FLAVOURS),
  key: few,
  natural: few,
  name: fc.constantFrom('A', 'B'),
  material: few,
});
const exportOf = fc.array(row, { maxLength: 30 });
/** Exports one after the other, each with the revision of the mapping. `delivered`: whether earlier deliveries were accepted before. */
const nights = fc.array(
  fc.record({ rows: exportOf, delivered: fc.boolean(), revision: fc.constantFrom('r1', 'r1', 'r2') }),
  {
    minLength: 1,
    maxLength: 4,
  },
);
type Night = typeof nights extends fc.Arbitrary<(infer N)[]> ? N : never;

function mapped({ flavour, key, natural, name, material }: JsonObject): MapResult {
  const product: Item = {
    kind: 'product',
    key: text(key),
    payload: { sku: `S${text(natural)}`, name: text(name) },
    refs: [],
  };
  const part: Item = {
    kind: 'material',
    key: text(material),
    payload: { code: `M${text(natural)}`, name: text(name) },
    refs: [],
  };
  if (flavour === 'excluded') return { status: 'excluded' };
  if (flavour === 'bad') {
    return {
      status: 'quarantined',
      issues: [{ code: 'row.value', message: 'wrong' }],
      blockedProducts: [text(key), null],
    };
  }
  if (flavour === 'material') return items(part);
  if (flavour === 'both') return items(product, part);
  if (flavour === 'same twice') return items(product, product);
  return flavour === 'part' ? items(bomItem(text(key), text(natural), text(material))) : items(product);
}

/** Pulls the exports in pages of this size. Returns the whole content of the ledger. */
async function ledgerAfter(exports: readonly Night[], size: number): Promise<Record<string, unknown[]>> {
  const clock = createManualClock();
  const world = await createPageWorld({ clock });
  try {
    for (const [number, { rows, delivered, revision }] of exports.entries()) {
      if (delivered) await deliverAll(world.ledger, 1000 * number);
      clock.advance(1000);
      const sourceRows: SourceRow[] = rows.map((fields, at) => sourceRow(fields, at + 2));
      const pages = pagesOf(sourceRows, Math.min(size, sourceRows.length || 1));
      await world.pull({ pages, mapper: mapperOf(revision, mapped) }).catch((error: unknown) => {
        // An export whose rows are all bad fails, with pages of any size.
        if (!(error instanceof Fault && error.code === 'source.refused')) throw error;
      });
      await world.mapStored();
      // The job of the stored records may still be in the queue.
      await expect.poll(() => world.mapQueue.busy(), { interval: 1 }).toBe(false);
    }
    await world.close();
    return contentsOf(world.file);
  } finally {
    await world.remove();
  }
}

describe('pages of any size', () => {
  it('pages of any size lead to the same ledger, with repeated rows, contended items and inner refs', async () => {
    await fc.assert(
      fc.asyncProperty(nights, async (exports) => {
        const [first, ...others] = await Promise.all(SIZES.map((size) => ledgerAfter(exports, size)));
        for (const other of others) expect(other).toEqual(first);
      }),
      { numRuns: 12 },
    );
  });
});
