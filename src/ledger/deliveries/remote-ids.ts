// Ensures that only one item has a remote id: of its kind, and of all kinds if it is a UUID or another long random
// text.

import type { Reason } from '../../domain/delivery/reason.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/item.ts';
import type { Decision } from '../../domain/ports/decision.ts';
import { isIdOfAllKinds } from '../../domain/remote-id.ts';
import { kindWord } from '../../domain/words.ts';
import type { JsonValue } from '../../lib/json.ts';
import { noteEvent } from '../items/events.ts';
import { gaveIdAway } from '../items/item-row.ts';
import { takeRemoteIds } from '../items/item-writes.ts';
import { reconcile } from '../items/reconcile.ts';
import { statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import type { DeliveryRow } from './delivery-row.ts';

/** An item and its new remote id as JSON; null if the item gets no id. */
export interface GivenId {
  id: number;
  kind: SubjectKind;
  given: string | null;
}

/** The other item that has the id. */
interface Holder {
  id: number;
  kind: SubjectKind;
  key: string;
  isGone: 0 | 1;
}

const SQL = {
  // An item of the same kind comes first.
  holder: statement<[{ kinds: string; kind: SubjectKind; remoteId: string; id: number }], Holder>(
    `SELECT i.id, i.kind, i.key, r.id IS NULL OR r.missing_since IS NOT NULL AS isGone
     FROM json_each(@kinds) k CROSS JOIN items i ON i.kind = k.value LEFT JOIN records r ON r.id = i.record_id
     WHERE i.remote_id = @remoteId AND i.remote_id <> 'null' AND i.id <> @id ORDER BY i.kind <> @kind, i.id LIMIT 1`,
  ),
  holders: statement<[{ kinds: string; ids: string }], { id: number; remoteId: string }>(
    `SELECT i.id, i.remote_id AS remoteId FROM json_each(@kinds) k CROSS JOIN json_each(@ids) g
     CROSS JOIN items i ON i.kind = k.value AND i.remote_id = g.value AND i.remote_id <> 'null'`,
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
 * Decides about a delivery whose item would get the remote id of another item; null if it may have the id. If the
 * source of the other item no longer has it, the new item takes over the id, and the other item does not count as
 * acknowledged any more.
 */
export function resolveIdConflict(
  tx: Tx,
  row: DeliveryRow,
  decision: Extract<Decision, { kind: 'delivered' }>,
): Decision | null {
  if (decision.remoteId === null) return null;
  const kinds = isIdOfAllKinds(decision.remoteId) ? SUBJECT_KINDS : [row.kind];
  const remoteId = JSON.stringify(decision.remoteId);
  const holder = SQL.holder(tx).get({ kinds: JSON.stringify(kinds), kind: row.kind, remoteId, id: row.id });
  if (holder === undefined) return null;
  // The answer belongs to a write of an item whose id another item has taken over meanwhile. The id stays with the
  // other item.
  if (gaveIdAway(row)) return { ...decision, remoteId: null };
  if (holder.isGone === 1 && holder.kind === row.kind) {
    takeRemoteIds(tx, [holder.id]);
    // If a delivery of the holder may have arrived, it is settled first. The holder is then reconciled again.
    reconcile(tx, holder.id);
    noteEvent(tx, holder.id, null, 'id_left', {
      message: `The id of this item at the platform belongs to ${row.key} now.`,
    });
    return null;
  }
  if (decision.by === 'person' && row.kind === 'bom_item') return withoutId(tx, row, holder, decision);
  const reason = sharedReason(row, holder, decision.remoteId);
  // The answer may belong to another request, so the list is read. An id from a list or from a person needs no
  // further check, because nothing is more certain.
  const isListed = decision.by === 'answer' && row.kind !== 'bom_item';
  return { kind: 'unconfirmed', nextLookAt: isListed ? tx.clock.now() : null, spend: isListed, reason };
}

function takenByOthersOf(tx: Tx, kinds: readonly SubjectKind[], items: readonly GivenId[]): number[] {
  const given = items.flatMap(({ id, given: remoteId }) => (remoteId === null ? [] : [{ id, remoteId }]));
  if (given.length === 0) return [];
  const ids = JSON.stringify(given.map(({ remoteId }) => remoteId));
  const rows = SQL.holders(tx).all({ kinds: JSON.stringify(kinds), ids });
  const holders = Map.groupBy(rows, ({ remoteId }) => remoteId);
  return given.flatMap(({ id, remoteId }) => {
    const others = holders.get(remoteId) ?? [];
    holders.set(remoteId, [...others, { id, remoteId }]);
    return others.some((other) => other.id !== id) ? [id] : [];
  });
}

/**
 * A person has said that a BOM item arrived, but a wrong answer has given its id to another BOM item. No write needs
 * the id of a BOM item, so the delivery ends without it.
 */
function withoutId(
  tx: Tx,
  { id, revision }: DeliveryRow,
  holder: Holder,
  decision: Extract<Decision, { kind: 'delivered' }>,
): Decision {
  const message = `The ledger has the id ${JSON.stringify(decision.remoteId)} for the ${kindWord(holder.kind)} ${holder.key}, so this item does not get the id.`;
  noteEvent(tx, id, revision, 'id_not_stored', { message });
  return { ...decision, remoteId: null };
}

/** True for an id, as JSON, that belongs to one item of all kinds. */
function isOfAllKinds(given: string | null): boolean {
  return given !== null && isIdOfAllKinds(JSON.parse(given) as JsonValue);
}

function sharedReason({ kind, key }: DeliveryRow, holder: Holder, remoteId: JsonValue): Reason {
  const noun = kindWord(kind);
  const message = `The id ${JSON.stringify(remoteId)} was given for the ${noun} ${key}, and the ${kindWord(holder.kind)} ${holder.key} has it already. An answer may have been mixed up. Find out at the platform which of the two has this id, and record the id with \`dpp-sync settle KEY --delivered --id ID\`. If the platform is another or an empty one, such as a sandbox that was started again, it needs a ledger of its own.`;
  return { code: 'shared_id', message };
}
