// Stores the decisions about deliveries that were sent, or that cannot be sent.

import { type DeliveryEvent, transition } from '../../domain/delivery/delivery.ts';
import { isSettleState, mayBeSettled } from '../../domain/delivery/manual-resolution.ts';
import { NO_REASON, type Reason, storedReason } from '../../domain/delivery/reason.ts';
import type { Decision, RequestSettlement, Settled, Settlement } from '../../domain/ports/decision.ts';
import type { DeadLetterRequest } from '../../domain/ports/ledger/delivery-ledger.ts';
import { kindCreatedBy } from '../contact/contact.ts';
import { reasonText } from '../items/item-row.ts';
import { reconcile } from '../items/reconcile.ts';
import { leaveRequest } from '../items/requests.ts';
import { markAbsent } from '../items/restored.ts';
import { ignoreDelivery, markUnconfirmed, noteEvent, takeBackDelivery } from '../items/revisions.ts';
import { markPassportsDirtyBy } from '../passports/passport-items.ts';
import { statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { adoptFound, deliver, forgetBaseline, settlePlain } from './deliver.ts';
import {
  type DeliveryRow,
  isImportedCreate,
  SELECT_DELIVERY,
  SELECT_SETTLE_ROWS,
  type SettleRow,
} from './delivery-row.ts';
import { importMembers, limitImport } from './imports.ts';
import { resolveIdConflict } from './remote-ids.ts';

const SQL = {
  rows: statement<[string], SettleRow>(SELECT_SETTLE_ROWS),
  byId: statement<[number], DeliveryRow>(SELECT_DELIVERY),
  move: statement<[string, number, number, number, string, number, number]>(
    `UPDATE items SET state = ?, due_at = ?, attempts = max(0, attempts + ?), uncertain = ?, reason = ?, settled_at = ?
     WHERE id = ?`,
  ),
  sendLater: statement<[number, number | null, number]>(
    "UPDATE items SET due_at = ?, group_max = ? WHERE id = ? AND state = 'due'",
  ),
  limit: statement<[number, number]>('UPDATE items SET group_max = ? WHERE id = ?'),
  reject: statement<[string, string, number, number]>(
    'UPDATE items SET state = ?, due_at = 0, reason = ?, settled_at = ? WHERE id = ?',
  ),
  goAlone: statement<[number]>('UPDATE items SET group_max = 1 WHERE id = ? AND group_max IS NOT 1'),
};

/**
 * Stores the decisions about deliveries that were sent. An answer is plain if it acknowledges the write of an item whose
 * desired payload has not changed since. Plain answers are settled together with few statements. All other requests are
 * settled member by member.
 */
export function settle(tx: Tx, groups: readonly RequestSettlement[]): Settled[] {
  const ids = groups.flatMap(({ settlements }) => settlements.map(({ id }) => id));
  const present = SQL.rows(tx).all(JSON.stringify(ids));
  const rows = new Map(present.map((row) => [row.id, row]));
  const found = groups.map((group) => ({
    group,
    members: group.settlements.map((settlement) => ({ settlement, row: rows.get(settlement.id) })),
  }));
  // Two groups may name the same delivery, and the second must see what the first has stored. So they are settled in order.
  const settled = new Set(ids).size === ids.length ? settlePlain(tx, found) : [];
  const settledIds = new Set<number>();
  return found.flatMap((one, at) => settled[at] ?? settleRequest(tx, one.group, settledIds));
}

/** The text that the timeline shows for a manual resolution. */
const ARRIVED = { message: 'A person has reported that the write arrived.' };

/**
 * Settles the members of one request, whatever was decided about them.
 *
 * @param settledIds deliveries that this transaction has settled. A second decision about one of them changes nothing.
 *   This function adds the deliveries that it settles.
 */
function settleRequest(
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

interface DecisionChange {
  event: DeliveryEvent;
  dueAt: number;
  spent: -1 | 0 | 1;
  /** Left out if the decision does not change this column. */
  uncertain?: 0 | 1;
}

/** The columns that each decision changes, except the decisions that end a delivery. */
const DECISION_CHANGES: {
  [K in Exclude<Decision['kind'], 'delivered' | 'ignored'>]: (
    decision: Extract<Decision, { kind: K }>,
  ) => DecisionChange;
} = {
  retry: ({ dueAt, spend, uncertain }) => ({
    event: 'retry',
    dueAt,
    spent: spend ? 1 : 0,
    ...(uncertain ? { uncertain: 1 } : {}),
  }),
  unconfirmed: ({ nextLookAt, spend }) => ({
    event: 'unconfirmed',
    dueAt: nextLookAt ?? 0,
    spent: spend ? 1 : 0,
    uncertain: 1,
  }),
  resend: ({ dueAt, absent, refund }) => ({
    event: 'resend',
    dueAt,
    spent: refund ? -1 : 0,
    ...(absent ? { uncertain: 0 } : {}),
  }),
  blocked: ({ recheckAt }) => ({ event: 'block', dueAt: recheckAt ?? 0, spent: 0, uncertain: 0 }),
  rejected: () => ({ event: 'reject', dueAt: 0, spent: 0, uncertain: 0 }),
  parked: () => ({ event: 'exhaust', dueAt: 0, spent: 0, uncertain: 0 }),
};

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
