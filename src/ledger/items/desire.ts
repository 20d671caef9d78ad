// Stores the desired payloads of items, and stages the differences.

import { hasRefs, type Item, type ItemContent, type SubjectKind } from '../../domain/item.ts';
import type { NaturalKey } from '../../domain/natural-key.ts';
import { kindCreatedBy, mayAskAboutParts, noticeCreates } from '../contact/contact.ts';
import { column, insertMany, nextId, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { createNameSet, findItem, ITEM_COLUMNS, type ItemRow, nameOf, reasonText } from './item-row.ts';
import { reconcileItem, type Staged } from './reconcile.ts';
import { addHeldCreates, HELD_CREATE, hasPart, heldStreamsOf, insertRefs, refRow, requeueForParts } from './refs.ts';
import { isRestored } from './restored.ts';
import { removeReleased } from './revisions.ts';

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
  byId: statement<[number], ItemRow>(`SELECT ${ITEM_COLUMNS} FROM items WHERE id = ?`),
  // Mapping may end long after the run, so the time of the run counts as the time when an item appeared. The row of
  // an item that an upload corrects was in the source at the last read.
  runBeganAt: column<[string], number>(
    "SELECT started_at FROM runs WHERE source = +? AND cause <> 'upload' ORDER BY id DESC LIMIT 1",
  ),
  arrived: column<[string, string], string>(
    `SELECT key FROM items WHERE kind = +? AND key IN (SELECT value FROM json_each(+?)) AND remote_id <> 'null'`,
  ),
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

const insertItems = insertMany({
  into: 'items',
  columns: [
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
    'reason',
    'desired',
  ],
});

/**
 * Inserts new items with their first revision. Each of these items will be written to the API. Returns what was staged
 * for each item, in the same order.
 */
function insertNewItems(tx: Tx, desires: readonly OwnedDesire[]): Staged[] {
  if (desires.length === 0) return [];
  const now = tx.clock.now();
  const began = new Map<string, number>();
  const arrived = arrivedRefs(tx, desires);
  const holding = heldStreamsOf(
    tx,
    desires.map(({ owner }) => owner.id),
  );
  const rows: (string | number | null)[][] = [];
  const refs: (string | number | null)[][] = [];
  const first = nextId(tx, 'items');
  const staged = desires.map(({ item, content, naturalKey, owner }, at): Staged => {
    const { kind, key } = item;
    const appearedAt = began.get(owner.source) ?? SQL.runBeganAt(tx).get(owner.source) ?? now;
    began.set(owner.source, appearedAt);
    const isHeld = holding.has(owner.id);
    const mayGo = !isHeld && item.refs.every((ref) => arrived.has(nameOf(ref)));
    const state = isSlow(tx, kind) ? null : mayGo ? 'due' : 'waiting';
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
      isHeld && state !== null ? HELD_REASON : null,
      content.payload,
    ]);
    for (const ref of item.refs) refs.push(refRow(first + at, ref));
    return state;
  });
  insertItems(tx, rows);
  insertRefs(tx, refs);
  addHeldCreates(
    tx,
    desires.flatMap(({ owner }, at) => {
      const streamId = holding.get(owner.id);
      return streamId === undefined ? [] : [{ itemId: first + at, streamId }];
    }),
  );
  noticeParts(tx, desires);
  noticeNewCreates(tx, desires, first);
  return staged.map((state, at) => {
    const row = state === null ? SQL.byId(tx).get(first + at) : undefined;
    return row === undefined ? state : reconcileItem(tx, row, false);
  });
}

/** True if the first write of a new item depends on more than its refs. */
function isSlow(tx: Tx, kind: SubjectKind): boolean {
  return isRestored(tx) || (kind === 'bom_item' && mayAskAboutParts(tx));
}

/** The items that these items refer to and that have remote ids, by name. */
function arrivedRefs(tx: Tx, desires: readonly OwnedDesire[]): Set<string> {
  const refs = desires.flatMap(({ item }) => (hasRefs(item.kind) ? item.refs : []));
  const arrived = new Set<string>();
  for (const [kind, ofKind] of Map.groupBy(refs, (ref) => ref.kind)) {
    const keys = JSON.stringify([...new Set(ofKind.map(({ key }) => key))]);
    for (const key of SQL.arrived(tx).all(kind, keys)) arrived.add(nameOf({ kind, key }));
  }
  return arrived;
}

/** Records whose parts may be these new products or materials are mapped again. */
function noticeParts(tx: Tx, desires: readonly OwnedDesire[]): void {
  for (const [kind, ofKind] of Map.groupBy(desires, ({ item }) => item.kind)) {
    requeueForParts(
      tx,
      kind,
      ofKind.map(({ item }) => item.key),
    );
  }
}

function noticeNewCreates(tx: Tx, desires: readonly OwnedDesire[], first: number): void {
  const creates = desires.map(({ item, content }, at) => ({
    kind: isSlow(tx, item.kind) ? undefined : kindCreatedBy(`${item.kind}.create`),
    itemId: first + at,
    desired: content.payload,
  }));
  for (const [kind, ofKind] of Map.groupBy(creates, (create) => create.kind)) {
    if (kind !== undefined) noticeCreates(tx, kind, ofKind);
  }
}

const HELD_REASON = reasonText(HELD_CREATE);
