import { hasRefs, type Item, type ItemContent, type SubjectKind } from '../../domain/item.ts';
import type { NaturalKey } from '../../domain/natural-key.ts';
import type { Restored } from '../backup/restored.ts';
import type { AdoptedBom } from '../contact/adopted-bom.ts';
import { type Contact, kindCreatedBy } from '../contact/contact.ts';
import type { LedgerContext } from '../store/context.ts';
import { createInsertMany } from '../store/insert-many.ts';
import { createNextId } from '../store/next-id.ts';
import { createNameSet, nameOf } from './item-name.ts';
import { ITEM_COLUMNS, type ItemRow } from './item-row.ts';

/** The state of the delivery that was staged for an item; null if none was. */
export type Staged = 'due' | 'waiting' | 'blocked' | null;

/** The item that a record asks for, and the stored item. */
export interface DesiredItem {
  item: Item;
  content: ItemContent;
  naturalKey: NaturalKey | null;
  known: ItemRow | undefined;
}

/** The record that makes an item. */
export interface ItemOwner {
  id: number;
  source: string;
  missingSince: number | null;
}

/** One of many items that the records of a page ask for. */
export type OwnedDesire = DesiredItem & { owner: ItemOwner };

/** Stores the desired payloads of items, and stages the differences. */
export interface Desire {
  desire(desired: DesiredItem, owner: ItemOwner, again: boolean): Staged;
  /**
   * Stores many items at once; new ones with few statements. Returns what was staged for each item, in the same order.
   * `known` must be the present row of each item.
   */
  desireAll(desires: readonly OwnedDesire[], again: boolean): Staged[];
}

interface DesireParts {
  contact: Pick<Contact, 'noticeCreates'>;
  adoptedBom: Pick<AdoptedBom, 'mayAsk'>;
  restored: Pick<Restored, 'isRestored'>;
  find: (kind: SubjectKind, key: string) => ItemRow | undefined;
  reconcileItem: (item: ItemRow, again: boolean) => Staged;
}

