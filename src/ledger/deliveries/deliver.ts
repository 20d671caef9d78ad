// Stores the effects of acknowledged writes on their items. A number that is returned says how many deliveries were released.

import type { Operation } from '../../domain/delivery/operation.ts';
import { NO_REASON, storedReason } from '../../domain/delivery/stored-reason.ts';
import type { FormId } from '../../domain/delivery/wire-form.ts';
import type { ClaimName, Decision, RequestSettlement, Settled, Settlement } from '../../domain/ports/deliveries.ts';
import type { ContactEntry } from '../../domain/ports/ledger/contact-ledger.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import { noteDuplicates } from '../contact/contact.ts';
import { presenceOf } from '../items/content.ts';
import { acknowledgedContent, gaveIdAway, revisionContent } from '../items/item-row.ts';
import { storeBaselines } from '../items/item-writes.ts';
import { reconcileAll } from '../items/reconcile.ts';
import { releaseWaiting } from '../items/refs.ts';
import { leaveRequests, removeRequests } from '../items/requests.ts';
import { markAbsent } from '../items/restored.ts';
import { move } from '../items/revisions.ts';
import { markPassportsDirtyBy } from '../passports/passport-items.ts';
import { followPassports } from '../passports/passports.ts';
import type { Tx } from '../store/tx.ts';
import { adoptListed } from './adoption.ts';
import type { DeliveryRow, SettleRow } from './delivery-row.ts';
import { importSizes } from './imports.ts';
import { type GivenId, idsTakenByOthers } from './remote-ids.ts';

/** A settlement, and its delivery before anything was settled. */
interface FoundSettlement {
  settlement: Settlement;
  row: SettleRow | undefined;
}

interface FoundGroup {
  group: RequestSettlement;
  members: readonly FoundSettlement[];
}

type Delivered = Extract<Decision, { kind: 'delivered' }>;

/** A write that took effect. */
interface Delivery<Row extends SettleRow = DeliveryRow> {
  row: Row;
  decision: Delivered;
}

/** The columns of what the API has acknowledged. */
interface Acknowledged {
  acknowledged: 1 | 2;
  baseline: string | null;
  baselineHash: string | null;
}

/**
 * Settles the most common answers: the API has acknowledged all members of a request, and their items have not changed since.
 * Returns the result of each group in the same order; null for a group that is not plain.
 */
export function settlePlain(tx: Tx, groups: readonly FoundGroup[]): (Settled[] | null)[] {
  const imports = groups.flatMap(({ group: { claim }, members }) =>
    claim !== null && members.some(({ row }) => row !== undefined && row.requestPlace !== null) ? [claim.request] : [],
  );
  const sizes = importSizes(tx, imports);
  const candidates = groups.map((group) => plainMembers(group, sizes));
  const taken = idsTakenByOthers(tx, givenIds(candidates.flatMap((members) => members ?? [])));
  const isFree = (members: Delivery<SettleRow>[]): boolean => members.every(({ row }) => !taken.has(row.id));
  const plain = candidates.map((members) => (members !== null && isFree(members) ? members : null));
  const released = acceptWrites(
    tx,
    plain.flatMap((members) => members ?? []),
    // I4: the API has acknowledged the desired payload. The ledger stores no copy of it as the baseline.
    ({ row }) => ({ ...DESIRED, form: row.sentForm }),
  );
  removeRequests(tx, [...new Set(plain.flatMap((members) => members ?? []).flatMap(({ row }) => row.requestId ?? []))]);
  return plain.map(
    (members) =>
      members?.map(({ row: { id, revision } }) => ({
        id,
        revision,
        released: released.get(id) ?? 0,
        applied: true,
      })) ?? null,
  );
}

/** The members of a plain group, whose remote ids were not checked yet; null if the group is not plain. */
function plainMembers(
  { group: { claim }, members }: FoundGroup,
  sizes: ReadonlyMap<number, number>,
): Delivery<SettleRow>[] | null {
  if (claim === null) return null;
  const plain = members.flatMap((member) => plainSettlement(member, claim) ?? []);
  const [first] = plain;
  if (first === undefined || plain.length < members.length) return null;
  const count = first.row.requestPlace === null ? 1 : sizes.get(claim.request);
  return plain.length === count ? plain : null;
}

