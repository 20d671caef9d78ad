import { transition } from '../../../domain/delivery/delivery.ts';
import { isSettleState, mayBeSettled } from '../../../domain/delivery/manual-resolution.ts';
import { NO_REASON, storedReason } from '../../../domain/delivery/reason.ts';
import type { Decision, RequestSettlement, Settled, Settlement } from '../../../domain/ports/decision.ts';
import { markAbsent } from '../../backup/restored.ts';
import { kindCreatedBy } from '../../contact/contact.ts';
import { ignoreDelivery, noteEvent, takeBackDelivery } from '../../items/items.ts';
import { reconcile } from '../../items/reconcile.ts';
import { resolveIdConflict } from '../../items/remote-ids.ts';
import { markPassportsDirtyBy } from '../../passports/passport-items.ts';
import { statement } from '../../store/statement.ts';
import type { Tx } from '../../store/tx.ts';
import { type DeliveryRow, isImportedCreate, SELECT_DELIVERY } from '../delivery-row.ts';
import { importMembers, limitImport } from '../requests/imports.ts';
import { leaveRequest } from '../requests/requests.ts';
import { reasonText } from '../stored-reason.ts';
import { DECISION_CHANGES } from './decision-changes.ts';
import { adoptFound, deliver, forgetBaseline } from './deliver.ts';

/** The text that the timeline shows for a manual resolution. */
const ARRIVED = { message: 'A person has reported that the write arrived.' };

const SQL = {
  byId: statement<[number], DeliveryRow>(SELECT_DELIVERY),
  move: statement<[string, number, number, number, string, number, number]>(
    `UPDATE items SET state = ?, due_at = ?, attempts = max(0, attempts + ?), uncertain = ?, reason = ?, settled_at = ?
     WHERE id = ?`,
  ),
  sendLater: statement<[number, number | null, number]>(
    "UPDATE items SET due_at = ?, group_max = ? WHERE id = ? AND state = 'due'",
  ),
  limit: statement<[number, number]>('UPDATE items SET group_max = ? WHERE id = ?'),
};

/**
 * Settles the members of one request, whatever was decided about them.
 *
 * @param settledIds deliveries that this transaction has settled. A second decision about one of them changes nothing.
 *   This function adds the deliveries that it settles.
 */
export function settleRequest(
  tx: Tx,
  { claim, settlements, keep, groupMax }: RequestSettlement,
  settledIds: Set<number>,
): Settled[] {
  const found = settlements.map((settlement) => {
    const row = settledIds.has(settlement.id) ? undefined : rowOf(tx, settlement, claim);
    if (row !== undefined) settledIds.add(row.id);
    return { ...settlement, row };
  });
  const kept = new Set<number>();
  for (const { row } of groupMax === null ? [] : found) {
    if (row !== undefined && isImportedCreate(row)) {
      row.groupMax = groupMax;
      SQL.limit(tx).run(groupMax ?? 0, row.id);
    }
  }
  for (const row of importsOf(found)) {
    const requestId = row.requestId ?? 0;
    if (groupMax !== null) limitImport(tx, requestId, groupMax);
    const staying = found.filter((one) => one.row?.requestId === requestId && STAYS_OPEN.has(one.decision.kind));
    // I3: an import is only kept with all its members. Bytes that a member has left may not be sent again.
    if (keep && staying.length === importMembers(tx, requestId).length) kept.add(requestId);
    else leaveRequest(tx, row);
  }
  // One time for all members: members with the same decision are then read back together.
  const now = tx.clock.now();
  return found.map(({ id, revision, decision, decidedAt, row }) =>
    row
      ? settleRow(tx, row, decision, { decidedAt, now, isTied: kept.has(row.requestId ?? 0) })
      : { id, revision, released: 0, applied: false },
  );
}

function settleRow(tx: Tx, row: DeliveryRow, decision: Decision, times: Times): Settled {
  const { id, revision } = row;
  if (decision.kind === 'delivered') {
    // The conflict is found before anything is written, so it affects this item only.
    const instead = resolveIdConflict(tx, row, decision);
    if (instead !== null) return { ...settleRow(tx, row, instead, times), instead };
    if (decision.shownAs !== undefined) noteEvent(tx, id, revision, 'shown_as', { message: decision.shownAs });
    if (decision.by !== 'answer') noteEvent(tx, id, revision, decision.by, decision.by === 'person' ? ARRIVED : null);
    const kind = kindCreatedBy(row.operation);
    const { shown } = decision;
    const isFound = shown !== undefined && kind !== undefined;
    const released = isFound ? adoptFound(tx, row, kind, shown) : deliver(tx, row, decision);
    return { id, revision, released, applied: true };
  }
  if (decision.kind === 'ignored') {
    ignoreDelivery(tx, id, decision.reason);
    // The item does not block a passport any more.
    markPassportsDirtyBy(tx, [{ id, kind: row.kind, key: row.key, isNew: false }]);
    return { id, revision, released: reconcile(tx, id) === 'due' ? 1 : 0, applied: true };
  }
  return { id, revision, released: move(tx, row, decision, times), applied: true };
}

