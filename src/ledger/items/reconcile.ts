import { type DeliveryState, transition } from '../../domain/delivery/delivery.ts';
import { type Operation } from '../../domain/delivery/operation.ts';
import { hasRefs } from '../../domain/item.ts';
import type { Restored, WhyUnconfirmed } from '../backup/restored.ts';
import { ADOPTED_BOM, type AdoptedBom } from '../contact/adopted-bom.ts';
import { type Contact, kindCreatedBy } from '../contact/contact.ts';
import { hasReason } from '../deliveries/reason-conditions.ts';
import { reasonText } from '../deliveries/stored-reason.ts';
import type { LedgerContext } from '../store/context.ts';
import type { GivenIds } from './given-ids.ts';
import { HELD_CREATE, type HeldCreates } from './held-creates.ts';
import { gaveIdAway, ITEM_COLUMNS, type ItemRow, isOpenState, mayHaveArrived, revisionContent } from './item-row.ts';
import { needsNothing } from './never-arrived.ts';
import type { Revisions } from './revisions.ts';
import { isInOtherForm, type Wanted, type WantedWrite, wantedOf } from './wanted.ts';

/** The state of the delivery that was staged for an item; null if no delivery was staged. */
export type Staged = 'due' | 'waiting' | 'blocked' | null;

/** A delivery that may have been sent before the ledger was restored. */
type ToMark = Pick<ItemRow, 'id' | 'revision'> & { state: DeliveryState };

/** Compares items with what the API has acknowledged, and stages the differences. Call each function inside a transaction. */
export interface Reconcile {
  /**
   * Stages the difference between the desired payload and the baseline (I4). An open delivery with the same payload
   * does not change. With `again`, a stuck delivery is replaced by a new revision.
   */
  reconcile(itemId: number, again?: boolean): Staged;
  /**
   * Stages an item again in the present form, at a person's request. Stages nothing if the API may be receiving the
   * item, or has it in the present form.
   */
  sendInPresentForm(itemId: number): Staged;
  refsArrived(itemId: number): boolean;
  markUnconfirmed(delivery: ToMark, why: WhyUnconfirmed): void;
  /** I6: in a restored ledger, a write that may have been sent since the backup is looked up before it is sent. */
  markUnconfirmedIfRestored(delivery: { id: number; revision: number; operation: Operation }): boolean;
  /** Does the same as `reconcile` for a row that was just read. */
  reconcileItem(item: ItemRow, again: boolean): Staged;
}

interface ReconcileParts {
  restored: Pick<Restored, 'whyUnconfirmed'>;
  contact: Pick<Contact, 'noticeCreates'>;
  adoptedBom: AdoptedBom;
  revisions: Revisions;
  givenIds: Pick<GivenIds, 'forget'>;
  heldCreates: Pick<HeldCreates, 'has'>;
  note: (itemId: number, revision: number | null, type: string, detail: object | null) => void;
}

