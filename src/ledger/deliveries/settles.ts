import { transition } from '../../domain/delivery.ts';
import type { SubjectKind } from '../../domain/item.ts';
import { isSettleState, mayBeSettled } from '../../domain/manual.ts';
import type { Decision, RequestSettlement, Settled, Settlement } from '../../domain/ports/decision.ts';
import type { ContactEntry } from '../../domain/ports/first-contact.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import { NO_REASON, storedReason } from '../../domain/reason.ts';
import type { Restored } from '../backup/restored.ts';
import type { Adoption } from '../contact/adoption.ts';
import { type Contact, kindCreatedBy } from '../contact/contact.ts';
import type { Items } from '../items/items.ts';
import { presenceOf } from '../items/known-content.ts';
import type { RemoteIds } from '../items/remote-ids.ts';
import type { Passports } from '../passports/passports.ts';
import { type LedgerContext } from '../store/context.ts';
import { type DeliveryRow, SELECT_DELIVERY } from './delivery-row.ts';
import type { Imports } from './imports.ts';
import { MOVES } from './moves.ts';

/** What the timeline shows of a manual resolution. */
const ARRIVED = { message: 'A person has said that it arrived.' };

/** Stores what became of deliveries that were sent. The body of one transaction. */
export interface Settles {
  settle(requests: readonly RequestSettlement[]): Settled[];
}

interface SettlesParts {
  items: Items;
  imports: Imports;
  passports: Passports;
  restored: Restored;
  remoteIds: RemoteIds;
  adoption: Pick<Adoption, 'resolve'>;
  contact: Pick<Contact, 'refusedDuplicate'>;
  release: (kind: SubjectKind, key: string) => number;
}

