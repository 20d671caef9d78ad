import type { Issue } from '../../domain/issue.ts';
import type { Item } from '../../domain/item.ts';
import type { Blocked } from '../../domain/mapping.ts';
import type { ExpressionMapping } from './expressions/compile-expressions.ts';
import type { Scope } from './expressions/expression.ts';
import { readKey } from './expressions/expression.ts';

/** The result of one mapping for a row. */
export interface Made {
  /** The items that are sound. */
  items: Item[];
  /** Why other items could not be made. */
  issues: Issue[];
  /** What waits for the items that could not be made. */
  blocked: Blocked;
}

export function madeItems(items: Item[]): Made {
  return { items, issues: [], blocked: NOTHING };
}

export function madeNothing(issues: Issue[], blocked: Blocked): Made {
  return { items: [], issues, blocked };
}

// Decides which passports wait for a quarantined record: those of the products that the record belongs to, as far as
// its columns can still be read.

/** The result for a BOM item whose product is unknown: the BOM item may belong to any product. */
export const ANY_PRODUCT: Blocked = { products: [null], materials: [] };

export const NOTHING: Blocked = { products: [], materials: [] };

/** What waits for a row, or an entry of a row, that could not be mapped. */
export function blockedBy(mapping: ExpressionMapping, scope: Scope): Blocked {
  if (mapping.kind === 'bom_item') {
    const product = mapping.refs.find(({ role }) => role === 'product');
    return { ...NOTHING, products: [product === undefined ? null : readKey(product.expression, scope)] };
  }
  // A row without a key makes no item, so no passport waits for it.
  const key = readKey(mapping.key, scope);
  if (key === null) return NOTHING;
  return mapping.kind === 'material' ? { ...NOTHING, materials: [key] } : { ...NOTHING, products: [key] };
}

export function allBlocked(all: readonly Blocked[]): Blocked {
  return {
    products: [...new Set(all.flatMap(({ products }) => products))],
    materials: [...new Set(all.flatMap(({ materials }) => materials))],
  };
}
