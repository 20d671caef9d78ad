// Ensures that only one item has a remote id: of its kind, and of all kinds if it is a UUID or another long random
// text.

import { isIdOfAllKinds, SUBJECT_KINDS, type SubjectKind } from '../../domain/item.ts';
import type { Decision } from '../../domain/ports/deliveries.ts';
import { kindWord } from '../../domain/words/states.ts';
import type { JsonValue } from '../../lib/json.ts';
import { gaveIdAway } from '../items/item-row.ts';
import { noteEvents, takeRemoteIds } from '../items/item-writes.ts';
import { reconcileAll } from '../items/reconcile.ts';
import { statement, type Tx } from '../store/tx.ts';
import type { DeliveryRow } from './delivery-row.ts';

/** An item and its new remote id as JSON; null if the item gets no id. */
export interface GivenId {
  id: number;
  kind: SubjectKind;
  given: string | null;
}

/** An item that has a remote id. */
interface Holder {
  id: number;
  kind: SubjectKind;
  key: string;
  remoteId: string;
  isGone: 0 | 1;
}

type Delivered = Extract<Decision, { kind: 'delivered' }>;

/** A delivery whose item would get the remote id of another item. */
interface Conflict {
  row: DeliveryRow;
  decision: Delivered;
}

const SQL = {
  holders: statement<[{ kinds: string; ids: string }], Holder>(
    `SELECT i.id, i.kind, i.key, i.remote_id AS remoteId, r.id IS NULL OR r.missing_since IS NOT NULL AS isGone
     FROM json_each(@kinds) k CROSS JOIN json_each(@ids) g
     CROSS JOIN items i ON i.kind = k.value AND i.remote_id = g.value AND i.remote_id <> 'null'
     LEFT JOIN records r ON r.id = i.record_id ORDER BY i.id`,
  ),
};

/** The items whose new remote id another item has, or is given at the same time. */
export function idsTakenByOthers(tx: Tx, items: readonly GivenId[]): Set<number> {
  const groups = Map.groupBy(items, ({ kind, given }) => (isOfAllKinds(given) ? null : kind));
  return new Set(
    [...groups].flatMap(([kind, group]) => takenByOthersOf(tx, kind === null ? SUBJECT_KINDS : [kind], group)),
  );
}

/**
 * Decides about deliveries whose items would get the remote ids of other items. If the source of the other item no longer
 * has it, the new item takes over the id, and the other item does not count as acknowledged any more.
 *
 * @returns the decisions by the ids of the items; null for an item that may have the id. A delivery is left out if an earlier
 *   one of the list changes who has the id. Call this function for it again after the earlier one is settled.
 */
export function resolveIdConflicts(tx: Tx, conflicts: readonly Conflict[]): ReadonlyMap<number, Decision | null> {
  const holderOf = holdersOf(tx, conflicts);
  const decided = new Map<number, Decision | null>();
  /** The ids that get another holder, and the items that get or lose an id, here or later. */
  const changed = { ids: new Set<string>(), items: new Set<number>() };
  const givers: { holder: Holder; row: DeliveryRow }[] = [];
  const kept: { holder: Holder; conflict: Conflict }[] = [];
  for (const conflict of conflicts) {
    const { row, decision } = conflict;
    const id = JSON.stringify(decision.remoteId);
    const holder = holderOf(conflict);
    const concerned = [row, ...(holder === undefined ? [] : [holder])];
    const isGiven = holder?.isGone === 1 && holder.kind === row.kind && !gaveIdAway(row);
    const isLater =
      changed.ids.has(id) ||
      concerned.some((item) => changed.items.has(item.id)) ||
      // The delivery of the other item is settled before the item loses its id.
      (isGiven && decided.has(holder.id));
    if (isLater || isGiven || holder === undefined) {
      changed.ids.add(id);
      for (const item of concerned) changed.items.add(item.id);
    }
    if (isLater) continue;
    if (holder === undefined) decided.set(row.id, null);
    else if (isGiven) {
      givers.push({ holder, row });
      decided.set(row.id, null);
    } else if (gaveIdAway(row)) {
      // The answer belongs to a write of an item whose id another item has taken over meanwhile. The id stays with the
      // other item.
      decided.set(row.id, { ...decision, remoteId: null });
    } else if (decision.by === 'person' && row.kind === 'bom_item') {
      // A person has said that a BOM item arrived, but a wrong answer has given its id to another BOM item. No write needs
      // the id of a BOM item, so the delivery ends without it.
      kept.push({ holder, conflict });
      decided.set(row.id, { ...decision, remoteId: null });
    } else decided.set(row.id, sharedId(tx, conflict, holder));
  }
  takeOver(tx, givers);
  noteEvents(
    tx,
    kept.map(({ holder, conflict: { row, decision } }) => {
      const message = `The ledger has the id ${JSON.stringify(decision.remoteId)} for the ${kindWord(holder.kind)} ${holder.key}, so this item does not get the id.`;
      return { id: row.id, revision: row.revision, type: 'id_not_stored', detail: { message } };
    }),
  );
  return decided;
}

