// Which records an export must not lose. Some records make no item: a quarantined row that never became an item, an
// excluded row, a row that repeats another one. Such a record may vanish without a loss, however small the file is.

import { LOOKUP_VALUES_MAX } from '../../domain/lookup.ts';
import { column, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';

/**
 * A condition on a contender `c` whose record is `r`: the record makes the item `i` as it is, or conflicts with it. A record
 * that only has the same natural key makes another item.
 */
export const MAKES_ITEM = `(r.state = 'mapped' OR r.partial = 1 OR (r.state = 'quarantined' AND EXISTS
  (SELECT 1 FROM json_each(r.issues) e WHERE e.value ->> 'code' = 'claim.conflict' AND e.value ->> 'value' = i.key)))`;

const hasItem = 'EXISTS (SELECT 1 FROM items i WHERE i.record_id = r.id)';

const hasEntry = 'EXISTS (SELECT 1 FROM lookup_entries e WHERE e.record_id = r.id AND e.record_id > 0)';

const SQL = {
  items: statement<[number], { kind: string; key: string }>('SELECT kind, key FROM items WHERE record_id = ?'),
  makers: column<[{ kind: string; key: string }], number>(
    `SELECT r.id FROM items i CROSS JOIN contenders c ON c.kind = i.kind AND c.key = i.key
     CROSS JOIN records r ON r.id = c.record_id
     WHERE i.kind = @kind AND i.key = @key AND r.id <> i.record_id AND r.missing_since IS NULL AND ${MAKES_ITEM}`,
  ),
  entries: statement<[number], { lookupId: number; key: string }>(
    'SELECT lookup_id AS lookupId, key FROM lookup_entries WHERE record_id = ? AND record_id > 0',
  ),
  // A mapping uses at most this many values of a key, so no more have to be read.
  holders: column<[{ lookupId: number; key: string }], number>(
    `SELECT record_id FROM lookup_entries WHERE lookup_id = @lookupId AND key = @key LIMIT ${LOOKUP_VALUES_MAX + 1}`,
  ),
  isShown: column<[number], number>("SELECT 1 FROM records WHERE id = ? AND state IN ('mapped', 'quarantined')"),
  useful: column<[{ streamId: number; limit: number }], number>(
    `SELECT count(*) FROM (SELECT 1 FROM records r
       WHERE r.stream_id = @streamId AND r.missing_since IS NULL AND (${hasItem} OR ${hasEntry}) LIMIT @limit)`,
  ),
};

/**
 * Splits the records that a read does not have. `lost` names the records with an item or a lookup key that no other
 * present record has. `spare` names records that lose nothing, and whose state is shown to people.
 */
export function splitLost(tx: Tx, gone: readonly number[]): { lost: number[]; spare: number[] } {
  const isGone = new Set(gone);
  const stays = (ids: Iterable<number>): boolean => {
    for (const id of ids) if (!isGone.has(id)) return true;
    return false;
  };
  const lost: number[] = [];
  const spare: number[] = [];
  for (const id of gone) {
    const items = SQL.items(tx).all(id);
    const entries = SQL.entries(tx).all(id);
    const isLost =
      items.some((item) => !stays(SQL.makers(tx).iterate(item))) ||
      entries.some((entry) => !stays(SQL.holders(tx).iterate(entry)));
    if (isLost) lost.push(id);
    else if (items.length + entries.length === 0 && SQL.isShown(tx).get(id) !== undefined) spare.push(id);
  }
  return { lost, spare };
}

/** How many present records of a stream have an item or a lookup entry. Counts no further than `limit`. */
export function countUseful(tx: Tx, streamId: number, limit: number): number {
  return SQL.useful(tx).get({ streamId, limit }) ?? 0;
}
