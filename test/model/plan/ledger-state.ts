// The ledger of the model of plans, read without the code under test.

import Database from 'better-sqlite3';
import { type ItemState, readItems } from '../check/check.ts';

/** The items of a ledger, and which items each of them names. Each is called `kind key`. */
export interface LedgerState {
  items: ReadonlyMap<string, ItemState>;
  refs: ReadonlyMap<string, readonly string[]>;
}

export const nameOf = ({ kind, key }: Pick<ItemState, 'kind' | 'key'>): string => `${kind} ${key}`;

/** Reads the items that are committed. */
export function readLedger(file: string): LedgerState {
  const db = new Database(file, { readonly: true });
  try {
    const rows = db
      .prepare<[], { of: string; to: string }>(
        `SELECT i.kind || ' ' || i.key AS "of", r.kind || ' ' || r.key AS "to" FROM refs r JOIN items i ON i.id = r.item_id`,
      )
      .all();
    const refs = Map.groupBy(rows, ({ of }) => of);
    return {
      items: new Map(readItems(file).map((item) => [nameOf(item), item])),
      refs: new Map([...refs].map(([of, found]) => [of, found.map(({ to }) => to)])),
    };
  } finally {
    db.close();
  }
}

/** These items, and all whose writes depend on them: BOM items wait for what they name, and passports for products and parts. */
export function withFollowers(names: Iterable<string>, { refs }: LedgerState): Set<string> {
  const found = new Set(names);
  for (let size = -1; size !== found.size; ) {
    size = found.size;
    for (const [bomItem, ends] of refs) if (ends.some((one) => found.has(one))) found.add(bomItem);
    for (const name of found) {
      const [product] = name.startsWith('product ') ? [name] : (refs.get(name) ?? []).filter(isProduct);
      if (product !== undefined) found.add(product.replace('product', 'passport'));
    }
  }
  return found;
}

const isProduct = (name: string): boolean => name.startsWith('product ');
