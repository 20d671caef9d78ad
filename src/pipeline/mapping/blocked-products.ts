// Decides which passports wait for a quarantined record: those of the products that the record belongs to, as far as
// its columns can still be read.

import type { Issue } from '../../domain/issue.ts';
import type { BlockedProducts } from '../../domain/mapping.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { ExpressionMapping } from './compile-expressions.ts';
import { readKey } from './expression.ts';

/** Why a mapping could not make the items of a row, and which products' passports wait for the row. */
export interface Refusal {
  issues: Issue[];
  blockedProducts: BlockedProducts;
}

/** For a BOM item whose product is unknown: it may belong to any product. */
export const ANY_PRODUCT: BlockedProducts = [null];

/** The products that a row belongs to although it could not be mapped. */
export function productsBlockedBy(mapping: ExpressionMapping, row: JsonObject): BlockedProducts {
  if (mapping.kind === 'material') return [];
  if (mapping.kind === 'bom_item') {
    const product = mapping.refs.find(({ role }) => role === 'product');
    return [product === undefined ? null : readKey(product.expression, row)];
  }
  // A row without a key makes no product, so no passport waits for it.
  const key = readKey(mapping.key, row);
  return key === null ? [] : [key];
}
