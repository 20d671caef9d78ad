import { transition } from '../../domain/delivery.ts';
import { isSettleState, mayBeSettled } from '../../domain/manual.ts';
import type { Decision, RequestSettlement, Settled, Settlement } from '../../domain/ports/decision.ts';
import { NO_REASON, storedReason } from '../../domain/reason.ts';
import type { Restored } from '../backup/restored.ts';
import { kindCreatedBy } from '../contact/contact.ts';
import type { Items } from '../items/items.ts';
import type { RemoteIds } from '../items/remote-ids.ts';
import type { Passports } from '../passports/passports.ts';
import type { LedgerContext } from '../store/context.ts';
import type { Deliver } from './deliver.ts';
import { type DeliveryRow, SELECT_DELIVERY } from './delivery-row.ts';
import type { Imports } from './imports.ts';
import { MOVES } from './moves.ts';
import type { Requests } from './requests.ts';

/** What the timeline shows of a manual resolution. */
const ARRIVED = { message: 'A person has said that it arrived.' };

/**
 * Settles the members of one request, whatever became of them. For use inside a transaction.
 *
 * @param settledIds deliveries that were settled in the same transaction: a second decision on one changes nothing. Those that are
 * settled now are added.
 */
export type SettleRequest = (group: RequestSettlement, settledIds: Set<number>) => Settled[];

interface SettleRequestParts {
  items: Items;
  requests: Requests;
  imports: Imports;
  passports: Pick<Passports, 'markDirtyBy'>;
  restored: Restored;
  remoteIds: Pick<RemoteIds, 'conflict'>;
  deliver: Deliver;
}

export function createSettleRequest(
  { db, clock }: Pick<LedgerContext, 'db' | 'clock'>,
  { items, requests, imports, passports, restored, remoteIds, deliver }: SettleRequestParts,
): SettleRequest {
  const sql = {
    byId: db.prepare<[number], DeliveryRow>(SELECT_DELIVERY),
    move: db.prepare<[string, number, number, number, string, number, number]>(
      `UPDATE items SET state = ?, due_at = ?, attempts = max(0, attempts + ?), uncertain = ?, reason = ?, settled_at = ?
       WHERE id = ?`,
    ),
  };

  function settleRow(row: DeliveryRow, decision: Decision, times: Times): Settled {
    const { id, revision } = row;
    if (decision.kind === 'delivered') {
      // Found before anything is written, so that it costs this item alone.
      const instead = remoteIds.conflict(row, decision);
      if (instead !== null) return { ...settleRow(row, instead, times), instead };
      if (decision.shownAs !== undefined) items.note(id, revision, 'shown_as', { message: decision.shownAs });
      if (decision.by !== 'answer') items.note(id, revision, decision.by, decision.by === 'person' ? ARRIVED : null);
      const kind = kindCreatedBy(row.operation);
      const { shown } = decision;
      const isFound = shown !== undefined && kind !== undefined;
      const released = isFound ? deliver.adoptFound(row, kind, shown) : deliver.deliver(row, decision);
      return { id, revision, released, applied: true };
    }
    if (decision.kind === 'ignored') {
      items.ignore(id, decision.reason);
      // Nothing of it holds a passport any more.
      passports.markDirtyBy([{ id, kind: row.kind, key: row.key, isNew: false }]);
      return { id, revision, released: items.reconcile(id) === 'due' ? 1 : 0, applied: true };
    }
    return { id, revision, released: move(row, decision, times), applied: true };
  }

  /** Stores a decision that leaves the revision open. Gives how many deliveries that released. */
  function move(row: DeliveryRow, decision: OpenDecision, { decidedAt, now, isTied }: Times): number {
    const { event, dueAt, spent, uncertain = row.uncertain } = MOVES[decision.kind](decision as never);
    const reason = JSON.stringify(decision.reason);
    const sinceMs = dueAt === 0 || decidedAt === undefined ? 0 : now - decidedAt;
    // The same bytes may be sent again while it may be due once more.
    const isOver = !STAYS_OPEN.has(decision.kind) && decision.reason.lookAgain !== true;
    if (isOver && row.operation !== 'product.import') requests.release(row);
    sql.move.run(transition(row.state, event), dueAt + sinceMs, spent, uncertain, reason, now, row.id);
    // Waiting out a limit is no event, and neither is a delivery that stays unconfirmed: they would bury the others. The
    // delivery's reason shows it while it lasts.
    const goesOn = decision.kind === 'unconfirmed' && row.state === 'in_doubt' && reason === row.reason;
    if (!goesOn && (decision.kind !== 'retry' || decision.spend))
      items.note(row.id, row.revision, decision.kind, decision.reason);
    const hasEnded = decision.kind === 'blocked' || decision.kind === 'rejected' || decision.kind === 'parked';
    const isAbsent = provesAbsence(decision);
    // What became of a passport is looked up before it ends so, and its next step depends on where it is.
    if (hasEnded && row.uncertain === 1 && !isAbsent && row.kind !== 'passport') deliver.forgetBaseline(row);
    if (decision.kind === 'rejected' && isAbsent) restored.wasAbsent(row.id);
    // A newer desire is staged after a decision that ends the revision, and after one that would send the older payload again
    // although that is known to have had no effect.
    const isUntouched = decision.kind === 'retry' && uncertain === 0 && !isTied && row.kind !== 'passport';
    return (hasEnded || isUntouched) && items.reconcile(row.id) === 'due' ? 1 : 0;
  }

  /** The delivery that a settlement names; undefined where it has changed since. */
  function rowOf({ id, revision, decision, seen }: Settlement, claim: RequestSettlement['claim']) {
    const row = sql.byId.get(id);
    if (row?.revision !== revision) return undefined;
    if (seen !== undefined) return maySay(row, decision) && isAsSeen(row, seen) ? row : undefined;
    if (claim === null) return row.state === 'in_doubt' ? row : undefined;
    const isClaimed = row.requestId === claim.request && row.sends === claim.sends;
    return isClaimed && (row.state === 'sending' || row.state === 'in_doubt') ? row : undefined;
  }

  return ({ claim, settlements, keep, groupMax }, settledIds) => {
    const found = settlements.map((settlement) => {
      const row = settledIds.has(settlement.id) ? undefined : rowOf(settlement, claim);
      if (row !== undefined) settledIds.add(row.id);
      return { ...settlement, row };
    });
    const kept = new Set<number>();
    for (const row of importsOf(found)) {
      const requestId = row.requestId ?? 0;
      if (groupMax !== null) imports.limitGroup(requestId, groupMax);
      const staying = found.filter((one) => one.row?.requestId === requestId && STAYS_OPEN.has(one.decision.kind));
      // An import is kept as a whole or not at all: bytes that one of its members has left may not be sent again.
      if (keep && staying.length === imports.members(requestId).length) kept.add(requestId);
      else requests.release(row);
    }
    // Members of which the same was decided are looked at together, so their times must not differ.
    const now = clock.now();
    return found.map(({ id, revision, decision, decidedAt, row }) =>
      row
        ? settleRow(row, decision, { decidedAt, now, isTied: kept.has(row.requestId ?? 0) })
        : { id, revision, released: 0, applied: false },
    );
  };
}

