import type { ItemKind } from '../domain/item.ts';
import type { ItemCounts, ItemState, LedgerViews } from '../domain/ports/ledger-views.ts';
import type { Sqlite } from './database.ts';
import { isOpen } from './delivery-states.ts';

/** Counts items by kind and state; passports are told by where they stand instead. */
export function createItemCounts(db: Sqlite): LedgerViews['itemCounts'] {
  const counted = db.prepare<[{ sources: string }], { kind: ItemKind; state: ItemState; n: number }>(
    `SELECT i.kind, coalesce(d.state, 'delivered') AS state, count(*) AS n FROM items i
     LEFT JOIN deliveries d ON d.item_id = i.id AND ${isOpen('d')}
     WHERE i.kind <> 'passport' AND (@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources)))
     GROUP BY 1, 2`,
  );
  return (sources) => {
    const counts: ItemCounts = { product: {}, material: {}, bom_item: {} };
    for (const { kind, state, n } of counted.all({ sources: JSON.stringify(sources ?? []) })) counts[kind][state] = n;
    return counts;
  };
}
