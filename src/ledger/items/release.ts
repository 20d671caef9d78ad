// Makes deliveries due that waited for the remote ids of items.

import { transition } from '../../domain/delivery/delivery.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import { hasRefs, type SubjectKind } from '../../domain/item.ts';
import { column, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import type { ItemName } from './item-name.ts';
import { markUnconfirmedIfRestored } from './reconcile.ts';

const due = transition('waiting', 'refs_arrived');

const SQL = {
  anyWaiting: column<[], number>("SELECT 1 FROM items WHERE state = 'waiting' LIMIT 1"),
  // Waiting items that refer to one of these items and whose refs all have remote ids now.
  ready: statement<[{ kind: string; keys: string }], ReadyRow>(
    `SELECT w.id, w.revision, w.operation, min(k.key) AS place FROM json_each(@keys) k
     CROSS JOIN refs ON refs.kind = @kind AND refs.key = k.value
     CROSS JOIN items w ON w.id = refs.item_id AND w.state = 'waiting'
     WHERE w.id NOT IN (SELECT item_id FROM held_creates) AND NOT EXISTS (SELECT 1 FROM refs other LEFT JOIN items t ON t.kind = other.kind AND t.key = other.key
       WHERE other.item_id = w.id AND nullif(t.remote_id, 'null') IS NULL)
     GROUP BY w.id`,
  ),
  setDue: statement<[string, string]>('UPDATE items SET state = ? WHERE id IN (SELECT value FROM json_each(?))'),
};

/** Returns how many deliveries became due for each item, in the same order. A delivery is counted once. */
export function releaseWaiting(tx: Tx, arrived: readonly ItemName[]): number[] {
  const released = arrived.map(() => 0);
  if (arrived.length === 0 || SQL.anyWaiting(tx).get() === undefined) return released;
  const places = arrived.map(({ kind, key }, place) => ({ kind, key, place }));
  for (const [kind, ofKind] of Map.groupBy(places, (one) => one.kind)) {
    // No item refers to an item of this kind.
    if (hasRefs(kind)) continue;
    const ready = SQL.ready(tx).all({ kind, keys: JSON.stringify(ofKind.map(({ key }) => key)) });
    if (ready.length === 0) continue;
    SQL.setDue(tx).run(due, JSON.stringify(ready.map(({ id }) => id)));
    for (const { place, ...delivery } of ready) {
      const at = ofKind[place]?.place ?? 0;
      if (!markUnconfirmedIfRestored(tx, delivery)) released[at] = (released[at] ?? 0) + 1;
    }
  }
  return released;
}

export function releaseWaitingFor(tx: Tx, kind: SubjectKind, key: string): number {
  return releaseWaiting(tx, [{ kind, key }])[0] ?? 0;
}

interface ReadyRow {
  id: number;
  revision: number;
  operation: Operation;
  place: number;
}
