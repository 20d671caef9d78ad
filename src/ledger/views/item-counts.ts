import { kindOf, type Operation } from '../../domain/delivery/operation.ts';
import { ITEM_KINDS, type ItemKind } from '../../domain/item.ts';
import type { ItemCounts, ItemState, LedgerViews } from '../../domain/ports/ledger/ledger-views.ts';
import { isOpen, isStuck } from '../deliveries/delivery-states.ts';
import { needsNothing } from '../items/never-arrived.ts';
import type { Sqlite } from '../store/database.ts';
import type { ItemTotals } from './item-totals.ts';

/**
 * Open deliveries are few, and each of these conditions has an index. The `+` prevents SQLite from grouping by another
 * index.
 */
const IS_OPEN = ["i.state = 'waiting'", "i.state = 'sending'", isStuck('i')];

/**
 * Counts items by kind and state, without passports. Nearly all items are delivered, so delivered items are not counted
 * one by one: their number is the total minus the open and the ended ones. Items that the platform never got and that
 * their source no longer has are not counted.
 */
export function createItemCounts(db: Sqlite, totals: ItemTotals): LedgerViews['itemCounts'] {
  const open = db.prepare<[{ sources: string }], { kind: ItemKind; state: ItemState; n: number }>(
    IS_OPEN.map(
      (isInState) =>
        `SELECT i.kind, i.state, count(*) AS n FROM items i WHERE ${isInState} AND i.kind <> 'passport'
         AND (@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources))) GROUP BY +i.kind, +i.state`,
    ).join(' UNION ALL '),
  );
  // During a large sync many items are due, so they are counted in the order of their index.
  const due = db.prepare<[{ sources: string }], { operation: Operation; n: number }>(
    `SELECT i.operation, count(*) AS n FROM items i WHERE i.state = 'due'
       AND (@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources))) GROUP BY i.operation`,
  );
  const ended = db.prepare<[{ sources: string }], { kind: ItemKind; n: number }>(
    `SELECT i.kind, count(*) AS n FROM items i WHERE i.ignored_hash IS NOT NULL
       AND (@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources))) GROUP BY i.kind`,
  );
  // An open one counts in its state until its deliveries are ended.
  const nothing = db.prepare<[{ sources: string }], { kind: ItemKind; isIgnored: 0 | 1; n: number }>(
    `SELECT i.kind, i.ignored_hash IS NOT NULL AS isIgnored, count(*) AS n FROM items i WHERE ${needsNothing('i')} AND NOT ${isOpen('i')}
       AND (@sources = '[]' OR i.source IN (SELECT value FROM json_each(@sources))) GROUP BY 1, 2`,
  );
  // All queries run in one transaction, so that they see the same moment.
  return db.transaction((sources: readonly string[] = []) => {
    const counts: ItemCounts = { product: {}, material: {}, bom_item: {} };
    const delivered = { ...totals(sources) };
    const listed = { sources: JSON.stringify(sources) };
    const superseded = ended.all(listed).map((row) => ({ ...row, state: 'superseded' as const }));
    const dueItems = due
      .all(listed)
      .filter(({ operation }) => !operation.startsWith('passport.'))
      .map(({ operation, n }) => ({ kind: kindOf(operation), state: 'due' as const, n }));
    for (const { kind, state, n } of [...open.all(listed), ...dueItems, ...superseded]) {
      counts[kind][state] = (counts[kind][state] ?? 0) + n;
      delivered[kind] = (delivered[kind] ?? 0) - n;
    }
    for (const { kind, isIgnored, n } of nothing.all(listed)) {
      if (isIgnored === 1) counts[kind].superseded = (counts[kind].superseded ?? 0) - n;
      else delivered[kind] = (delivered[kind] ?? 0) - n;
      if (counts[kind].superseded === 0) delete counts[kind].superseded;
    }
    for (const kind of ITEM_KINDS) {
      const n = delivered[kind] ?? 0;
      if (n > 0) counts[kind].delivered = n;
    }
    return counts;
  });
}
