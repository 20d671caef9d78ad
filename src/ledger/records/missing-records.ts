// Marks records as missing, which their source no longer has.

import { itemsOfRecords } from '../items/item-row.ts';
import { setItemsMissing } from '../items/item-writes.ts';
import { disownItems } from '../items/revisions.ts';
import { statement, type Tx } from '../store/tx.ts';
import { dropLookupEntries } from './lookups.ts';

const SQL = {
  requeueContenders: statement<[string]>(
    `UPDATE records SET state = 'pending', version = version + 1
     WHERE state IN ('mapped', 'quarantined') AND missing_since IS NULL AND id IN
       (SELECT c.record_id FROM json_each(?) k CROSS JOIN items i ON i.record_id = k.value
        CROSS JOIN contenders c ON c.kind = i.kind AND c.key = i.key)`,
  ),
  missRecords: statement<[number, string]>(
    'UPDATE records SET missing_since = ? WHERE id IN (SELECT value FROM json_each(?))',
  ),
};

/** Deletes the held creates of records that are gone again, because these items never reached the platform. */
export function dropHeld(tx: Tx, gone: readonly number[], fresh: Set<number>): { dropped: number[]; known: number[] } {
  if (fresh.size === 0) return { dropped: [], known: [...gone] };
  const dropped = gone.filter((id) => fresh.has(id));
  for (const id of dropped) fresh.delete(id);
  disownItems(tx, itemsOfRecords(tx, dropped));
  const isDropped = new Set(dropped);
  return { dropped, known: gone.filter((id) => !isDropped.has(id)) };
}

/** Marks records as missing. Other records that make the same items may own them now. */
export function markMissing(
  tx: Tx,
  gone: readonly number[],
  { flagItems, requeue = true }: { flagItems: boolean; requeue?: boolean },
): void {
  if (gone.length === 0) return;
  const now = tx.clock.now();
  const ids = JSON.stringify(gone);
  SQL.missRecords(tx).run(now, ids);
  dropLookupEntries(tx, gone);
  if (flagItems) setItemsMissing(tx, gone, now);
  if (requeue) SQL.requeueContenders(tx).run(ids);
}
