// Staging many items at once has the same result as staging them one by one.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { contentOf, type Item } from '../../../src/domain/item.ts';
import { naturalKeyOf } from '../../../src/domain/natural-key.ts';
import { Profile } from '../../../src/domain/profile.ts';
import type { OwnedDesire } from '../../../src/ledger/items/desire.ts';
import { desireItems } from '../../../src/ledger/items/desire.ts';
import { findItems, nameOf } from '../../../src/ledger/items/item-row.ts';
import type { Tx } from '../../../src/ledger/store/tx.ts';
import { inTransaction } from '../../../src/ledger/store/tx.ts';
import { openDatabase } from '../../../src/ledger/upgrade/open.ts';
import { ledgerContext } from '../../support/ledger/context.ts';
import { bomItem, material, product } from '../../support/ledger/items.ts';
import { createManualClock } from '../../support/time/manual-clock.ts';

const PROFILE = Profile.parse({});

const owner = { id: 1, source: 'erp', missingSince: null };

/** The desired items of a page, with the items that the ledger has when the page is staged. */
function desired(tx: Tx, page: readonly Item[]): OwnedDesire[] {
  const known = findItems(tx, page);
  return page.map((item) => ({
    item,
    content: contentOf(item),
    naturalKey: item.kind === 'bom_item' ? null : naturalKeyOf(PROFILE, item.kind, item.payload),
    known: known.get(nameOf(item)),
    owner,
  }));
}

/** Stages pages in a separate ledger. Returns the content of the ledger, and the result for each item. */
function stage(pages: readonly (readonly Item[])[], stagePage: (tx: Tx, page: readonly Item[]) => unknown[]) {
  const folder = mkdtempSync(join(tmpdir(), 'dpp-desire-'));
  const db = openDatabase(join(folder, 'ledger.db'));
  try {
    const context = ledgerContext({ db, clock: createManualClock(1_000), profile: PROFILE });
    const staged = pages.map((page) => {
      const result = inTransaction(context, (tx) => stagePage(tx, page));
      // The first product arrives, and the first material is being sent.
      db.exec(`UPDATE items SET state = 'delivered', acknowledged = 1, remote_id = '1' WHERE kind = 'product' AND key = '0';
        UPDATE items SET state = 'sending' WHERE kind = 'material' AND key = '0' AND state = 'due'`);
      return result;
    });
    const tables = ['items', 'refs', 'history', 'events'].map((table) => db.prepare(`SELECT * FROM ${table}`).all());
    return { staged, tables };
  } finally {
    db.close();
    rmSync(folder, { recursive: true });
  }
}

const key = fc.integer({ min: 0, max: 4 }).map(String);
const name = fc.constantFrom('one', 'two');
const item: fc.Arbitrary<Item> = fc.oneof(
  fc.tuple(key, name).map(([of, called]) => product(of, called)),
  fc.tuple(key, name).map(([of, called]) => material(of, called)),
  fc.tuple(key, key, key, name).map(([of, from, part, count]) => bomItem(of, from, part, count)),
);

it('a page of items is staged at once as one item after the other, with repeats, refs and known items', () => {
  const pages = fc.array(fc.array(item, { maxLength: 12 }), { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(pages, (given) => {
      const atOnce = stage(given, (tx, page) => desireItems(tx, desired(tx, page), false));
      // New items are inserted first, so that their ids are the same.
      const oneByOne = stage(given, (tx, page) => {
        const wanted = desired(tx, page);
        const isFresh = (at: number) =>
          wanted[at]?.known === undefined && page.findIndex((one) => nameOf(one) === nameOf(page[at]!)) === at;
        const order = [...page.keys()].toSorted((a, b) => Number(isFresh(b)) - Number(isFresh(a)) || a - b);
        const staged: unknown[] = [];
        for (const at of order) [staged[at]] = desireItems(tx, desired(tx, [page[at]!]), false);
        return staged;
      });
      expect(atOnce).toEqual(oneByOne);
    }),
    { numRuns: 60 },
  );
});

it('an item that was removed since its row was read is inserted again, and is not lost', () => {
  const page = [product('0', 'one')];
  const { staged } = stage([page], (tx) => {
    const [stale] = (desireItems(tx, desired(tx, page), false), desired(tx, page));
    tx.db.exec("DELETE FROM items WHERE key = '0'");
    return stale === undefined ? [] : desireItems(tx, [stale], false);
  });
  expect(staged).toEqual([['due']]);
});
