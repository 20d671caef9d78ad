import type { Reason } from '../../domain/delivery/stored-reason.ts';
import type { DeadLetterRequest } from '../../domain/ports/ledger/delivery-ledger.ts';
import { idsOf } from '../items/item-row.ts';
import { noteEvents, setGroupMax } from '../items/item-writes.ts';
import { leaveRequests } from '../items/requests.ts';
import { markUnconfirmed, move } from '../items/revisions.ts';
import { statement, type Tx } from '../store/tx.ts';
import { type DeliveryRow, SELECT_LISTED_DELIVERIES } from './delivery-row.ts';
import { importMembers } from './imports.ts';
import { settle } from './settle.ts';

const SQL = { rows: statement<[string], DeliveryRow>(SELECT_LISTED_DELIVERIES) };

/**
 * Dead-letters a delivery that throws unexpectedly before it is sent. The delivery then waits for a person.
 */
export function deadLetter(tx: Tx, { deliveryId, revision, reason, isOneOfMany }: DeadLetterRequest): void {
  const [row] = SQL.rows(tx).all(JSON.stringify([deliveryId]));
  if (row?.revision !== revision) return;
  // I3: if an import was sent, all its members change their state together.
  const request = row.operation === 'product.import' ? row.requestId : null;
  const members = request === null ? [] : (importMembers(tx, [request]).get(request) ?? []);
  const rows = request === null ? [row] : SQL.rows(tx).all(JSON.stringify(members));
  const sending = rows.filter(({ state }) => state === 'sending');
  if (row.requestId !== null && sending.length > 0) {
    // I6: its bytes may have been sent.
    const decision = { kind: 'unconfirmed', nextLookAt: null, spend: true, reason } as const;
    const settlements = sending.map(({ id, revision }) => ({ id, revision, decision }));
    const claim = { request: row.requestId, sends: row.sends ?? 0 };
    settle(tx, [{ claim, settlements, keep: false, groupMax: null }]);
  }
  const due = rows.filter(({ state }) => state === 'due');
  if (request !== null && due.length > 0) leaveRequests(tx, [row]);
  rejectDue(tx, due, reason, isOneOfMany);
}

function rejectDue(tx: Tx, due: readonly DeliveryRow[], reason: Reason, isOneOfMany: boolean): void {
  const uncertain = due.filter((row) => row.uncertain === 1);
  markUnconfirmed(
    tx,
    uncertain.map((row) => ({ ...row, why: { reason, lookAt: null } })),
  );
  const certain = due.filter((row) => row.uncertain === 0);
  const shared = certain.filter(({ groupMax }) => isOneOfMany && groupMax !== 1);
  // Each of them is sent alone first.
  setGroupMax(tx, idsOf(shared), 1);
  const rejected = certain.filter((row) => !shared.includes(row));
  leaveRequests(tx, rejected);
  move(tx, rejected, 'reject', { dueAt: 0, reason });
  noteEvents(
    tx,
    rejected.map(({ id, revision }) => ({ id, revision, type: 'rejected', detail: reason })),
  );
}