/** Returns a function that finds the other item that has an id. An item of the same kind comes first. */
function holdersOf(tx: Tx, conflicts: readonly Conflict[]): (conflict: Conflict) => Holder | undefined {
  const ids = [...new Set(conflicts.map(({ decision }) => JSON.stringify(decision.remoteId)))];
  const rows = SQL.holders(tx).all({ kinds: JSON.stringify(SUBJECT_KINDS), ids: JSON.stringify(ids) });
  const holders = Map.groupBy(rows, ({ remoteId }) => remoteId);
  return ({ row, decision: { remoteId } }) => {
    const others = (holders.get(JSON.stringify(remoteId)) ?? []).filter(({ id }) => id !== row.id);
    const ofKind = others.find(({ kind }) => kind === row.kind);
    return ofKind ?? (remoteId !== null && isIdOfAllKinds(remoteId) ? others[0] : undefined);
  };
}

/** Takes the ids of these items away, because other items have them now. */
function takeOver(tx: Tx, givers: readonly { holder: Holder; row: DeliveryRow }[]): void {
  const ids = givers.map(({ holder }) => holder.id);
  takeRemoteIds(tx, ids);
  // If a delivery of such an item may have arrived, it is settled first. The item is then reconciled again.
  reconcileAll(tx, ids);
  noteEvents(
    tx,
    givers.map(({ holder, row }) => {
      const message = `The id of this item at the platform belongs to ${row.key} now.`;
      return { id: holder.id, revision: null, type: 'id_left', detail: { message } };
    }),
  );
}

function takenByOthersOf(tx: Tx, kinds: readonly SubjectKind[], items: readonly GivenId[]): number[] {
  const given = items.flatMap(({ id, given: remoteId }) => (remoteId === null ? [] : [{ id, remoteId }]));
  if (given.length === 0) return [];
  const ids = JSON.stringify(given.map(({ remoteId }) => remoteId));
  const rows = SQL.holders(tx).all({ kinds: JSON.stringify(kinds), ids });
  const holders = new Map<string, { id: number }[]>(Map.groupBy(rows, ({ remoteId }) => remoteId));
  return given.flatMap(({ id, remoteId }) => {
    const others = holders.get(remoteId) ?? [];
    holders.set(remoteId, [...others, { id }]);
    return others.some((other) => other.id !== id) ? [id] : [];
  });
}

/** True for an id, as JSON, that belongs to one item of all kinds. */
function isOfAllKinds(given: string | null): boolean {
  return given !== null && isIdOfAllKinds(JSON.parse(given) as JsonValue);
}

function sharedId(tx: Tx, { row: { kind, key }, decision: { remoteId, by } }: Conflict, holder: Holder): Decision {
  const noun = kindWord(kind);
  const message = `The id ${JSON.stringify(remoteId)} was given for the ${noun} ${key}, and the ${kindWord(holder.kind)} ${holder.key} has it already. An answer may have been mixed up. Find out at the platform which of the two has this id, and record the id with \`dpp-sync settle KEY --delivered --id ID\`. If the platform is another or an empty one, such as a sandbox that was started again, it needs a ledger of its own.`;
  // The answer may belong to another request, so the list is read. An id from a list or from a person needs no
  // further check, because nothing is more certain.
  const isListed = by === 'answer' && kind !== 'bom_item';
  const reason = { code: 'shared_id', message } as const;
  return { kind: 'unconfirmed', nextLookAt: isListed ? tx.clock.now() : null, spend: isListed, reason };
}
