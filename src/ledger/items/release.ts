import { type Operation, transition } from '../../domain/delivery.ts';
import { hasRefs, type SubjectKind } from '../../domain/item.ts';
import type { LedgerContext } from '../store/context.ts';
import type { Items } from './items.ts';

/**
 * Makes due what waited for an item that has a remote id now, and has all its other refs. Gives how many deliveries that
 * were. For use inside a transaction.
 */
export function createRelease(
  { db }: Pick<LedgerContext, 'db'>,
  items: Pick<Items, 'refsArrived' | 'suspectWhereRestored'>,
): (kind: SubjectKind, key: string) => number {
  const sql = {
    setState: db.prepare<[string, number]>('UPDATE deliveries SET state = ? WHERE id = ?'),
    waiters: db.prepare<[string, string], { id: number; itemId: number; operation: Operation }>(
      `SELECT d.id, d.item_id AS itemId, d.operation FROM refs JOIN deliveries d ON d.item_id = refs.item_id AND d.state = 'waiting'
       WHERE refs.kind = +? AND refs.key = +?`,
    ),
  };
  return (kind, key) => {
    // What points to others is pointed to by none.
    if (hasRefs(kind)) return 0;
    let released = 0;
    for (const { id, itemId, operation } of sql.waiters.all(kind, key)) {
      if (!items.refsArrived(itemId)) continue;
      sql.setState.run(transition('waiting', 'refs_arrived'), id);
      if (!items.suspectWhereRestored({ id, itemId, operation })) released += 1;
    }
    return released;
  };
}