export function createSettles(
  { db, clock, profile }: LedgerContext,
  { items, imports, passports, restored, remoteIds, adoption, contact, release }: SettlesParts,
): Settles {
  const sql = {
    byId: db.prepare<[number], DeliveryRow>(SELECT_DELIVERY),
    move: db.prepare<[string, number, number, number, string, number, number]>(
      `UPDATE deliveries SET state = ?, due_at = ?, attempts = max(0, attempts + ?), uncertain = ?, reason = ?, settled_at = ?
       WHERE id = ?`,
    ),
    // Where it was read back, the attempt that did it was counted when it came into doubt.
    deliver: db.prepare<[string, number, 0 | 1, number]>(
      `UPDATE deliveries SET state = ?, settled_at = ?, due_at = 0, uncertain = 0, reason = NULL, desired = NULL, body = NULL,
       attempts = max(1, attempts + ?) WHERE id = ?`,
    ),
    baseline: db.prepare<[string, string, string, number]>(
      'UPDATE items SET baseline = ?, baseline_hash = ?, remote_id = ? WHERE id = ?',
    ),
  };

  /**
   * The platform has refused a create, as it has such an item already, and its list shows it. That ends the revision: the
   * item is adopted like any other that was there before.
   */
  function adoptFound(row: DeliveryRow, kind: ListableKind, found: readonly ContactEntry[]): number {
    sql.move.run(transition(row.state, 'reject'), 0, 0, 0, row.reason ?? '{}', clock.now(), row.id);
    const isCompared = contact.refusedDuplicate(kind, found);
    items.reconcile(row.itemId, true);
    return isCompared ? 0 : adoption.resolve(row.itemId, kind);
  }

  function deliver(row: DeliveryRow, decision: Extract<Decision, { kind: 'delivered' }>): number {
    const attempts = decision.by === 'answer' ? 1 : 0;
    sql.deliver.run(transition(row.state, 'accept'), clock.now(), attempts, row.id);
    const isNew = row.remoteId === null;
    const remoteId = decision.remoteId === null ? (row.remoteId ?? 'null') : JSON.stringify(decision.remoteId);
    // I4: the baseline is what the API acknowledged. Where only the item's presence is known, nothing of its content is.
    const { baseline, hash } = decision.contentKnown
      ? { baseline: row.desired ?? '{}', hash: row.desiredHash }
      : presenceOf(profile, row.kind, { desired: row.desired, before: null });
    sql.baseline.run(baseline, hash, remoteId, row.itemId);
    if (decision.by === 'answer' && row.uncertain === 0) restored.wasAbsent(row.id);
    passports.stirBy({ id: row.itemId, kind: row.kind, key: row.key, isNew });
    const follower = hasFollower(row, hash) ? 1 : 0;
    return follower + (isNew ? release(row.kind, row.key) : 0);
  }

  /** Stages what is desired beyond what was just acknowledged (I4). */
  function hasFollower({ kind, itemId, itemHash }: DeliveryRow, acknowledgedHash: string): boolean {
    if (kind === 'passport') return passports.follow(itemId);
    return acknowledgedHash !== itemHash && items.reconcile(itemId) === 'due';
  }

  /**
   * A refused update whose earlier attempts nobody has an answer to: the API may hold either content. With nothing taken
   * for granted, the next desire is written in full.
   */
  function forgetBaseline(row: DeliveryRow): void {
    const { baseline, hash } = presenceOf(profile, row.kind, { desired: row.desired, before: row.baseline });
    if (row.remoteId !== null) sql.baseline.run(baseline, hash, row.remoteId, row.itemId);
  }

  function settleRequest({ settlements, keep, groupMax }: RequestSettlement): Settled[] {
    const found = settlements.map((one) => ({ ...one, row: rowOf(one) }));
    const importIds = new Set(found.flatMap(({ row }) => row?.importId ?? []));
    for (const importId of importIds) {
      if (groupMax !== null) imports.limitGroup(importId, groupMax);
      const staying = found.filter(({ row, decision }) => row?.importId === importId && STAYS_OPEN.has(decision.kind));
      // An import is kept as a whole or not at all: bytes that one of its members has left may not be sent again.
      if (!keep || staying.length < imports.members(importId).length) imports.dissolve(importId);
    }
    // Members of which the same was decided are looked at together, so their times must not differ.
    const now = clock.now();
    return found.map(({ id, revision, decision, decidedAt, row }) =>
      row ? settleRow(row, decision, { decidedAt, now }) : { id, revision, released: 0, applied: false },
    );
  }

  /** The delivery that a settlement names; undefined where it has changed since. */
  function rowOf({ id, revision, decision, seen }: Settlement): DeliveryRow | undefined {
    const row = sql.byId.get(id);
    if (row?.revision !== revision) return undefined;
    const isOpen = seen ? maySay(row, decision) && isAsSeen(row, seen) : isUnsettled(row);
    return isOpen ? row : undefined;
  }

  function settleRow(
    row: DeliveryRow,
    decision: Decision,
    { decidedAt, now }: { decidedAt: number | undefined; now: number },
  ): Settled {
    const { id, revision } = row;
    if (decision.kind === 'delivered') {
      // Found before anything is written, so that it costs this item alone.
      const instead = remoteIds.conflict(row, decision);
      if (instead !== null) return { ...settleRow(row, instead, { decidedAt, now }), instead };
      if (decision.shownAs !== undefined) items.note(row.itemId, row.id, 'shown_as', { message: decision.shownAs });
      if (decision.by !== 'answer')
        items.note(row.itemId, row.id, decision.by, decision.by === 'person' ? ARRIVED : null);
      const kind = kindCreatedBy(row.operation);
      const released =
        decision.shown === undefined || kind === undefined
          ? deliver(row, decision)
          : adoptFound(row, kind, decision.shown);
      return { id, revision, released, applied: true };
    }
    if (decision.kind === 'ignored') {
      items.ignore(row, decision.reason);
      // Nothing of it holds a passport any more.
      passports.stirBy({ id: row.itemId, kind: row.kind, key: row.key, isNew: false });
      return { id, revision, released: items.reconcile(row.itemId) === 'due' ? 1 : 0, applied: true };
    }
    const { event, dueAt, spent, uncertain = row.uncertain } = MOVES[decision.kind](decision as never);
    const reason = JSON.stringify(decision.reason);
    const sinceMs = dueAt === 0 || decidedAt === undefined ? 0 : now - decidedAt;
    sql.move.run(transition(row.state, event), dueAt + sinceMs, spent, uncertain, reason, now, row.id);
    // Waiting out a limit is no event, and neither is a doubt that goes on: they would bury the others. The delivery's
    // reason tells of it while it lasts.
    const goesOn = decision.kind === 'unconfirmed' && row.state === 'in_doubt' && reason === row.reason;
    if (!goesOn && (decision.kind !== 'retry' || decision.spend))
      items.note(row.itemId, row.id, decision.kind, decision.reason);
    // A decision that ends the revision may leave a newer desire behind, which is staged now.
    const ended = decision.kind === 'blocked' || decision.kind === 'rejected' || decision.kind === 'parked';
    // What became of a passport is looked up before it ends so, and its next step depends on where it is.
    const absent =
      (decision.kind === 'parked' && decision.open !== true) ||
      (decision.kind === 'rejected' && decision.absent === true);
    const open = row.uncertain === 1 && !absent && row.kind !== 'passport';
    if (ended && open) forgetBaseline(row);
    if (decision.kind === 'rejected' && absent) restored.wasAbsent(row.id);
    // So may one after which the same would go out again, although it is known to have had no effect.
    const isUntouched =
      decision.kind === 'retry' && uncertain === 0 && row.importId === null && row.kind !== 'passport';
    const follower = (ended || isUntouched) && items.reconcile(row.itemId) === 'due' ? 1 : 0;
    return { id, revision, released: follower, applied: true };
  }

  return { settle: (requests) => requests.flatMap(settleRequest) };
}

function isUnsettled({ state }: DeliveryRow): boolean {
  return state === 'sending' || state === 'in_doubt';
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

/** Decisions after which a member may still be tied to its import. */
const STAYS_OPEN: ReadonlySet<Decision['kind']> = new Set(['unconfirmed', 'resend', 'retry']);
