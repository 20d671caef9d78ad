import type { MappedItem, MapResult } from '../../domain/mapping.ts';
import { type NaturalKey, naturalKeyOf } from '../../domain/natural-key.ts';
import { createNameSet, type ItemName } from '../items/item-name.ts';
import { statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';

/** An item that a row makes, with its natural key. */
export interface NamedItem {
  item: MappedItem;
  naturalKey: NaturalKey | null;
}

/** The keys and natural keys that the items of the ledger and of earlier rows of the page have. */
export interface PageNames {
  /**
   * Takes the names of the items that a row makes. Returns the items, or null if an item of the ledger or of an earlier
   * row has one of the names already.
   */
  take(result: MapResult): NamedItem[] | null;
}

/** The items of a result that are used. */
export function itemsIn(result: MapResult): readonly MappedItem[] {
  return result.status === 'excluded' ? [] : (result.items ?? []);
}

const SQL = {
  keys: statement<[string], ItemName>(
    `SELECT i.kind, i.key FROM json_each(?) n CROSS JOIN items i ON i.kind = n.value ->> 0 AND i.key = n.value ->> 1`,
  ),
  naturalKeys: statement<[string], ItemName>(
    `SELECT i.kind, i.natural_key AS key FROM json_each(?) n
     CROSS JOIN items i ON i.kind = n.value ->> 0 AND i.natural_key = n.value ->> 1`,
  ),
};

/** Looks up the names of a whole page at once. */
export function pageNames(tx: Tx, results: Iterable<MapResult>): PageNames {
  const named = new Map<MapResult, NamedItem[]>();
  const keys: [string, string][] = [];
  const naturalKeys: [string, string][] = [];
  for (const result of results) {
    const items = itemsIn(result).map((item) => ({
      item,
      naturalKey: naturalKeyOf(tx.profile, item.kind, item.payload),
    }));
    named.set(result, items);
    for (const { item, naturalKey } of items) {
      keys.push([item.kind, item.key]);
      if (naturalKey !== null) naturalKeys.push([item.kind, naturalKey.value]);
    }
  }
  const taken = createNameSet();
  const takenNaturally = createNameSet();
  if (keys.length > 0) for (const name of SQL.keys(tx).all(JSON.stringify(keys))) taken.add(name);
  if (naturalKeys.length > 0) {
    for (const name of SQL.naturalKeys(tx).all(JSON.stringify(naturalKeys))) takenNaturally.add(name);
  }

  return {
    take(result) {
      const items = named.get(result) ?? [];
      let isFree = true;
      for (const { item, naturalKey } of items) {
        if (!taken.add(item)) isFree = false;
        if (naturalKey !== null && !takenNaturally.add({ kind: item.kind, key: naturalKey.value })) isFree = false;
      }
      return isFree ? items : null;
    },
  };
}
