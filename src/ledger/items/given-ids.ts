// Items whose remote id another item has taken over. An item without its remote id is not at the platform any more, so
// its next write is a create. This is also true for the BOM items and the passport of such a product, because at the
// platform they belong to the product of the other item.

import type { LedgerContext } from '../store/context.ts';
import { ITEM_COLUMNS, type ItemRow, mayHaveArrived } from './item-row.ts';
import type { Revisions } from './revisions.ts';

/** Call each function inside a transaction. */
export interface GivenIds {
  /**
   * Forgets what the API has acknowledged of an item that gave its id away. Returns the items that have to be
   * reconciled afterwards: those that their source still has.
   */
  forget(item: ItemRow): number[];
  /** The items that gave their ids away and that `forget` was not called for. Reads all items. */
  all(): number[];
}

export function createGivenIds({ db }: Pick<LedgerContext, 'db'>, revisions: Pick<Revisions, 'supersede'>): GivenIds {
  const sql = {
    forget: db.prepare<[number]>(
      `UPDATE items SET acknowledged = 0, baseline = NULL, baseline_hash = NULL, remote_id = NULL, adopted = 0,
         parts_unknown = 0, ignored_hash = NULL, dirty = iif(kind = 'passport', 1, dirty) WHERE id = ?`,
    ),
    ofProduct: db.prepare<[string], ItemRow>(
      `SELECT ${ITEM_COLUMNS} FROM items WHERE acknowledged > 0
       AND id IN (SELECT item_id FROM refs WHERE kind = 'product' AND key = ? AND role = 'product')`,
    ),
    isPresent: db.prepare<[number], number>('SELECT 1 FROM records WHERE id = ? AND missing_since IS NULL').pluck(),
    all: db
      .prepare<[], number>("SELECT id FROM items WHERE remote_id = 'null' AND kind IN ('product', 'material')")
      .pluck(),
  };

  function forgetOne(item: ItemRow): number[] {
    revisions.supersede(item);
    sql.forget.run(item.id);
    const isPresent = item.recordId !== null && sql.isPresent.get(item.recordId) !== undefined;
    return isPresent ? [item.id] : [];
  }

  return {
    forget(item) {
      const ofProduct = item.kind === 'product' ? sql.ofProduct.all(item.key) : [];
      // An item whose write may have arrived is skipped here: its delivery is settled first.
      return [item, ...ofProduct.filter((one) => !mayHaveArrived(one))].flatMap(forgetOne);
    },
    all: () => sql.all.all(),
  };
}
