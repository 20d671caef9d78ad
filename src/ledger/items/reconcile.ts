// Compares items with what the API has acknowledged, and stages the differences.

import { adoptedReason } from '../../domain/adoption.ts';
import { difference, type Renamed } from '../../domain/delivery/reconcile.ts';
import type { Reason } from '../../domain/delivery/stored-reason.ts';
import type { WrittenForms } from '../../domain/delivery/wire-form.ts';
import { hasRefs } from '../../domain/item.ts';
import { naturalKeyOf } from '../../domain/natural-key.ts';
import { nextStep, type PassportDesire, type PassportStatus, statusText } from '../../domain/passport.ts';
import type { Profile } from '../../domain/profile.ts';
import { sha256Url } from '../../lib/hash.ts';
import type { JsonObject } from '../../lib/json.ts';
import { kindCreatedBy, noticeCreates } from '../contact/contact.ts';
import { readMeta, writeMeta } from '../store/meta.ts';
import { column, parseJson, statement, type Tx } from '../store/tx.ts';
import {
  acknowledgedContent,
  type Content,
  gaveIdAway,
  hasReason,
  ITEM_COLUMNS,
  type ItemRow,
  idsOf,
  isOpenState,
  itemsById,
  mayHaveArrived,
  revisionContent,
} from './item-row.ts';
import { clearIgnoredHashes, endAdoptions, forgetAcknowledged, noteEvents } from './item-writes.ts';
import { needsNothing } from './missing.ts';
import { ADOPTED_BOM, acknowledgeParts, partStandings } from './parts.ts';
import { HELD_CREATE, heldCreatesAmong, itemsWithoutRefs } from './refs.ts';
import { beginRevisions, markUnconfirmedIfRestored, supersedeRevisions, type WantedWrite } from './revisions.ts';

/** The state of the delivery that was staged for an item; null if no delivery was staged. */
export type Staged = 'due' | 'waiting' | 'blocked' | null;

/** What an item needs: a write, nothing, or a person. */
type Wanted =
  | { need: 'none' }
  | ({ need: 'write' } & WantedWrite)
  | ({ need: 'blocked'; reason: Reason } & WantedWrite);

type NeededWrite = Exclude<Wanted, { need: 'none' }>;

const SQL = {
  needsNothing: column<[string], number>(
    `SELECT i.id FROM json_each(?) listed CROSS JOIN items i ON i.id = listed.value WHERE ${needsNothing('i')}`,
  ),
  ofProducts: statement<[string], ItemRow>(
    `SELECT ${ITEM_COLUMNS} FROM items WHERE acknowledged > 0 AND id IN (
       SELECT f.item_id FROM json_each(?) k CROSS JOIN refs f ON f.kind = 'product' AND f.key = k.value AND f.role = 'product')`,
  ),
  present: column<[string], number>(
    'SELECT id FROM records WHERE id IN (SELECT value FROM json_each(?)) AND missing_since IS NULL',
  ),
  givenAway: column<[], number>(
    "SELECT id FROM items WHERE remote_id = 'null' AND kind IN ('product', 'material') ORDER BY id",
  ),
};

/** What was staged, by the id of the item. An item is left out if nothing was staged for it. */
export type StagedItems = ReadonlyMap<number, Exclude<Staged, null>>;

/** Whether a person asks for another revision, and for the present form of an item that the platform has. */
interface Asking {
  again: boolean;
  asksForForm?: boolean;
}

/**
 * Stages the differences between the desired payloads and the baselines (I4). An open delivery with the same payload
 * does not change. With `again`, a stuck delivery is replaced by a new revision.
 */
export function reconcileAll(tx: Tx, itemIds: readonly number[], again = false): StagedItems {
  return itemIds.length === 0 ? NOTHING_STAGED : reconcileItems(tx, itemsById(tx, itemIds), { again });
}

