import type { Issue } from '../../domain/issue.ts';
import type { Item } from '../../domain/item.ts';
import type { BlockedProducts } from '../../domain/mapping.ts';

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
