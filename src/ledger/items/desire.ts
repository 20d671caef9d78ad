import type { SubjectKind } from '../../domain/item.ts';
import type { LedgerContext } from '../store/context.ts';
import { createInsertMany } from '../store/insert-many.ts';
import type { DesiredItem, ItemOwner, OwnedDesire } from './desired-item.ts';
import { createInsertNewItems, type NewItemsParts } from './insert-new-items.ts';
import { createNameSet } from './item-name.ts';
import { ITEM_COLUMNS, type ItemRow } from './item-row.ts';
import { hasPart } from './part-refs.ts';
import type { Staged } from './reconcile.ts';
import { refRow } from './ref-row.ts';
import type { Released } from './released.ts';

/** Stores the desired payloads of items, and stages the differences. */
export interface Desire {
  desire(desired: DesiredItem, owner: ItemOwner, again: boolean): Staged;
  /**
   * Stores many items at once. Few statements store all new items. Returns what was staged for each item, in the same
   * order. `known` must be the present row of each item.
   */
  desireAll(desires: readonly OwnedDesire[], again: boolean): Staged[];
}

interface DesireParts extends Omit<NewItemsParts, 'insertRefs'> {
  find: (kind: SubjectKind, key: string) => ItemRow | undefined;
  released: Pick<Released, 'remove'>;
}

/** Call each function inside a transaction. */
export function createDesire(
  { db, clock }: Pick<LedgerContext, 'db' | 'clock'>,
  { find, released, ...parts }: DesireParts,
): Desire {
  const { reconcileItem } = parts;
  const insertRefs = createInsertMany(db, { into: 'refs', columns: ['item_id', 'role', 'kind', 'key', 'either'] });
  const insertNew = createInsertNewItems({ db, clock }, { ...parts, insertRefs });
  const sql = {
    // Before the desired payload is replaced, the former one is stored if it is also the baseline or the payload of the
    // open revision. As long as the payloads are the same, only one copy is stored.
    update: db.prepare<[Asked & { id: number; source: string }], ItemRow>(
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
    markEither: db.prepare<[number]>(
      "UPDATE refs SET either = 1 WHERE item_id = ? AND role <> 'product' AND either = 0",
    ),
    deleteRefs: db.prepare<[number]>('DELETE FROM refs WHERE item_id = ?'),
  };

  function desireKnown({ item, content, naturalKey }: DesiredItem, known: ItemRow, owner: ItemOwner, again: boolean) {
    const asked = askedOf({ content, naturalKey }, owner);
    if (known.desiredHash === content.hash && hasPart(item)) sql.markEither.run(known.id);
    if (isSameAsk(known, asked)) return reconcileItem(known, again);
    if (known.desiredHash !== content.hash) {
      sql.deleteRefs.run(known.id);
      insertRefs(item.refs.map((ref) => refRow(known.id, ref)));
    }
    if (known.recordId === null) released.remove(known.id);
    const changed = sql.update.get({ ...asked, id: known.id, source: owner.source });
    return changed === undefined ? null : reconcileItem(changed, again);
  }

  function desireAll(desires: readonly OwnedDesire[], again: boolean): Staged[] {
    const names = createNameSet();
    // If an earlier row of this page has changed the item, the item that was read before is out of date.
    const isFirst = desires.map(({ item }) => names.add(item));
    const isNew = desires.map(({ known }, at) => known === undefined && isFirst[at] === true);
    const inserted = insertNew(desires.filter((_, at) => isNew[at])).values();
    return desires.map((desire, at) => {
      if (isNew[at]) return inserted.next().value ?? null;
      const { kind, key } = desire.item;
      const known = isFirst[at] ? desire.known : find(kind, key);
      return known === undefined ? null : desireKnown(desire, known, desire.owner, again);
    });
  }

  return {
    desireAll,
    desire(desired, owner, again) {
      return desireAll([{ ...desired, owner }], again)[0] ?? null;
    },
  };
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
