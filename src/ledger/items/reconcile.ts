// Compares items with what the API has acknowledged, and stages the differences.

import { type DeliveryState, transition } from '../../domain/delivery/delivery.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import { hasRefs } from '../../domain/item.ts';
import { type WhyUnconfirmed, whyUnconfirmed } from '../backup/restored.ts';
import { ADOPTED_BOM, acknowledgePart, kindCreatedBy, noticeCreates, partStandingOf } from '../contact/contact.ts';
import { hasReason } from '../deliveries/reason-conditions.ts';
import { reasonText } from '../deliveries/stored-reason.ts';
import { column, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { forgetGivenId } from './given-ids.ts';
import { HELD_CREATE, isHeldCreate } from './held-creates.ts';
import { gaveIdAway, ITEM_COLUMNS, type ItemRow, isOpenState, mayHaveArrived, revisionContent } from './item-row.ts';
import { noteEvent } from './items.ts';
import { needsNothing } from './never-arrived.ts';
import { beginRevision, supersedeRevision } from './revisions.ts';
import { isInOtherForm, type Wanted, type WantedWrite, wantedOf } from './wanted.ts';

/** The state of the delivery that was staged for an item; null if no delivery was staged. */
export type Staged = 'due' | 'waiting' | 'blocked' | null;

/** A delivery that may have been sent before the ledger was restored. */
type ToMark = Pick<ItemRow, 'id' | 'revision'> & { state: DeliveryState };

const SQL = {
  byId: statement<[number], ItemRow>(`SELECT ${ITEM_COLUMNS} FROM items WHERE id = ?`),
  missingRefs: statement<[number], { n: number }>(
    `SELECT count(*) AS n FROM refs LEFT JOIN items ON items.kind = refs.kind AND items.key = refs.key
     WHERE refs.item_id = +? AND nullif(items.remote_id, 'null') IS NULL`,
  ),
  needsNothing: column<[number], number>(`SELECT 1 FROM items i WHERE i.id = ? AND ${needsNothing('i')}`),
  clearIgnored: statement<[number]>('UPDATE items SET ignored_hash = NULL WHERE id = ?'),
  unadopt: statement<[number]>('UPDATE items SET adopted = 0 WHERE id = ?'),
  // The time is stored too, so that the read-back is not delayed if the clock is set back.
  markUnconfirmed: statement<[string, string, number, number, number]>(
    'UPDATE items SET state = ?, reason = ?, due_at = ?, settled_at = ?, uncertain = 1 WHERE id = ?',
  ),
};

/**
 * Stages the difference between the desired payload and the baseline (I4). An open delivery with the same payload
 * does not change. With `again`, a stuck delivery is replaced by a new revision.
 */
export function reconcile(tx: Tx, itemId: number, again = false): Staged {
  const item = SQL.byId(tx).get(itemId);
  return item ? reconcileItem(tx, item, again) : null;
}

/** Does the same as `reconcile` for a row that was just read. */
export function reconcileItem(tx: Tx, item: ItemRow, again: boolean, asksForForm = false): Staged {
  // I3: a delivery that the API may have received is never superseded. The item is reconciled again when that
  // delivery is settled.
  if (mayHaveArrived(item)) return null;
  if (gaveIdAway(item)) return reconcileForgotten(tx, item, again);
  // The row of an item that the platform never got is gone, so there is nothing to send. A person may send it nevertheless.
  if (item.missingSince !== null && !again && SQL.needsNothing(tx).get(item.id) !== undefined) {
    supersedeRevision(tx, item);
    return null;
  }
  const isOpen = isOpenState(item.state);
  const wanted = wantedWith(tx, item, wantedOf(item, tx, asksForForm));
  if (wanted.need === 'none') {
    if (item.adopted === 1) SQL.unadopt(tx).run(item.id);
    supersedeRevision(tx, item);
    // A person has decided to leave the item in the form in which the platform has it.
    const isLeft = item.ignoredHash === item.desiredHash && isInOtherForm(item, tx.forms);
    if (item.ignoredHash !== null && !isLeft) SQL.clearIgnored(tx).run(item.id);
    return null;
  }
  // I4: a person has ended the delivery of this payload, so the difference is intended.
  if (!isOpen && !again && item.ignoredHash === wanted.desiredHash) return null;
  if (isOpen && staysOpen(item, wanted, again)) return null;
  if (wanted.need === 'blocked') {
    beginRevision(tx, item, wanted, { state: 'blocked', reason: wanted.reason });
    return 'blocked';
  }
  const isHeld = isHeldCreate(tx, item.id);
  const state = !isHeld && (!hasRefs(item.kind) || haveRefsArrived(tx, item.id)) ? 'due' : 'waiting';
  beginRevision(tx, item, wanted, { state, reason: isHeld ? HELD_CREATE : null });
  const created = kindCreatedBy(wanted.operation);
  if (created !== undefined) noticeCreates(tx, created, [{ itemId: item.id, desired: wanted.desired }]);
  const { operation } = wanted;
  if (state === 'due') markUnconfirmedIfRestored(tx, { id: item.id, revision: item.revision + 1, operation });
  return state;
}

/**
 * Stages an item again in the present form, at a person's request. Stages nothing if the API may be receiving the
 * item, or has it in the present form.
 */
export function sendInPresentForm(tx: Tx, itemId: number): Staged {
  const item = SQL.byId(tx).get(itemId);
  return item ? reconcileItem(tx, item, true, true) : null;
}

function haveRefsArrived(tx: Tx, itemId: number): boolean {
  return (SQL.missingRefs(tx).get(itemId)?.n ?? 0) === 0;
}

export function markUnconfirmed(tx: Tx, { id, revision, state }: ToMark, { reason, lookAt }: WhyUnconfirmed): void {
  SQL.markUnconfirmed(tx).run(transition(state, 'look_up'), reasonText(reason), lookAt ?? 0, tx.clock.now(), id);
  noteEvent(tx, id, revision, 'suspect', reason);
}

/** I6: in a restored ledger, a write that may have been sent since the backup is looked up before it is sent. */
export function markUnconfirmedIfRestored(
  tx: Tx,
  {
    id,
    revision,
    operation,
  }: {
    id: number;
    revision: number;
    operation: Operation;
  },
): boolean {
  const why = whyUnconfirmed(tx, id, operation);
  if (why) markUnconfirmed(tx, { id, revision, state: 'due' }, why);
  return why !== null;
}

function reconcileForgotten(tx: Tx, item: ItemRow, again: boolean): Staged {
  const staged = new Map(forgetGivenId(tx, item).map((id) => [id, reconcile(tx, id, again)]));
  return staged.get(item.id) ?? null;
}

/** Adjusts the write of a BOM item. It is unknown which BOM items of an adopted product the platform already has. */
function wantedWith(tx: Tx, item: ItemRow, wanted: Wanted): Wanted {
  if (wanted.need !== 'write' || wanted.operation !== 'bom_item.create') return wanted;
  const standing = partStandingOf(tx, item.id);
  if (standing === 'create') return wanted;
  if (standing === 'ask') return { ...wanted, need: 'blocked', reason: ADOPTED_BOM };
  acknowledgePart(tx, item.id);
  noteEvent(tx, item.id, null, 'adopted', {
    message: 'The BOM item counts as present at the platform, because the config has `target.bom: assume-present`.',
  });
  return { need: 'none' };
}

/** True if an open delivery that never reached the API still asks for the right payload. */
function staysOpen(item: ItemRow, wanted: WantedWrite & { need: 'write' | 'blocked' }, again: boolean): boolean {
  // Each further import would make one more product, so another import is sent only after a manual resolution.
  if (hasReason(item, 'made_second') && wanted.need === 'write' && !again) return true;
  if (item.operation !== wanted.operation || revisionContent(item).hash !== wanted.desiredHash) return false;
  const isMoving = item.state === 'due' || item.state === 'waiting';
  return wanted.need === 'blocked' ? item.state === 'blocked' || !(isMoving || again) : isMoving || !again;
}