/** Does the same as `reconcileAll` for rows that were just read. No item is named twice. */
export function reconcileItems(tx: Tx, items: readonly ItemRow[], asking: Asking): StagedItems {
  // I3: a delivery that the API may have received is never superseded. The item is reconciled again when that
  // delivery is settled.
  const free = items.filter((item) => !mayHaveArrived(item));
  if (free.some(gaveIdAway)) return reconcileForgotten(tx, free, asking);
  const { again } = asking;
  // The row of an item that the platform never got is gone, so there is nothing to send. A person may send it nevertheless.
  const missing = again ? [] : free.filter(({ missingSince }) => missingSince !== null);
  const gone = new Set(missing.length === 0 ? [] : SQL.needsNothing(tx).all(listOf(missing)));
  const wants = wantsOf(
    tx,
    free.filter(({ id }) => !gone.has(id)),
    asking,
  );
  const none = wants.filter(({ wanted }) => wanted.need === 'none').map(({ item }) => item);
  supersedeRevisions(tx, [...free.filter(({ id }) => gone.has(id)), ...none]);
  endAdoptions(tx, idsOf(none.filter(({ adopted }) => adopted === 1)));
  clearIgnoredHashes(tx, idsOf(none.filter((item) => item.ignoredHash !== null && !isLeft(tx, item))));
  return beginWanted(
    tx,
    wants.flatMap(({ item, wanted }) =>
      wanted.need === 'none' || !isNext(item, wanted, again) ? [] : [{ item, wanted }],
    ),
  );
}

/**
 * Stages items again in the present form, at a person's request. Stages nothing for an item that the API may be
 * receiving, or has in the present form.
 */
export function sendInPresentForm(tx: Tx, items: readonly ItemRow[]): void {
  reconcileItems(tx, items, { again: true, asksForForm: true });
}

/** Blocks the staged deliveries of items until a person decides. */
export function blockItems(tx: Tx, blocked: readonly { id: number; reason: Reason }[]): void {
  const reasons = new Map(blocked.map(({ id, reason }) => [id, reason]));
  const begun = itemsById(tx, [...reasons.keys()]).flatMap((item) => {
    const wanted = wantedOf(item, tx);
    const reason = reasons.get(item.id);
    if (reason === undefined || wanted.need === 'none' || mayHaveArrived(item)) return [];
    return [{ item, wanted, state: 'blocked' as const, reason }];
  });
  beginRevisions(tx, begun);
  noteEvents(
    tx,
    begun.map(({ item: { id, revision }, reason }) => ({
      id,
      revision: revision + 1,
      type: 'blocked',
      detail: reason,
    })),
  );
}

/** The name under which the ledger stores that this work is done. */
const DONE = 'given_ids_reconciled';

/**
 * Reconciles the items whose remote ids other items took over under an earlier version, which did not reconcile them.
 * Reads all items, but only once in the life of a ledger.
 */
export function reconcileGivenIds(tx: Tx): void {
  if (readMeta(tx, DONE) !== null) return;
  reconcileAll(tx, SQL.givenAway(tx).all());
  writeMeta(tx, DONE, '1');
}

interface Want<W extends Wanted = Wanted> {
  item: ItemRow;
  wanted: W;
}

/** Begins the revisions of the items that need one. */
function beginWanted(tx: Tx, wants: readonly Want<NeededWrite>[]): StagedItems {
  const writes = wants.filter(({ wanted }) => wanted.need === 'write').map(({ item }) => item);
  const held = heldCreatesAmong(tx, idsOf(writes));
  const lacking = itemsWithoutRefs(tx, idsOf(writes.filter(({ kind }) => hasRefs(kind))));
  const begun = wants.map(({ item, wanted }) => {
    if (wanted.need === 'blocked') return { item, wanted, state: 'blocked' as const, reason: wanted.reason };
    const isHeld = held.has(item.id);
    const state = isHeld || lacking.has(item.id) ? ('waiting' as const) : ('due' as const);
    return { item, wanted, state, reason: isHeld ? HELD_CREATE : null };
  });
  beginRevisions(tx, begun);
  const writing = begun.filter(({ state }) => state !== 'blocked');
  for (const [kind, ofKind] of Map.groupBy(writing, ({ wanted }) => kindCreatedBy(wanted.operation))) {
    const creates = ofKind.map(({ item, wanted: { desired } }) => ({ itemId: item.id, desired }));
    if (kind !== undefined) noticeCreates(tx, kind, creates);
  }
  markUnconfirmedIfRestored(
    tx,
    begun
      .filter(({ state }) => state === 'due')
      .map(({ item, wanted: { operation } }) => ({ id: item.id, revision: item.revision + 1, operation })),
  );
  return new Map(begun.map(({ item, state }) => [item.id, state]));
}