/** Stores a decision that leaves the revision open. Returns how many deliveries it has released. */
function move(tx: Tx, row: DeliveryRow, decision: OpenDecision, { decidedAt, now, isTied }: Times): number {
  const { event, dueAt, spent, uncertain = row.uncertain } = DECISION_CHANGES[decision.kind](decision as never);
  const reason = reasonText(decision.reason);
  const sinceMs = dueAt === 0 || decidedAt === undefined ? 0 : now - decidedAt;
  // A request is kept for as long as its bytes may be sent again.
  const isOver = !STAYS_OPEN.has(decision.kind) && decision.reason.lookAgain !== true;
  const leaves = isOver || (decision.kind === 'retry' && isImportedCreate(row));
  if (leaves && row.operation !== 'product.import') leaveRequest(tx, row);
  SQL.move(tx).run(transition(row.state, event), dueAt + sinceMs, spent, uncertain, reason, now, row.id);
  // A wait for a limit is not stored as an event, and nor is a delivery that stays unconfirmed: such events would
  // hide the other ones. The delivery's reason shows them.
  const goesOn = decision.kind === 'unconfirmed' && row.state === 'in_doubt' && reason === row.reason;
  if (!goesOn && (decision.kind !== 'retry' || decision.spend))
    noteEvent(tx, row.id, row.revision, decision.kind, decision.reason);
  const hasEnded = decision.kind === 'blocked' || decision.kind === 'rejected' || decision.kind === 'parked';
  const isAbsent = provesAbsence(decision);
  // A passport's result is looked up before its delivery ends, and its next step depends on its status.
  if (hasEnded && row.uncertain === 1 && !isAbsent && row.kind !== 'passport') forgetBaseline(tx, row);
  if (decision.kind === 'rejected' && isAbsent) markAbsent(tx, row.id);
  if (decision.kind === 'resend' && isImportedCreate(row)) return beginAgain(tx, row, dueAt + sinceMs);
  // A newer payload is staged after a decision that ends the revision. It is also staged if the older payload would
  // be sent again after it is known to have had no effect.
  const isUntouched = decision.kind === 'retry' && uncertain === 0 && !isTied && row.kind !== 'passport';
  return (hasEnded || isUntouched) && reconcile(tx, row.id) === 'due' ? 1 : 0;
}

/**
 * Begins a new revision of a new product that its import has not made. The import is not sent again, and another
 * request must not use the same revision (I2). Returns how many deliveries became due.
 */
function beginAgain(tx: Tx, row: DeliveryRow, dueAt: number): number {
  markAbsent(tx, row.id);
  takeBackDelivery(tx, row.id);
  const staged = reconcile(tx, row.id);
  SQL.sendLater(tx).run(dueAt, row.groupMax, row.id);
  return staged === 'due' ? 1 : 0;
}

/** The delivery of a settlement; undefined if it has changed since. */
function rowOf(tx: Tx, { id, revision, decision, seen }: Settlement, claim: RequestSettlement['claim']) {
  const row = SQL.byId(tx).get(id);
  if (row?.revision !== revision) return undefined;
  if (seen !== undefined) return maySay(row, decision) && isAsSeen(row, seen) ? row : undefined;
  if (claim === null) return row.state === 'in_doubt' ? row : undefined;
  const isClaimed = row.requestId === claim.request && row.sends === claim.sends;
  return isClaimed && (row.state === 'sending' || row.state === 'in_doubt') ? row : undefined;
}

type OpenDecision = Exclude<Decision, { kind: 'delivered' | 'ignored' }>;

interface Times {
  decidedAt: number | undefined;
  now: number;
  /** True if the delivery is a member of a kept import. */
  isTied: boolean;
}

/** One member of each import that these deliveries belong to. */
function importsOf(found: readonly { row: DeliveryRow | undefined }[]): DeliveryRow[] {
  const rows = found.flatMap(({ row }) => (row?.operation === 'product.import' && row.requestId !== null ? [row] : []));
  return [...new Map(rows.map((row) => [row.requestId, row])).values()];
}

/** True if a decision proves that the write had no effect. */
function provesAbsence(decision: OpenDecision): boolean {
  if (decision.kind === 'parked') return decision.open !== true;
  return decision.kind === 'rejected' && decision.absent === true;
}

/** True if a person may resolve a delivery of this kind and state with this decision. */
function maySay({ kind, state, uncertain }: DeliveryRow, decision: Decision): boolean {
  const said = decision.kind;
  if (said !== 'delivered' && said !== 'rejected' && said !== 'ignored') return false;
  return isSettleState(state) && mayBeSettled({ kind, state, uncertain: uncertain === 1 }, said);
}

/** True if a delivery has not changed since a person looked it up. */
function isAsSeen({ state, sentAt, reason }: DeliveryRow, seen: NonNullable<Settlement['seen']>): boolean {
  const { code } = storedReason(reason) ?? NO_REASON;
  return state === seen.state && sentAt === seen.sentAt && code === seen.reason.code;
}

/** The decisions after which the same revision may be sent again. */
const STAYS_OPEN: ReadonlySet<Decision['kind']> = new Set(['unconfirmed', 'resend', 'retry']);
