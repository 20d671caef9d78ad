import { transition } from '../../domain/delivery/delivery.ts';
import type { Reason } from '../../domain/delivery/reason.ts';
import type { DeadLetterRequest } from '../../domain/ports/ledger/delivery-ledger.ts';
import type { Items } from '../items/items.ts';
import type { LedgerContext } from '../store/context.ts';
import { type DeliveryRow, SELECT_DELIVERY } from './delivery-row.ts';
import type { Imports } from './requests/imports.ts';
import type { Requests } from './requests/requests.ts';
import type { Settles } from './settling/settles.ts';
import { reasonText } from './stored-reason.ts';

/**
 * Dead-letters a delivery that throws unexpectedly before it is sent. The delivery then waits for a person. Call it
 * inside a transaction.
 */
export function createDeadLetter(
  { db, clock }: Pick<LedgerContext, 'db' | 'clock'>,
  { items, requests, imports, settles }: { items: Items; requests: Requests; imports: Imports; settles: Settles },
): (request: DeadLetterRequest) => void {
  const sql = {
    byId: db.prepare<[number], DeliveryRow>(SELECT_DELIVERY),
    reject: db.prepare<[string, string, number, number]>(
      'UPDATE items SET state = ?, due_at = 0, reason = ?, settled_at = ? WHERE id = ?',
    ),
    goAlone: db.prepare<[number]>('UPDATE items SET group_max = 1 WHERE id = ? AND group_max IS NOT 1'),
  };

  function rejectDue(row: DeliveryRow, reason: Reason, isOneOfMany: boolean): void {
    if (row.uncertain === 1) {
      items.markUnconfirmed(row, { reason, lookAt: null });
      return;
    }
    if (isOneOfMany && sql.goAlone.run(row.id).changes > 0) return;
    requests.release(row);
    sql.reject.run(transition(row.state, 'reject'), reasonText(reason), clock.now(), row.id);
    items.note(row.id, row.revision, 'rejected', reason);
  }

  return ({ deliveryId, revision, reason, isOneOfMany }) => {
    const row = sql.byId.get(deliveryId);
    if (row?.revision !== revision) return;
    // I3: if an import was sent, all its members change their state together.
    const isTied = row.operation === 'product.import' && row.requestId !== null;
    const ids = isTied ? imports.members(row.requestId ?? 0) : [row.id];
    const rows = ids.flatMap((id) => sql.byId.get(id) ?? []);
    const sending = rows.filter(({ state }) => state === 'sending');
    if (row.requestId !== null && sending.length > 0) {
      // I6: its bytes may have been sent.
      const decision = { kind: 'unconfirmed', nextLookAt: null, spend: true, reason } as const;
      const settlements = sending.map(({ id, revision }) => ({ id, revision, decision }));
      const claim = { request: row.requestId, sends: row.sends ?? 0 };
      settles.settle([{ claim, settlements, keep: false, groupMax: null }]);
    }
    const due = rows.filter(({ state }) => state === 'due');
    if (isTied && due.length > 0) requests.release(row);
    for (const one of due) rejectDue(one, reason, isOneOfMany);
  };
}
