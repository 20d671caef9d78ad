import { transition } from '../../domain/delivery/delivery.ts';
import type { Reason } from '../../domain/delivery/reason.ts';
import type { DeadLetterRequest } from '../../domain/ports/ledger/delivery-ledger.ts';
import { noteEvent } from '../items/items.ts';
import { markUnconfirmed } from '../items/reconcile.ts';
import { statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { type DeliveryRow, SELECT_DELIVERY } from './delivery-row.ts';
import { importMembers } from './requests/imports.ts';
import { leaveRequest } from './requests/requests.ts';
import { settle } from './settling/settles.ts';
import { reasonText } from './stored-reason.ts';

const SQL = {
  byId: statement<[number], DeliveryRow>(SELECT_DELIVERY),
  reject: statement<[string, string, number, number]>(
    'UPDATE items SET state = ?, due_at = 0, reason = ?, settled_at = ? WHERE id = ?',
  ),
  goAlone: statement<[number]>('UPDATE items SET group_max = 1 WHERE id = ? AND group_max IS NOT 1'),
};

/**
 * Dead-letters a delivery that throws unexpectedly before it is sent. The delivery then waits for a person.
 */
export function deadLetter(tx: Tx, { deliveryId, revision, reason, isOneOfMany }: DeadLetterRequest): void {
  const row = SQL.byId(tx).get(deliveryId);
  if (row?.revision !== revision) return;
  // I3: if an import was sent, all its members change their state together.
  const isTied = row.operation === 'product.import' && row.requestId !== null;
  const ids = isTied ? importMembers(tx, row.requestId ?? 0) : [row.id];
  const rows = ids.flatMap((id) => SQL.byId(tx).get(id) ?? []);
  const sending = rows.filter(({ state }) => state === 'sending');
  if (row.requestId !== null && sending.length > 0) {
    // I6: its bytes may have been sent.
    const decision = { kind: 'unconfirmed', nextLookAt: null, spend: true, reason } as const;
    const settlements = sending.map(({ id, revision }) => ({ id, revision, decision }));
    const claim = { request: row.requestId, sends: row.sends ?? 0 };
    settle(tx, [{ claim, settlements, keep: false, groupMax: null }]);
  }
  const due = rows.filter(({ state }) => state === 'due');
  if (isTied && due.length > 0) leaveRequest(tx, row);
  for (const one of due) rejectDue(tx, one, reason, isOneOfMany);
}

function rejectDue(tx: Tx, row: DeliveryRow, reason: Reason, isOneOfMany: boolean): void {
  if (row.uncertain === 1) {
    markUnconfirmed(tx, row, { reason, lookAt: null });
    return;
  }
  if (isOneOfMany && SQL.goAlone(tx).run(row.id).changes > 0) return;
  leaveRequest(tx, row);
  SQL.reject(tx).run(transition(row.state, 'reject'), reasonText(reason), tx.clock.now(), row.id);
  noteEvent(tx, row.id, row.revision, 'rejected', reason);
}