/** True if the item needs another revision for this write. */
function isNext(item: ItemRow, wanted: NeededWrite, again: boolean): boolean {
  if (isOpenState(item.state)) return !staysOpen(item, wanted, again);
  // I4: a person has ended the delivery of this payload, so the difference is intended.
  return again || item.ignoredHash !== wanted.desiredHash;
}

/** True if a person has decided to leave the item in the form in which the platform has it. */
function isLeft(tx: Tx, item: ItemRow): boolean {
  return item.ignoredHash === item.desiredHash && isInOtherForm(item, tx.forms);
}

/** What the items need. It is unknown which BOM items of an adopted product the platform already has. */
function wantsOf(tx: Tx, items: readonly ItemRow[], { asksForForm = false }: Asking): Want[] {
  const wants = items.map((item) => ({ item, wanted: wantedOf(item, tx, asksForForm) }));
  const isPart = ({ wanted }: Want): boolean => wanted.need === 'write' && wanted.operation === 'bom_item.create';
  const standings = partStandings(
    tx,
    wants.filter(isPart).map(({ item }) => item.id),
  );
  const present = wants.filter(({ item }) => standings.get(item.id) === 'present').map(({ item }) => item.id);
  acknowledgeParts(tx, present);
  noteEvents(
    tx,
    present.map((id) => ({ id, revision: null, type: 'adopted', detail: PRESENT_PART })),
  );
  return wants.map(({ item, wanted }): Want => {
    const standing = standings.get(item.id) ?? 'create';
    if (wanted.need !== 'write' || standing === 'create') return { item, wanted };
    if (standing === 'present') return { item, wanted: { need: 'none' } };
    return { item, wanted: { ...wanted, need: 'blocked', reason: ADOPTED_BOM } };
  });
}

const PRESENT_PART = {
  message: 'The BOM item counts as present at the platform, because the config has `target.bom: assume-present`.',
};

/** True if an open delivery that never reached the API still asks for the right payload. */
function staysOpen(item: ItemRow, wanted: NeededWrite, again: boolean): boolean {
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
function wantedOf(item: ItemRow, { profile, forms }: { profile: Profile; forms: WrittenForms }, asked = false): Wanted {
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
  forms: WrittenForms,
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

/**
 * Forgets what the API has acknowledged of items whose remote id another item has taken over, and reconciles all the items. An
 * item without its remote id is not at the platform any more, so its next write is a create. This is also true for the BOM items
 * and the passport of such a product, because at the platform they belong to the product of the other item.
 */
function reconcileForgotten(tx: Tx, items: readonly ItemRow[], asking: Asking): StagedItems {
  const given = items.filter(gaveIdAway);
  const products = given.filter(({ kind }) => kind === 'product').map(({ key }) => key);
  // An item whose write may have arrived is skipped here: its delivery is settled first.
  const ofProducts = products.length === 0 ? [] : SQL.ofProducts(tx).all(JSON.stringify(products));
  const forgotten = [...given, ...ofProducts.filter((item) => !mayHaveArrived(item))];
  supersedeRevisions(tx, forgotten);
  forgetAcknowledged(tx, idsOf(forgotten));
  // Only the items that their source still has are reconciled.
  const records = forgotten.flatMap(({ recordId }) => recordId ?? []);
  const present = new Set(records.length === 0 ? [] : SQL.present(tx).all(JSON.stringify(records)));
  const left = forgotten.filter(({ recordId }) => recordId !== null && present.has(recordId));
  const done = new Set(idsOf(forgotten));
  const others = items.filter(({ id }) => !done.has(id));
  return reconcileItems(tx, itemsById(tx, [...new Set(idsOf([...left, ...others]))]), asking);
}

function listOf(items: readonly ItemRow[]): string {
  return JSON.stringify(idsOf(items));
}

const NOTHING_STAGED: StagedItems = new Map();
