// Items whose remote id another item has taken over. An item without its remote id is not at the platform any more, so
// its next write is a create. This is also true for the BOM items and the passport of such a product, because at the
// platform they belong to the product of the other item.

import { column, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { ITEM_COLUMNS, type ItemRow, mayHaveArrived } from './item-row.ts';
import { supersedeRevision } from './revisions.ts';

const SQL = {
  forget: statement<[number]>(
    `UPDATE items SET acknowledged = 0, baseline = NULL, baseline_hash = NULL, remote_id = NULL, adopted = 0,
       parts_unknown = 0, ignored_hash = NULL, dirty = iif(kind = 'passport', 1, dirty) WHERE id = ?`,
  ),
  ofProduct: statement<[string], ItemRow>(
    `SELECT ${ITEM_COLUMNS} FROM items WHERE acknowledged > 0
     AND id IN (SELECT item_id FROM refs WHERE kind = 'product' AND key = ? AND role = 'product')`,
  ),
  isPresent: column<[number], number>('SELECT 1 FROM records WHERE id = ? AND missing_since IS NULL'),
  all: column<[], number>("SELECT id FROM items WHERE remote_id = 'null' AND kind IN ('product', 'material')"),
};

/**
 * Forgets what the API has acknowledged of an item that gave its id away. Returns the items that have to be
 * reconciled afterwards: those that their source still has.
 */
export function forgetGivenId(tx: Tx, item: ItemRow): number[] {
  const ofProduct = item.kind === 'product' ? SQL.ofProduct(tx).all(item.key) : [];
  // An item whose write may have arrived is skipped here: its delivery is settled first.
  return [item, ...ofProduct.filter((one) => !mayHaveArrived(one))].flatMap((one) => forgetOne(tx, one));
}

/** The items that gave their ids away and that `forget` was not called for. Reads all items. */
export function idsGivenAway(tx: Tx): number[] {
  return SQL.all(tx).all();
}

function forgetOne(tx: Tx, item: ItemRow): number[] {
  supersedeRevision(tx, item);
  SQL.forget(tx).run(item.id);
  const isPresent = item.recordId !== null && SQL.isPresent(tx).get(item.recordId) !== undefined;
  return isPresent ? [item.id] : [];
}
