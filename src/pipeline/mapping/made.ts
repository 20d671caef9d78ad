import type { Issue } from '../../domain/issue.ts';
import type { Item } from '../../domain/item.ts';
import type { BlockedProducts } from '../../domain/mapping.ts';
import type { ExpressionMapping } from './expressions/compile-expressions.ts';
import type { Scope } from './expressions/expression.ts';
import { readKey } from './expressions/expression.ts';

/** The result of one mapping for a row. */
export interface Made {
  /** The items that are sound. */
  items: Item[];
  /** Why other items could not be made. */
  issues: Issue[];
  /** The products whose passports wait for these issues. */
  blockedProducts: BlockedProducts;
}

export function madeItems(items: Item[]): Made {
  return { items, issues: [], blockedProducts: [] };
}

export function madeNothing(issues: Issue[], blockedProducts: BlockedProducts): Made {
  return { items: [], issues, blockedProducts };
}

// Decides which passports wait for a quarantined record: those of the products that the record belongs to, as far as
// its columns can still be read.

/** The result for a BOM item whose product is unknown: the BOM item may belong to any product. */
export const ANY_PRODUCT: BlockedProducts = [null];

/** The products to which a row, or an entry of a row, belongs although it could not be mapped. */
export function productsBlockedBy(mapping: ExpressionMapping, scope: Scope): BlockedProducts {
  if (mapping.kind === 'material') return [];
  if (mapping.kind === 'bom_item') {
    const product = mapping.refs.find(({ role }) => role === 'product');
    return [product === undefined ? null : readKey(product.expression, scope)];
  }
  // A row without a key makes no product, so no passport waits for it.
  const key = readKey(mapping.key, scope);
  return key === null ? [] : [key];
}
