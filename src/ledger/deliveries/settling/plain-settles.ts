// Settles the most common answers: the API has acknowledged all members of a request, and their items have not changed
// since.

import { transition } from '../../../domain/delivery/delivery.ts';
import type { Decision, RequestSettlement, Settled, Settlement } from '../../../domain/ports/decision.ts';
import { isRestored, markAbsent } from '../../backup/restored.ts';
import { gaveIdAway } from '../../items/item-row.ts';
import { releaseWaiting } from '../../items/release.ts';
import { idsTakenByOthers } from '../../items/remote-ids.ts';
import { markPassportsDirtyBy } from '../../passports/passport-items.ts';
import { statement } from '../../store/statement.ts';
import type { Tx } from '../../store/tx.ts';
import type { SettleRow } from '../delivery-row.ts';
import { importMembers } from '../requests/imports.ts';
import { removeRequests } from '../requests/requests.ts';
import { showsId } from './shows-id.ts';

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

const SQL = {
  // I4: the API has acknowledged the desired payload. The ledger stores no copy of it as the baseline.
  deliver: statement<[{ state: string; now: number; settled: string }]>(
    `UPDATE items SET state = @state, settled_at = @now, due_at = 0, uncertain = 0, reason = NULL,
       attempts = max(1, attempts + 1), acknowledged = 1, baseline = NULL, baseline_hash = NULL, form = sent_form,
       remote_id = coalesce(s.remote_id, items.remote_id, 'null'), request_id = NULL, request_place = NULL,
       unproven = coalesce(s.unproven, iif(s.shows_id, NULL, nullif(items.unproven, 'accepted')))
     FROM (SELECT value ->> 0 AS id, value ->> 1 AS remote_id, value ->> 2 AS unproven, value ->> 3 AS shows_id
           FROM json_each(@settled)) s
     WHERE items.id = s.id`,
  ),
};

/**
 * Settles the plain groups. Returns the result of each group in the same order; null for a group that is not plain.
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
  SQL.deliver(tx).run({ state: transition('sending', 'accept'), now, settled: JSON.stringify(settled) });
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