export function createReconcile(
  context: Pick<LedgerContext, 'db' | 'clock' | 'profile' | 'forms'>,
  { restored, contact, adoptedBom, revisions, givenIds, heldCreates, note }: ReconcileParts,
): Reconcile {
  const { db, clock, forms } = context;
  const sql = {
    byId: db.prepare<[number], ItemRow>(`SELECT ${ITEM_COLUMNS} FROM items WHERE id = ?`),
    missingRefs: db.prepare<[number], { n: number }>(
      `SELECT count(*) AS n FROM refs LEFT JOIN items ON items.kind = refs.kind AND items.key = refs.key
       WHERE refs.item_id = +? AND nullif(items.remote_id, 'null') IS NULL`,
    ),
    needsNothing: db.prepare<[number], number>(`SELECT 1 FROM items i WHERE i.id = ? AND ${needsNothing('i')}`).pluck(),
    clearIgnored: db.prepare<[number]>('UPDATE items SET ignored_hash = NULL WHERE id = ?'),
    unadopt: db.prepare<[number]>('UPDATE items SET adopted = 0 WHERE id = ?'),
    // The time is stored too, so that the read-back is not delayed if the clock is set back.
    markUnconfirmed: db.prepare<[string, string, number, number, number]>(
      'UPDATE items SET state = ?, reason = ?, due_at = ?, settled_at = ?, uncertain = 1 WHERE id = ?',
    ),
  };

  function reconcile(itemId: number, again = false): Staged {
    const item = sql.byId.get(itemId);
    return item ? reconcileItem(item, again) : null;
  }

  function sendInPresentForm(itemId: number): Staged {
    const item = sql.byId.get(itemId);
    return item ? reconcileItem(item, true, true) : null;
  }

  function reconcileItem(item: ItemRow, again: boolean, asksForForm = false): Staged {
    // I3: a delivery that the API may have received is never superseded. The item is reconciled again when that
    // delivery is settled.
    if (mayHaveArrived(item)) return null;
    if (gaveIdAway(item)) return reconcileForgotten(item, again);
    // The row of an item that the platform never got is gone, so there is nothing to send. A person may send it nevertheless.
    if (item.missingSince !== null && !again && sql.needsNothing.get(item.id) !== undefined) {
      revisions.supersede(item);
      return null;
    }
    const isOpen = isOpenState(item.state);
    const wanted = wantedWith(item, wantedOf(item, context, asksForForm));
    if (wanted.need === 'none') {
      if (item.adopted === 1) sql.unadopt.run(item.id);
      revisions.supersede(item);
      // A person has decided to leave the item in the form in which the platform has it.
      const isLeft = item.ignoredHash === item.desiredHash && isInOtherForm(item, forms);
      if (item.ignoredHash !== null && !isLeft) sql.clearIgnored.run(item.id);
      return null;
    }
    // I4: a person has ended the delivery of this payload, so the difference is intended.
    if (!isOpen && !again && item.ignoredHash === wanted.desiredHash) return null;
    if (isOpen && staysOpen(item, wanted, again)) return null;
    if (wanted.need === 'blocked') {
      revisions.begin(item, wanted, { state: 'blocked', reason: wanted.reason });
      return 'blocked';
    }
    const isHeld = heldCreates.has(item.id);
    const state = !isHeld && (!hasRefs(item.kind) || refsArrived(item.id)) ? 'due' : 'waiting';
    revisions.begin(item, wanted, { state, reason: isHeld ? HELD_CREATE : null });
    const created = kindCreatedBy(wanted.operation);
    if (created !== undefined) contact.noticeCreates(created, [{ itemId: item.id, desired: wanted.desired }]);
    const { operation } = wanted;
    if (state === 'due') markUnconfirmedIfRestored({ id: item.id, revision: item.revision + 1, operation });
    return state;
  }

  function reconcileForgotten(item: ItemRow, again: boolean): Staged {
    const staged = new Map(givenIds.forget(item).map((id) => [id, reconcile(id, again)]));
    return staged.get(item.id) ?? null;
  }

  /** Adjusts the write of a BOM item. It is unknown which BOM items of an adopted product the platform already has. */
  function wantedWith(item: ItemRow, wanted: Wanted): Wanted {
    if (wanted.need !== 'write' || wanted.operation !== 'bom_item.create') return wanted;
    const standing = adoptedBom.standingOf(item.id);
    if (standing === 'create') return wanted;
    if (standing === 'ask') return { ...wanted, need: 'blocked', reason: ADOPTED_BOM };
    adoptedBom.acknowledge(item.id);
    note(item.id, null, 'adopted', {
      message: 'The BOM item counts as present at the platform, because the config has `target.bom: assume-present`.',
    });
    return { need: 'none' };
  }

  function markUnconfirmedIfRestored({
    id,
    revision,
    operation,
  }: {
    id: number;
    revision: number;
    operation: Operation;
  }) {
    const why = restored.whyUnconfirmed(id, operation);
    if (why) markUnconfirmed({ id, revision, state: 'due' }, why);
    return why !== null;
  }

  function markUnconfirmed({ id, revision, state }: ToMark, { reason, lookAt }: WhyUnconfirmed): void {
    sql.markUnconfirmed.run(transition(state, 'look_up'), reasonText(reason), lookAt ?? 0, clock.now(), id);
    note(id, revision, 'suspect', reason);
  }

  function refsArrived(itemId: number): boolean {
    return (sql.missingRefs.get(itemId)?.n ?? 0) === 0;
  }

  return { reconcile, reconcileItem, sendInPresentForm, refsArrived, markUnconfirmed, markUnconfirmedIfRestored };
}

/** True if an open delivery that never reached the API still asks for the right payload. */
function staysOpen(item: ItemRow, wanted: WantedWrite & { need: 'write' | 'blocked' }, again: boolean): boolean {
  // Each further import would make one more product, so another import is sent only after a manual resolution.
  if (hasReason(item, 'made_second') && wanted.need === 'write' && !again) return true;
  if (item.operation !== wanted.operation || revisionContent(item).hash !== wanted.desiredHash) return false;
  const isMoving = item.state === 'due' || item.state === 'waiting';
  return wanted.need === 'blocked' ? item.state === 'blocked' || !(isMoving || again) : isMoving || !again;
}
