// Compares items with what the API has acknowledged, and stages the differences.

import { adoptedReason } from '../../domain/adoption.ts';
import type { Reason } from '../../domain/delivery/reason.ts';
import { difference, type Renamed } from '../../domain/delivery/reconcile.ts';
import type { WrittenForms } from '../../domain/delivery/wire-form.ts';
import { hasRefs } from '../../domain/item.ts';
import { naturalKeyOf } from '../../domain/natural-key.ts';
import { nextStep, type PassportDesire, type PassportStatus } from '../../domain/passport.ts';
import type { Profile } from '../../domain/profile.ts';
import { sha256Url } from '../../lib/hash.ts';
import type { JsonObject } from '../../lib/json.ts';
import { ADOPTED_BOM, acknowledgePart, kindCreatedBy, noticeCreates, partStandingOf } from '../contact/contact.ts';
import { statusText } from '../passports/passport-items.ts';
import { readMeta, writeMeta } from '../store/meta.ts';
import { column, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { parseJson } from '../store/tx.ts';
import {
  acknowledgedContent,
  type Content,
  gaveIdAway,
  hasReason,
  ITEM_COLUMNS,
  type ItemRow,
  isOpenState,
  itemsById,
  mayHaveArrived,
  revisionContent,
} from './item-row.ts';
import { needsNothing } from './missing.ts';
import { HELD_CREATE, haveRefsArrived, isHeldCreate } from './refs.ts';
import {
  beginRevision,
  markUnconfirmedIfRestored,
  noteEvent,
  supersedeRevision,
  type WantedWrite,
} from './revisions.ts';

/** The state of the delivery that was staged for an item; null if no delivery was staged. */
export type Staged = 'due' | 'waiting' | 'blocked' | null;

/** What an item needs: a write, nothing, or a person. */
type Wanted =
  | { need: 'none' }
  | ({ need: 'write' } & WantedWrite)
  | ({ need: 'blocked'; reason: Reason } & WantedWrite);

const SQL = {
  byId: statement<[number], ItemRow>(`SELECT ${ITEM_COLUMNS} FROM items WHERE id = ?`),
  needsNothing: column<[number], number>(`SELECT 1 FROM items i WHERE i.id = ? AND ${needsNothing('i')}`),
  clearIgnored: statement<[number]>('UPDATE items SET ignored_hash = NULL WHERE id = ?'),
  unadopt: statement<[number]>('UPDATE items SET adopted = 0 WHERE id = ?'),
  forget: statement<[number]>(
    `UPDATE items SET acknowledged = 0, baseline = NULL, baseline_hash = NULL, remote_id = NULL, adopted = 0,
       parts_unknown = 0, ignored_hash = NULL, dirty = iif(kind = 'passport', 1, dirty) WHERE id = ?`,
  ),
  ofProduct: statement<[string], ItemRow>(
    `SELECT ${ITEM_COLUMNS} FROM items WHERE acknowledged > 0
     AND id IN (SELECT item_id FROM refs WHERE kind = 'product' AND key = ? AND role = 'product')`,
  ),
  isPresent: column<[number], number>('SELECT 1 FROM records WHERE id = ? AND missing_since IS NULL'),
  givenAway: column<[], number>("SELECT id FROM items WHERE remote_id = 'null' AND kind IN ('product', 'material')"),
};

/**
 * Stages the difference between the desired payload and the baseline (I4). An open delivery with the same payload
 * does not change. With `again`, a stuck delivery is replaced by a new revision.
 */
export function reconcile(tx: Tx, itemId: number, again = false): Staged {
  const item = SQL.byId(tx).get(itemId);
  return item ? reconcileItem(tx, item, again) : null;
}

/** Does the same as `reconcile` for many items. */
export function reconcileAll(tx: Tx, itemIds: readonly number[], again = false): Staged[] {
  return itemsById(tx, itemIds).map((item) => reconcileItem(tx, item, again));
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

/** Blocks the staged delivery of an item until a person decides. */
export function blockItem(tx: Tx, itemId: number, reason: Reason): void {
  const item = SQL.byId(tx).get(itemId);
  const wanted = item === undefined ? null : wantedOf(item, tx);
  if (item === undefined || wanted === null || wanted.need === 'none' || mayHaveArrived(item)) return;
  beginRevision(tx, item, wanted, { state: 'blocked', reason });
  noteEvent(tx, itemId, item.revision + 1, 'blocked', reason);
}

/** The name under which the ledger stores that this work is done. */
const DONE = 'given_ids_reconciled';

/**
 * Reconciles the items whose remote ids other items took over under an earlier version, which did not reconcile them.
 * Reads all items, but only once in the life of a ledger.
 */
export function reconcileGivenIds(tx: Tx): void {
  if (readMeta(tx, DONE) !== null) return;
  for (const itemId of SQL.givenAway(tx).all()) reconcile(tx, itemId);
  writeMeta(tx, DONE, '1');
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

/**
 * The difference between the desired payload and the baseline (I4), as the write that removes it.
 *
 * @param asked true if a person asks now to send the item in the present form, even if its content is at the API
 */
function wantedOf(
  item: ItemRow,
  { profile, forms }: { profile: Profile; forms: Pick<WrittenForms, 'isPresent'> },
  asked = false,
): Wanted {
  const { kind, key, desired, desiredHash } = item;
  const baseline = acknowledgedContent(item);
  if (kind === 'passport') return passportDifference(desired, baseline);
  const baselineHash = baseline?.hash ?? null;
  const renamed = kind === 'product' && baselineHash !== desiredHash ? renamedOf(item, baseline, profile) : null;
  const sendsForm = baselineHash === desiredHash && isInOtherForm(item, forms) && (asked || sendsAgain(item));
  const wanted = difference({ kind, key, desiredHash, baselineHash, renamed, sendsForm }, profile);
  if (wanted.need === 'none') return wanted;
  const write = { ...wanted, desired, desiredHash, byHand: false };
  if (wanted.need === 'blocked' || item.adopted === 0) return write;
  const reason = adoptedReason(
    item.source,
    parseJson<JsonObject>(desired),
    parseJson<JsonObject>(baseline?.text ?? '{}'),
  );
  return { ...write, need: 'blocked', reason };
}

/** True if the API has acknowledged the item in a form in which it is not sent any more. */
function isInOtherForm(
  { kind, acknowledged, form }: Pick<ItemRow, 'kind' | 'acknowledged' | 'form'>,
  forms: Pick<WrittenForms, 'isPresent'>,
): boolean {
  return acknowledged > 0 && !forms.isPresent(kind, form);
}

/** True if the open delivery sends content that is at the API already: a person has asked for the present form. */
function sendsAgain(item: ItemRow): boolean {
  return isOpenState(item.state) && revisionContent(item).hash === acknowledgedContent(item)?.hash;
}

/** The item's natural keys at the API and in the source; null if they are the same. */
function renamedOf({ naturalKey }: ItemRow, baseline: Content | null, profile: Profile): Renamed | null {
  const known = baseline === null ? null : naturalKeyOf(profile, 'product', parseJson<JsonObject>(baseline.text));
  return known === null || known.value === naturalKey ? null : { from: known.value, to: naturalKey };
}

/** A passport changes step by step: each delivery leads to one status. */
function passportDifference(desired: string, baseline: Content | null): Wanted {
  const { status: from = null } = parseJson<{ status?: PassportStatus }>(baseline?.text ?? '{}');
  const { status, because } = parseJson<PassportDesire>(desired);
  const step = nextStep(from, status);
  if (step === null) return { need: 'none' };
  const text = statusText(step.status);
  const byHand = because === 'person';
  return { need: 'write', operation: step.operation, desired: text, desiredHash: sha256Url(text), byHand };
}

// Items whose remote id another item has taken over. An item without its remote id is not at the platform any more, so
// its next write is a create. This is also true for the BOM items and the passport of such a product, because at the
// platform they belong to the product of the other item.

/**
 * Forgets what the API has acknowledged of an item that gave its id away. Returns the items that have to be
 * reconciled afterwards: those that their source still has.
 */
function forgetGivenId(tx: Tx, item: ItemRow): number[] {
  const ofProduct = item.kind === 'product' ? SQL.ofProduct(tx).all(item.key) : [];
  // An item whose write may have arrived is skipped here: its delivery is settled first.
  return [item, ...ofProduct.filter((one) => !mayHaveArrived(one))].flatMap((one) => forgetOne(tx, one));
}

function forgetOne(tx: Tx, item: ItemRow): number[] {
  supersedeRevision(tx, item);
  SQL.forget(tx).run(item.id);
  const isPresent = item.recordId !== null && SQL.isPresent(tx).get(item.recordId) !== undefined;
  return isPresent ? [item.id] : [];
}