function plainSettlement({ settlement, row }: FoundSettlement, claim: ClaimName): Delivery<SettleRow> | null {
  const { decision, revision, seen } = settlement;
  if (row?.state !== 'sending' || row.revision !== revision || seen !== undefined) return null;
  if (row.requestId !== claim.request || row.sends !== claim.sends) return null;
  // The baseline of a passport is never its desired payload. The baseline of an item that has changed since it was sent
  // is older than its desired payload. An item whose remote id another item has taken over is not at the platform any
  // more.
  if (row.kind === 'passport' || row.sentHash !== null || gaveIdAway(row)) return null;
  if (decision.kind !== 'delivered' || decision.by !== 'answer' || !decision.contentKnown) return null;
  return decision.shown === undefined && decision.shownAs === undefined ? { row, decision } : null;
}

/** The ids that these items get. */
export function givenIds(deliveries: readonly Delivery<SettleRow>[]): GivenId[] {
  return deliveries.map(({ row: { id, kind }, decision }) => ({ id, kind, given: idText(decision) }));
}

/** Stores that writes took effect, and stages what is still to be written (I4). Returns how many deliveries each has released. */
export function deliverAll(tx: Tx, deliveries: readonly Delivery[]): ReadonlyMap<number, number> {
  const known = new Map(deliveries.map((one) => [one.row.id, acknowledgedBy(tx, one)]));
  const knownOf = ({ row }: Delivery): Acknowledged => known.get(row.id) ?? DESIRED;
  leaveRequests(
    tx,
    // The members of an import were already released from their request.
    deliveries.map(({ row }) => row).filter(({ operation }) => operation !== 'product.import'),
  );
  const released = acceptWrites(tx, deliveries, (one) => ({ ...knownOf(one), form: formOf(tx, one) }));
  const others = deliveries.filter(({ row }) => row.kind !== 'passport');
  const unlike = others.filter((one) => knownOf(one).acknowledged !== 1 || gaveIdAway(one.row));
  const staged = reconcileAll(
    tx,
    unlike.map(({ row }) => row.id),
  );
  const followed = followPassports(
    tx,
    deliveries.flatMap(({ row: { id, kind } }) => (kind === 'passport' ? id : [])),
  );
  return new Map(
    deliveries.map(({ row: { id, kind } }) => {
      const isFollowed = kind === 'passport' ? followed.has(id) : staged.get(id) === 'due';
      return [id, (released.get(id) ?? 0) + (isFollowed ? 1 : 0)];
    }),
  );
}

/** Ends deliveries whose writes took effect. Returns how many deliveries became due that waited for the id of the item. */
function acceptWrites<Row extends SettleRow>(
  tx: Tx,
  deliveries: readonly Delivery<Row>[],
  knownOf: (delivery: Delivery<Row>) => Acknowledged & { form: FormId },
): Map<number, number> {
  if (deliveries.length === 0) return new Map();
  // Before the delivery ends, notes that this create made the item. The note is not made for an uncertain delivery,
  // because an earlier attempt may have made the item.
  const certain = deliveries.filter(({ row, decision }) => decision.by === 'answer' && row.uncertain === 0);
  markAbsent(
    tx,
    certain.map(({ row }) => row.id),
  );
  const moved = deliveries.map((one) => ({ id: one.row.id, state: one.row.state, one }));
  move(tx, moved, 'accept', ({ one }) => ({
    ...knownOf(one),
    spent: one.decision.by === 'answer' ? 1 : 0,
    remoteId: idText(one.decision),
    unproven: one.decision.unproven ?? null,
    showsId: showsId(one.row.operation, one.decision),
  }));
  const ended = deliveries.map(({ row: { id, kind, key, remoteId } }) => ({ id, kind, key, isNew: remoteId === null }));
  markPassportsDirtyBy(tx, ended);
  const arrived = ended.filter(({ isNew }) => isNew);
  const released = releaseWaiting(tx, arrived);
  return new Map(arrived.map(({ id }, at) => [id, released[at] ?? 0]));
}