/** Call each function inside a transaction. */
export function createDesire(
  { db, clock }: Pick<LedgerContext, 'db' | 'clock'>,
  { contact, adoptedBom, restored, find, reconcileItem }: DesireParts,
): Desire {
  const nextId = createNextId(db, 'items');
  const insertItems = createInsertMany(db, { into: 'items', columns: NEW_COLUMNS });
  const insertRefs = createInsertMany(db, { into: 'refs', columns: ['item_id', 'role', 'kind', 'key'] });
  const sql = {
    byId: db.prepare<[number], ItemRow>(`SELECT ${ITEM_COLUMNS} FROM items WHERE id = ?`),
    // Before the desired payload is replaced, the former one is stored if it is also the baseline or the payload of the
    // open revision. Up to now these were not stored twice.
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
    deleteRefs: db.prepare<[number]>('DELETE FROM refs WHERE item_id = ?'),
    // Mapping may end long after the run, so an item appears at the time of its run.
    runBeganAt: db
      .prepare<[string], number>('SELECT started_at FROM runs WHERE source = +? ORDER BY id DESC LIMIT 1')
      .pluck(),
    arrived: db
      .prepare<[string, string], string>(
        `SELECT key FROM items WHERE kind = +? AND key IN (SELECT value FROM json_each(+?)) AND remote_id <> 'null'`,
      )
      .pluck(),
  };

  function desireKnown({ item, content, naturalKey }: DesiredItem, known: ItemRow, owner: ItemOwner, again: boolean) {
    const asked = askedOf({ content, naturalKey }, owner);
    if (isSameAsk(known, asked)) return reconcileItem(known, again);
    if (known.desiredHash !== content.hash) {
      sql.deleteRefs.run(known.id);
      insertRefs(item.refs.map(({ role, kind, key }) => [known.id, role, kind, key]));
    }
    const changed = sql.update.get({ ...asked, id: known.id, source: owner.source });
    return changed === undefined ? null : reconcileItem(changed, again);
  }

  /** Inserts new items with their first revision. Each of them will be written to the API. */
  function insert(desires: readonly OwnedDesire[]): Staged[] {
    if (desires.length === 0) return [];
    const now = clock.now();
    const began = new Map<string, number>();
    const arrived = arrivedRefs(desires);
    const rows: (string | number | null)[][] = [];
    const refs: (string | number | null)[][] = [];
    const first = nextId();
    const staged = desires.map(({ item, content, naturalKey, owner }, at): Staged => {
      const { kind, key } = item;
      const appearedAt = began.get(owner.source) ?? sql.runBeganAt.get(owner.source) ?? now;
      began.set(owner.source, appearedAt);
      const state = isSlow(kind) ? null : item.refs.every((ref) => arrived.has(nameOf(ref))) ? 'due' : 'waiting';
      const begun = state === null ? null : now;
      rows.push([
        first + at,
        kind,
        key,
        naturalKey?.value ?? null,
        owner.id,
        owner.source,
        appearedAt,
        owner.missingSince,
        content.hash,
        begun === null ? 0 : 1,
        state,
        begun === null ? null : `${kind}.create`,
        begun,
        content.payload,
      ]);
      for (const ref of item.refs) refs.push([first + at, ref.role, ref.kind, ref.key]);
      return state;
    });
    insertItems(rows);
    insertRefs(refs);
    noticeCreates(desires, first);
    return staged.map((state, at) => {
      const row = state === null ? sql.byId.get(first + at) : undefined;
      return row === undefined ? state : reconcileItem(row, false);
    });
  }

  /** True if the first write of a new item depends on more than its refs. */
  const isSlow = (kind: SubjectKind): boolean => restored.isRestored || (kind === 'bom_item' && adoptedBom.mayAsk());

  /** The items that these items refer to and that have remote ids, by name. */
  function arrivedRefs(desires: readonly OwnedDesire[]): Set<string> {
    const refs = desires.flatMap(({ item }) => (hasRefs(item.kind) ? item.refs : []));
    const arrived = new Set<string>();
    for (const [kind, ofKind] of Map.groupBy(refs, (ref) => ref.kind)) {
      const keys = JSON.stringify([...new Set(ofKind.map(({ key }) => key))]);
      for (const key of sql.arrived.all(kind, keys)) arrived.add(nameOf({ kind, key }));
    }
    return arrived;
  }

  function noticeCreates(desires: readonly OwnedDesire[], first: number): void {
    const creates = desires.map(({ item, content }, at) => ({
      kind: isSlow(item.kind) ? undefined : kindCreatedBy(`${item.kind}.create`),
      itemId: first + at,
      desired: content.payload,
    }));
    for (const [kind, ofKind] of Map.groupBy(creates, (create) => create.kind)) {
      if (kind !== undefined) contact.noticeCreates(kind, ofKind);
    }
  }

  function desireAll(desires: readonly OwnedDesire[], again: boolean): Staged[] {
    const names = createNameSet();
    // A stored row that was read before is out of date when an earlier row of this page has changed the item.
    const isFirst = desires.map(({ item }) => names.add(item));
    const isNew = desires.map(({ known }, at) => known === undefined && isFirst[at] === true);
    const inserted = insert(desires.filter((_, at) => isNew[at])).values();
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

const NEW_COLUMNS = [
  'id',
  'kind',
  'key',
  'natural_key',
  'record_id',
  'source',
  'appeared_at',
  'missing_since',
  'desired_hash',
  'revision',
  'state',
  'operation',
  'staged_at',
  'desired',
] as const;

type Asked = Pick<ItemRow, 'desired' | 'desiredHash' | 'naturalKey' | 'recordId' | 'missingSince'>;

function askedOf(
  { content, naturalKey }: Pick<DesiredItem, 'content' | 'naturalKey'>,
  { id, missingSince }: ItemOwner,
): Asked {
  const { payload: desired, hash: desiredHash } = content;
  return { naturalKey: naturalKey?.value ?? null, recordId: id, missingSince, desired, desiredHash };
}

/** True if nothing changes for the item: the same record asks for the same payload. */
function isSameAsk(known: Asked, asked: Asked): boolean {
  return (
    known.desiredHash === asked.desiredHash &&
    known.naturalKey === asked.naturalKey &&
    known.recordId === asked.recordId &&
    known.missingSince === asked.missingSince
  );
}
