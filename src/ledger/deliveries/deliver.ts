// Stores the effects of a delivery on its item. A number that is returned says how many deliveries were released.

import { transition } from '../../domain/delivery/delivery.ts';
import type { UnprovenCause } from '../../domain/delivery/evidence.ts';
import type { Operation } from '../../domain/delivery/operation.ts';
import { NO_REASON, storedReason } from '../../domain/delivery/reason.ts';
import type { FormId } from '../../domain/delivery/wire-form.ts';
import type { Decision, RequestSettlement, Settled, Settlement } from '../../domain/ports/decision.ts';
import type { ContactEntry } from '../../domain/ports/first-contact.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import { adoptListed } from '../contact/adoption.ts';
import { noteDuplicate } from '../contact/contact.ts';
import { presenceOf } from '../items/content.ts';
import { acknowledgedContent, gaveIdAway, revisionContent } from '../items/item-row.ts';
import { reconcile } from '../items/reconcile.ts';
import { releaseWaiting, releaseWaitingFor } from '../items/refs.ts';
import { leaveRequest, removeRequests } from '../items/requests.ts';
import { isRestored, markAbsent } from '../items/restored.ts';
import { markPassportsDirtyBy } from '../passports/passport-items.ts';
import { followPassport } from '../passports/passports.ts';
import { statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import type { DeliveryRow, SettleRow } from './delivery-row.ts';
import { importMembers } from './imports.ts';
import { idsTakenByOthers } from './remote-ids.ts';

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

interface PlainSettlement {
  row: SettleRow;
  decision: Delivered;
}

/** The other columns of a delivery that has ended. */
interface Ended {
  id: number;
  state: string;
  now: number;
  attempts: 0 | 1;
  remoteId: string;
  form: FormId;
  unproven: UnprovenCause | null;
  /** 0 keeps the cause for which the id was taken without proof. */
  showsId: 0 | 1;
}

/** The columns of what the API has acknowledged. */
interface Acknowledged {
  acknowledged: 1 | 2;
  baseline: string | null;
  baselineHash: string | null;
}

const SQL = {
  // I4: the API has acknowledged the desired payload. The ledger stores no copy of it as the baseline.
  deliverPlain: statement<[{ state: string; now: number; settled: string }]>(
    `UPDATE items SET state = @state, settled_at = @now, due_at = 0, uncertain = 0, reason = NULL,
       attempts = max(1, attempts + 1), acknowledged = 1, baseline = NULL, baseline_hash = NULL, form = sent_form,
       remote_id = coalesce(s.remote_id, items.remote_id, 'null'), request_id = NULL, request_place = NULL,
       unproven = coalesce(s.unproven, iif(s.shows_id, NULL, nullif(items.unproven, 'accepted')))
     FROM (SELECT value ->> 0 AS id, value ->> 1 AS remote_id, value ->> 2 AS unproven, value ->> 3 AS shows_id
           FROM json_each(@settled)) s
     WHERE items.id = s.id`,
  ),
  // If a read-back has shown the write, `attempts` is 0: the attempt was counted when the delivery became unconfirmed.
  deliver: statement<[Acknowledged & Ended]>(
    `UPDATE items SET state = @state, settled_at = @now, due_at = 0, uncertain = 0, reason = NULL, sent = NULL,
       attempts = max(1, attempts + @attempts), acknowledged = @acknowledged, baseline = @baseline,
       baseline_hash = @baselineHash, remote_id = @remoteId, form = @form,
       unproven = coalesce(@unproven, iif(@showsId, NULL, nullif(unproven, 'accepted'))) WHERE id = @id`,
  ),
  reject: statement<[string, number, number]>(
    'UPDATE items SET state = ?, due_at = 0, uncertain = 0, settled_at = ? WHERE id = ?',
  ),
  presence: statement<[string, string, number]>(
    'UPDATE items SET acknowledged = 2, baseline = ?, baseline_hash = ? WHERE id = ?',
  ),
};

/**
 * Settles the most common answers: the API has acknowledged all members of a request, and their items have not changed since.
 * Returns the result of each group in the same order; null for a group that is not plain.
 */
export function settlePlain(tx: Tx, groups: readonly FoundGroup[]): (Settled[] | null)[] {
  const candidates = groups.map((group) => plainMembers(tx, group));
  const taken = idsTakenByOthers(
    tx,
    candidates
      .flatMap((members) => members ?? [])
      .map(({ row: { id, kind }, decision }) => ({ id, kind, given: idText(decision.remoteId) })),
  );
  const isFree = (members: PlainSettlement[]): boolean => members.every(({ row }) => !taken.has(row.id));
  const plain = candidates.map((members) => (members !== null && isFree(members) ? members : null));
  const released = deliverPlain(
    tx,
    plain.flatMap((members) => members ?? []),
  );
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
function plainMembers(tx: Tx, { group, members }: FoundGroup): PlainSettlement[] | null {
  const { claim } = group;
  const plain = members.flatMap((member) => (claim === null ? [] : (plainSettlement(member, claim) ?? [])));
  const [first] = plain;
  if (first === undefined || plain.length < members.length || claim === null) return null;
  const count = first.row.requestPlace === null ? 1 : importMembers(tx, claim.request).length;
  return plain.length === count ? plain : null;
}

function deliverPlain(tx: Tx, settlements: readonly PlainSettlement[]): Map<number, number> {
  if (settlements.length === 0) return new Map();
  const settled = settlements.map(({ row, decision }) => [
    row.id,
    idText(decision.remoteId),
    decision.unproven ?? null,
    showsId(row.operation, decision) ? 1 : 0,
  ]);
  const now = tx.clock.now();
  // Before the delivery ends, notes that this create made the item. The note is not made for an uncertain delivery,
  // because an earlier attempt may have made the item.
  for (const { row } of isRestored(tx) ? settlements : []) if (row.uncertain === 0) markAbsent(tx, row.id);
  SQL.deliverPlain(tx).run({ state: transition('sending', 'accept'), now, settled: JSON.stringify(settled) });
  removeRequests(tx, [...new Set(settlements.flatMap(({ row }) => row.requestId ?? []))]);
  const delivered = settlements.map(({ row: { id, kind, key, remoteId } }) => ({
    id,
    kind,
    key,
    isNew: remoteId === null,
  }));
  markPassportsDirtyBy(tx, delivered);
  const arrived = delivered.filter(({ isNew }) => isNew);
  const released = releaseWaiting(tx, arrived);
  return new Map(arrived.map(({ id }, at) => [id, released[at] ?? 0]));
}

function plainSettlement(
  { settlement, row }: FoundSettlement,
  claim: NonNullable<RequestSettlement['claim']>,
): PlainSettlement | null {
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

function idText(remoteId: Delivered['remoteId']): string | null {
  return remoteId === null ? null : JSON.stringify(remoteId);
}

export function deliver(tx: Tx, row: DeliveryRow, decision: Extract<Decision, { kind: 'delivered' }>): number {
  const { id, kind, key } = row;
  const attempts = decision.by === 'answer' ? 1 : 0;
  const isNew = row.remoteId === null;
  const remoteId = decision.remoteId === null ? (row.remoteId ?? 'null') : JSON.stringify(decision.remoteId);
  const known = delivered(tx, row, decision.contentKnown);
  if (decision.by === 'answer' && row.uncertain === 0) markAbsent(tx, id);
  // The members of an import were already released from their request.
  if (row.operation !== 'product.import') leaveRequest(tx, row);
  const { unproven = null } = decision;
  const state = transition(row.state, 'accept');
  const form = formOf(tx, row, decision);
  SQL.deliver(tx).run({
    ...known,
    id,
    state,
    now: tx.clock.now(),
    attempts,
    remoteId,
    form,
    unproven,
    showsId: showsId(row.operation, decision) ? 1 : 0,
  });
  markPassportsDirtyBy(tx, [{ id, kind, key, isNew }]);
  const follower = hasFollower(tx, row, known) ? 1 : 0;
  return follower + (isNew ? releaseWaitingFor(tx, kind, key) : 0);
}

/**
 * Adopts the item of a create that has met an item of the platform. `found` is what the list shows.
 * The revision ends, as it does for any item that was at the platform before.
 */
export function adoptFound(tx: Tx, row: DeliveryRow, kind: ListableKind, found: readonly ContactEntry[]): number {
  leaveRequest(tx, row);
  SQL.reject(tx).run(transition(row.state, 'reject'), tx.clock.now(), row.id);
  const isCompared = noteDuplicate(tx, { kind, found, isRefused: isRefusal(row) });
  reconcile(tx, row.id, true);
  return isCompared ? 0 : adoptListed(tx, row.id, kind);
}

/**
 * Forgets the baseline of a refused update whose earlier attempts have no answer: the API may have either content.
 * The next write has all fields.
 */
export function forgetBaseline(tx: Tx, row: DeliveryRow): void {
  if (row.remoteId === null) return;
  const before = acknowledgedContent(row)?.text ?? null;
  const { baseline, hash } = presenceOf(tx.profile, row.kind, { desired: revisionContent(row).text, before });
  SQL.presence(tx).run(baseline, hash, row.id);
}

/**
 * I4: the baseline is what the API has acknowledged. If only the item's presence is known, the baseline has no
 * content.
 */
function delivered(tx: Tx, row: DeliveryRow, contentKnown: boolean): Acknowledged {
  const sent = revisionContent(row);
  if (!contentKnown) {
    const { baseline, hash } = presenceOf(tx.profile, row.kind, { desired: sent.text, before: null });
    return { acknowledged: 2, baseline, baselineHash: hash };
  }
  const isDesired = row.kind !== 'passport' && row.sentHash === null;
  if (isDesired) return { acknowledged: 1, baseline: null, baselineHash: null };
  return { acknowledged: 2, baseline: sent.text, baselineHash: sent.hash };
}

/**
 * The form in which the API now has the item. A person who has made a write by hand, instead of one that was never
 * sent or that the API has refused, has made it as the platform needs it.
 */
function formOf(tx: Tx, row: DeliveryRow, { by }: Extract<Decision, { kind: 'delivered' }>): FormId {
  const isByHand = row.sentAt === null || (by === 'person' && row.state !== 'in_doubt');
  return isByHand ? tx.forms.presentOf(row.kind) : row.sentForm;
}

/** Stages what is still to be written after an acknowledged write (I4). Returns true if a delivery became due for it. */
function hasFollower(tx: Tx, row: DeliveryRow, { acknowledged }: Acknowledged): boolean {
  const { kind, id } = row;
  if (kind === 'passport') return followPassport(tx, id);
  return (acknowledged !== 1 || gaveIdAway(row)) && reconcile(tx, id) === 'due';
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
function showsId(
  operation: Operation,
  { remoteId, by }: Pick<Extract<Decision, { kind: 'delivered' }>, 'remoteId' | 'by'>,
): boolean {
  return remoteId !== null && !(operation === 'material.update' && by === 'answer');
}
