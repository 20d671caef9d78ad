// Which passports wait for a record that ended in quarantine: those of the products that it is about, as far as that can
// still be told.

import type { Issue } from '../../domain/issue.ts';
import type { BlockedProducts } from '../../domain/mapping.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { ExpressionMapping } from './compile-expressions.ts';
import { readKey } from './evaluate-key.ts';

/** Why a mapping made nothing of a row that it wanted, and whose passports wait for it. */
export interface Refusal {
  issues: Issue[];
  blockedProducts: BlockedProducts;
}

/** A BOM item of which nobody can say to which product it belongs. */
export const ANY_PRODUCT: BlockedProducts = [null];

/** The products that a row is about which its mapping could not use. */
export function productsBlockedBy(mapping: ExpressionMapping, row: JsonObject): BlockedProducts {
  if (mapping.kind === 'material') return [];
  if (mapping.kind === 'bom_item') {
    const product = mapping.refs.find(({ role }) => role === 'product');
    return [product === undefined ? null : readKey(product.expression, row)];
  }
  // Without a key there is no product that could have a passport.
  const key = readKey(mapping.key, row);
  return key === null ? [] : [key];
}
