import { transition } from '../../domain/delivery.ts';
import type { Reason } from '../../domain/reason.ts';
import type { Items } from '../items/items.ts';
import type { LedgerContext } from '../store/context.ts';
import { type DeliveryRow, SELECT_DELIVERY } from './delivery-row.ts';
import type { Imports } from './imports.ts';
import type { Settles } from './settles.ts';

/**
 * Takes a delivery out of the way that cannot even be attempted: something threw where nothing should. It waits for a person
 * and goes nowhere by itself. For use inside a transaction.
 */
export function createPutAside(
  { db, clock }: LedgerContext,
  { items, imports, settles }: { items: Items; imports: Imports; settles: Settles },
): (request: { deliveryId: number; reason: Reason }) => void {
  const sql = {
    byId: db.prepare<[number], DeliveryRow>(SELECT_DELIVERY),
    reject: db.prepare<[string, string, number, number]>(
      'UPDATE deliveries SET state = ?, due_at = 0, reason = ?, settled_at = ? WHERE id = ?',
    ),
    goAlone: db.prepare<[number]>(
      "UPDATE deliveries SET group_max = 1 WHERE id = ? AND operation = 'product.import' AND group_max IS NOT 1",
    ),
  };

  function putAsideDue(row: DeliveryRow, reason: Reason): void {
    if (row.uncertain === 1) {
      items.suspect(row, { reason, lookAt: null });
      return;
    }
    // Of the company of an import nobody knows whose fault it is: each is tried alone first.
    if (sql.goAlone.run(row.id).changes > 0) return;
    sql.reject.run(transition(row.state, 'reject'), JSON.stringify(reason), clock.now(), row.id);
    items.note(row.itemId, row.id, 'rejected', reason);
  }

  return ({ deliveryId, reason }) => {
    const row = sql.byId.get(deliveryId);
    if (!row) return;
    // What is tied together in an import that has gone out moves together (I3).
    const ids = row.importId === null ? [row.id] : imports.members(row.importId);
    const rows = ids.flatMap((id) => sql.byId.get(id) ?? []);
    if (row.importId !== null) imports.dissolve(row.importId);
    for (const one of rows) {
      if (one.state === 'due') putAsideDue(one, reason);
      else if (one.state === 'sending') {
        // I6: bytes may have gone out.
        const decision = { kind: 'unconfirmed', nextLookAt: null, spend: true, reason } as const;
        const settlements = [{ id: one.id, revision: one.revision, decision }];
        settles.settle([{ claim: null, settlements, keep: false, groupMax: null }]);
      }
    }
  };
}