type OpenDecision = Exclude<Decision, { kind: 'delivered' | 'ignored' }>;

interface Times {
  decidedAt: number | undefined;
  now: number;
  /** Whether the delivery is a member of an import that is kept. */
  isTied: boolean;
}

/** One member of each import that these deliveries are in. */
function importsOf(found: readonly { row: DeliveryRow | undefined }[]): DeliveryRow[] {
  const rows = found.flatMap(({ row }) => (row?.operation === 'product.import' && row.requestId !== null ? [row] : []));
  return [...new Map(rows.map((row) => [row.requestId, row])).values()];
}

/** Whether a decision says that the write has not taken effect. */
function provesAbsence(decision: OpenDecision): boolean {
  if (decision.kind === 'parked') return decision.open !== true;
  return decision.kind === 'rejected' && decision.absent === true;
}

/** Whether a manual resolution is allowed for a delivery. */
function maySay({ kind, state, uncertain }: DeliveryRow, decision: Decision): boolean {
  const said = decision.kind;
  if (said !== 'delivered' && said !== 'rejected' && said !== 'ignored') return false;
  return isSettleState(state) && mayBeSettled({ kind, state, uncertain: uncertain === 1 }, said);
}

/** Whether a delivery is as it was looked up for a manual resolution. */
function isAsSeen({ state, sentAt, reason }: DeliveryRow, seen: NonNullable<Settlement['seen']>): boolean {
  const { code } = storedReason(reason) ?? NO_REASON;
  return state === seen.state && sentAt === seen.sentAt && code === seen.reason.code;
}

/** Decisions after which the same revision may be sent again. */
const STAYS_OPEN: ReadonlySet<Decision['kind']> = new Set(['unconfirmed', 'resend', 'retry']);
