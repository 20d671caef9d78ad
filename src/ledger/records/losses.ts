// Which records a stream must not lose. Some records make no item: a quarantined row that never became an item, an
// excluded row, a row that repeats another one. Such a record may vanish without a loss, however small the file is.

import { LOOKUP_VALUES_MAX } from '../../domain/lookup.ts';
import { column, type Reads } from '../store/tx.ts';

/**
 * A condition on a contender `c` whose record is `r`: the record makes the item `i` as it is, or conflicts with it. A record
 * that only has the same natural key makes another item.
 */
export const MAKES_ITEM = `(r.state = 'mapped' OR r.partial = 1 OR (r.state = 'quarantined' AND EXISTS
  (SELECT 1 FROM json_each(r.issues) e WHERE e.value ->> 'code' = 'claim.conflict' AND e.value ->> 'value' = i.key)))`;

const hasItem = 'EXISTS (SELECT 1 FROM items i WHERE i.record_id = r.id)';

const hasEntry = 'EXISTS (SELECT 1 FROM lookup_entries e WHERE e.record_id = r.id AND e.record_id > 0)';

const SQL = {
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