/** A create that has met an item of the platform. `found` is what the list shows. */
export interface FoundCreate {
  row: DeliveryRow;
  kind: ListableKind;
  found: readonly ContactEntry[];
}

/**
 * Adopts the items of creates that have met items of the platform. The revisions end, as they do for any item that was at
 * the platform before. Returns how many deliveries the adoption of each item has released.
 */
export function adoptFound(tx: Tx, creates: readonly FoundCreate[]): ReadonlyMap<number, number> {
  const entries = creates.flatMap(({ kind, found }) => found.map(({ remoteId }) => JSON.stringify([kind, remoteId])));
  // Two creates may have met the same item. The second must see that the first has been adopted.
  if (new Set(entries).size < entries.length && creates.length > 1)
    return new Map(creates.flatMap((one) => [...adoptFound(tx, [one])]));
  const rows = creates.map(({ row }) => row);
  leaveRequests(tx, rows);
  move(tx, rows, 'reject', { dueAt: 0, uncertain: 0 });
  const released = [...Map.groupBy(creates, ({ kind }) => kind)].flatMap(([kind, ofKind]) => {
    const found = ofKind.flatMap((one) => one.found);
    const isCompared = noteDuplicates(tx, { kind, found, isRefused: ofKind.some(({ row }) => isRefusal(row)) });
    const ids = ofKind.map(({ row }) => row.id);
    reconcileAll(tx, ids, true);
    return isCompared ? [] : [...adoptListed(tx, kind, ids)];
  });
  return new Map(released);
}

/**
 * Forgets the baselines of refused updates whose earlier attempts have no answer: the API may have either content.
 * The next write has all fields.
 */
export function forgetBaselines(tx: Tx, rows: readonly DeliveryRow[]): void {
  const bound = rows.filter(({ remoteId }) => remoteId !== null);
  storeBaselines(
    tx,
    bound.map((row) => {
      const before = acknowledgedContent(row)?.text ?? null;
      return { id: row.id, ...presenceOf(tx.profile, row.kind, { desired: revisionContent(row).text, before }) };
    }),
  );
}

/**
 * I4: the baseline is what the API has acknowledged. If only the item's presence is known, the baseline has no
 * content.
 */
function acknowledgedBy(tx: Tx, { row, decision: { contentKnown } }: Delivery): Acknowledged {
  const sent = revisionContent(row);
  if (!contentKnown) {
    const { baseline, hash } = presenceOf(tx.profile, row.kind, { desired: sent.text, before: null });
    return { acknowledged: 2, baseline, baselineHash: hash };
  }
  const isDesired = row.kind !== 'passport' && row.sentHash === null;
  return isDesired ? DESIRED : { acknowledged: 2, baseline: sent.text, baselineHash: sent.hash };
}

const DESIRED: Acknowledged = { acknowledged: 1, baseline: null, baselineHash: null };

/**
 * The form in which the API now has the item. A person who has made a write by hand, instead of one that was never
 * sent or that the API has refused, has made it as the platform needs it.
 */
function formOf(tx: Tx, { row, decision: { by } }: Delivery): FormId {
  const isByHand = row.sentAt === null || (by === 'person' && row.state !== 'in_doubt');
  return isByHand ? tx.forms.presentOf(row.kind) : row.sentForm;
}

/** True if the platform has refused the create. An import, or an answer of success, shows nothing about other creates. */
function isRefusal({ reason }: DeliveryRow): boolean {
  const { code, status = 0 } = storedReason(reason) ?? NO_REASON;
  return code !== 'import_exists' && status >= 400;
}

/**
 * True if the decision shows that the id belongs to the item. The answer to a change of a material has the id of its
 * own request and, without the code, does not show whose id it is. An id that was taken without proof then stays one.
 */
function showsId(operation: Operation, { remoteId, by }: Delivered): boolean {
  return remoteId !== null && !(operation === 'material.update' && by === 'answer');
}

function idText({ remoteId }: Delivered): string | null {
  return remoteId === null ? null : JSON.stringify(remoteId);
}
