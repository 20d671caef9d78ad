import { transition } from '../../../domain/delivery/delivery.ts';
import type { Decision, RequestSettlement, Settled, Settlement } from '../../../domain/ports/decision.ts';
import type { Restored } from '../../backup/restored.ts';
import { gaveIdAway } from '../../items/item-row.ts';
import type { Release } from '../../items/release.ts';
import type { RemoteIds } from '../../items/remote-ids.ts';
import type { Passports } from '../../passports/passports.ts';
import type { LedgerContext } from '../../store/context.ts';
import type { SettleRow } from '../delivery-row.ts';
import type { Imports } from '../requests/imports.ts';
import type { Requests } from '../requests/requests.ts';
import { showsId } from './shows-id.ts';

/**
 * Settles the most common answers: the API has acknowledged all members of a request, and their items have not changed
 * since.
 */
export interface PlainSettles {
  /**
   * Settles the plain groups. Returns the result of each group in the same order; null for a group that is not plain.
   */
  settle(groups: readonly FoundGroup[]): (Settled[] | null)[];
}

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

interface PlainSettlesParts {
  requests: Requests;
  imports: Pick<Imports, 'members'>;
  passports: Pick<Passports, 'markDirtyBy'>;
  restored: Restored;
  remoteIds: Pick<RemoteIds, 'takenByOthers'>;
  release: Release;
}

/** Call each function inside a transaction. */
export function createPlainSettles(
  { db, clock }: Pick<LedgerContext, 'db' | 'clock'>,
  { requests, imports, passports, restored, remoteIds, release }: PlainSettlesParts,
): PlainSettles {
  const sql = {
    // I4: the API has acknowledged the desired payload. The ledger stores no copy of it as the baseline.
    deliver: db.prepare<[{ state: string; now: number; settled: string }]>(
      `UPDATE items SET state = @state, settled_at = @now, due_at = 0, uncertain = 0, reason = NULL,
         attempts = max(1, attempts + 1), acknowledged = 1, baseline = NULL, baseline_hash = NULL, form = sent_form,
         remote_id = coalesce(s.remote_id, items.remote_id, 'null'), request_id = NULL, request_place = NULL,
         unproven = coalesce(s.unproven, iif(s.shows_id, NULL, nullif(items.unproven, 'accepted')))
       FROM (SELECT value ->> 0 AS id, value ->> 1 AS remote_id, value ->> 2 AS unproven, value ->> 3 AS shows_id
             FROM json_each(@settled)) s
       WHERE items.id = s.id`,
    ),
  };

  /** The members of a plain group, whose remote ids were not checked yet; null if the group is not plain. */
  function plainMembers({ group, members }: FoundGroup): PlainSettlement[] | null {
    const { claim } = group;
    const plain = members.flatMap((member) => (claim === null ? [] : (plainSettlement(member, claim) ?? [])));
    const [first] = plain;
    if (first === undefined || plain.length < members.length || claim === null) return null;
    const count = first.row.requestPlace === null ? 1 : imports.members(claim.request).length;
    return plain.length === count ? plain : null;
  }

  function deliver(settlements: readonly PlainSettlement[]): Map<number, number> {
    if (settlements.length === 0) return new Map();
    const settled = settlements.map(({ row, decision }) => [
      row.id,
      idText(decision.remoteId),
      decision.unproven ?? null,
      showsId(row.operation, decision) ? 1 : 0,
    ]);
    const now = clock.now();
    // Before the delivery ends, notes that this create made the item. The note is not made for an uncertain delivery,
    // because an earlier attempt may have made the item.
    for (const { row } of restored.isRestored ? settlements : []) if (row.uncertain === 0) restored.wasAbsent(row.id);
    sql.deliver.run({ state: transition('sending', 'accept'), now, settled: JSON.stringify(settled) });
    requests.remove([...new Set(settlements.flatMap(({ row }) => row.requestId ?? []))]);
    const delivered = settlements.map(({ row: { id, kind, key, remoteId } }) => ({
      id,
      kind,
      key,
      isNew: remoteId === null,
    }));
    passports.markDirtyBy(delivered);
    const arrived = delivered.filter(({ isNew }) => isNew);
    const released = release.releaseAll(arrived);
    return new Map(arrived.map(({ id }, at) => [id, released[at] ?? 0]));
  }

  return {
    settle(groups) {
      const candidates = groups.map(plainMembers);
      const taken = remoteIds.takenByOthers(
        candidates
          .flatMap((members) => members ?? [])
          .map(({ row: { id, kind }, decision }) => ({ id, kind, given: idText(decision.remoteId) })),
      );
      const isFree = (members: PlainSettlement[]): boolean => members.every(({ row }) => !taken.has(row.id));
      const plain = candidates.map((members) => (members !== null && isFree(members) ? members : null));
      const released = deliver(plain.flatMap((members) => members ?? []));
      return plain.map(
        (members) =>
          members?.map(({ row: { id, revision } }) => ({
            id,
            revision,
            released: released.get(id) ?? 0,
            applied: true,
          })) ?? null,
      );
    },
  };
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
