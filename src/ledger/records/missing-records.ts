// Records that their source no longer has: which of them are a loss, and their mark as missing. Some records make no item: a quarantined
// row that never became an item, an excluded row, a row that repeats another one. Such a record may vanish without a loss, however small
// the file is.

import { LOOKUP_VALUES_MAX } from '../../domain/lookup.ts';
import { itemsOfRecords } from '../items/item-row.ts';
import { setItemsMissing } from '../items/item-writes.ts';
import { disownItems } from '../items/revisions.ts';
import { column, type Reads, statement, type Tx } from '../store/tx.ts';
import { dropLookupEntries } from './lookups.ts';

/**
 * A condition on a contender `c` whose record is `r`: the record makes the item `i` as it is, or conflicts with it. A record
 * that only has the same natural key makes another item.
 */
export const MAKES_ITEM = `(r.state = 'mapped' OR r.partial = 1 OR (r.state = 'quarantined' AND EXISTS
  (SELECT 1 FROM json_each(r.issues) e WHERE e.value ->> 'code' = 'claim.conflict' AND e.value ->> 'value' = i.key)))`;

const hasItem = 'EXISTS (SELECT 1 FROM items i WHERE i.record_id = r.id)';
const hasEntry = 'EXISTS (SELECT 1 FROM lookup_entries e WHERE e.record_id = r.id AND e.record_id > 0)';

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
  // A record that makes an item which no other present record makes.
  lastMakers: column<[{ gone: string }], number>(
    `SELECT DISTINCT i.record_id FROM json_each(@gone) g CROSS JOIN items i ON i.record_id = g.value
     WHERE NOT EXISTS (SELECT 1 FROM contenders c CROSS JOIN records r ON r.id = c.record_id
       WHERE c.kind = i.kind AND c.key = i.key AND r.id <> i.record_id AND r.missing_since IS NULL AND ${MAKES_ITEM}
         AND r.id NOT IN (SELECT value FROM json_each(@gone)))`,
  ),
  // A record with a lookup key that no other present record has. A mapping uses at most so many values of a key, so no more are read.
  lastHolders: column<[{ gone: string }], number>(
    `SELECT DISTINCT e.record_id FROM json_each(@gone) g CROSS JOIN lookup_entries e ON e.record_id = g.value AND e.record_id > 0
     WHERE NOT EXISTS (SELECT 1 FROM (SELECT o.record_id FROM lookup_entries o WHERE o.lookup_id = e.lookup_id AND o.key = e.key
         LIMIT ${LOOKUP_VALUES_MAX + 1}) h WHERE h.record_id NOT IN (SELECT value FROM json_each(@gone)))`,
  ),
  spare: column<[{ gone: string }], number>(
    `SELECT r.id FROM json_each(@gone) g CROSS JOIN records r ON r.id = g.value
     WHERE r.state IN ('mapped', 'quarantined') AND NOT ${hasItem} AND NOT ${hasEntry}`,
  ),
  useful: column<[{ streamId: number; limit: number }], number>(
    `SELECT count(*) FROM (SELECT 1 FROM records r
       WHERE r.stream_id = @streamId AND r.missing_since IS NULL AND (${hasItem} OR ${hasEntry}) LIMIT @limit) AS found`,
  ),
};

/**
 * Splits the records that a read does not have. `lost` names the records with an item or a lookup key that no other
 * present record has. `spare` names records that lose nothing, and whose state is shown to people.
 */
export function splitLost(reads: Reads, gone: readonly number[]): { lost: number[]; spare: number[] } {
  if (gone.length === 0) return { lost: [], spare: [] };
  const listed = { gone: JSON.stringify(gone) };
  const lost = new Set([...SQL.lastMakers(reads).all(listed), ...SQL.lastHolders(reads).all(listed)]);
  return { lost: gone.filter((id) => lost.has(id)), spare: SQL.spare(reads).all(listed) };
}

/** How many present records of a stream have an item or a lookup entry. Counts no further than `limit`. */
export function countUseful(reads: Reads, streamId: number, limit: number): number {
  return SQL.useful(reads).get({ streamId, limit }) ?? 0;
}

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
