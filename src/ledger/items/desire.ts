// Stores the desired payloads of items, and stages the differences.

import { statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import type { DesiredItem, ItemOwner, OwnedDesire } from './desired-item.ts';
import { insertNewItems } from './insert-new-items.ts';
import { createNameSet } from './item-name.ts';
import { ITEM_COLUMNS, type ItemRow } from './item-row.ts';
import { findItem } from './items.ts';
import { hasPart } from './part-refs.ts';
import { reconcileItem, type Staged } from './reconcile.ts';
import { insertRefs, refRow } from './ref-row.ts';
import { removeReleased } from './released.ts';

const SQL = {
  // Before the desired payload is replaced, the former one is stored if it is also the baseline or the payload of the
  // open revision. As long as the payloads are the same, only one copy is stored.
  update: statement<[Asked & { id: number; source: string }], ItemRow>(
    `UPDATE items SET natural_key = @naturalKey, record_id = @recordId, source = @source, missing_since = @missingSince,
       acknowledged = CASE WHEN baseline_hash = @desiredHash THEN 1
         WHEN acknowledged = 1 AND desired_hash <> @desiredHash THEN 2 ELSE acknowledged END,
       baseline = CASE WHEN baseline_hash = @desiredHash THEN NULL
         WHEN acknowledged = 1 AND desired_hash <> @desiredHash THEN desired ELSE baseline END,
       baseline_hash = CASE WHEN baseline_hash = @desiredHash THEN NULL
         WHEN acknowledged = 1 AND desired_hash <> @desiredHash THEN desired_hash ELSE baseline_hash END,
       sent = CASE WHEN sent_hash = @desiredHash THEN NULL
         WHEN sent_hash IS NULL AND desired_hash <> @desiredHash AND state NOT IN ('delivered', 'superseded') THEN desired
         ELSE sent END,
       sent_hash = CASE WHEN sent_hash = @desiredHash THEN NULL
         WHEN desired_hash <> @desiredHash AND state IS NOT NULL THEN coalesce(sent_hash, desired_hash) ELSE sent_hash END,
       desired = @desired, desired_hash = @desiredHash
     WHERE id = @id RETURNING ${ITEM_COLUMNS}`,
  ),
  // A mapping that has changed from `component` or `material` to `part` does not change the content.
  markEither: statement<[number]>("UPDATE refs SET either = 1 WHERE item_id = ? AND role <> 'product' AND either = 0"),
  deleteRefs: statement<[number]>('DELETE FROM refs WHERE item_id = ?'),
};

/**
 * Stores many items at once. Few statements store all new items. Returns what was staged for each item, in the same
 * order. `known` must be the present row of each item.
 */
export function desireItems(tx: Tx, desires: readonly OwnedDesire[], again: boolean): Staged[] {
  const names = createNameSet();
  // If an earlier row of this page has changed the item, the item that was read before is out of date.
  const isFirst = desires.map(({ item }) => names.add(item));
  const isNew = desires.map(({ known }, at) => known === undefined && isFirst[at] === true);
  const inserted = insertNewItems(
    tx,
    desires.filter((_, at) => isNew[at]),
  ).values();
  return desires.map((desire, at) => {
    if (isNew[at]) return inserted.next().value ?? null;
    const { kind, key } = desire.item;
    const known = isFirst[at] ? desire.known : findItem(tx, kind, key);
    return known === undefined ? null : desireKnown(tx, desire, known, desire.owner, again);
  });
}

export function desireItem(tx: Tx, desired: DesiredItem, owner: ItemOwner, again: boolean): Staged {
  return desireItems(tx, [{ ...desired, owner }], again)[0] ?? null;
}

function desireKnown(
  tx: Tx,
  { item, content, naturalKey }: DesiredItem,
  known: ItemRow,
  owner: ItemOwner,
  again: boolean,
) {
  const asked = askedOf({ content, naturalKey }, owner);
  if (known.desiredHash === content.hash && hasPart(item)) SQL.markEither(tx).run(known.id);
  if (isSameAsk(known, asked)) return reconcileItem(tx, known, again);
  if (known.desiredHash !== content.hash) {
    SQL.deleteRefs(tx).run(known.id);
    insertRefs(
      tx,
      item.refs.map((ref) => refRow(known.id, ref)),
    );
  }
  if (known.recordId === null) removeReleased(tx, known.id);
  const changed = SQL.update(tx).get({ ...asked, id: known.id, source: owner.source });
  return changed === undefined ? null : reconcileItem(tx, changed, again);
}

type Asked = Pick<ItemRow, 'desired' | 'desiredHash' | 'naturalKey' | 'recordId' | 'missingSince'>;

function askedOf(
  { content, naturalKey }: Pick<DesiredItem, 'content' | 'naturalKey'>,
  { id, missingSince }: ItemOwner,
): Asked {
  const { payload: desired, hash: desiredHash } = content;
  return { naturalKey: naturalKey?.value ?? null, recordId: id, missingSince, desired, desiredHash };
}

/** True if the same record asks for the same payload, so that nothing changes for the item. */
function isSameAsk(known: Asked, asked: Asked): boolean {
  return (
    known.desiredHash === asked.desiredHash &&
    known.naturalKey === asked.naturalKey &&
    known.recordId === asked.recordId &&
    known.missingSince === asked.missingSince
  );
}
