// Stores the desired payloads of items, and stages the differences.

import { hasRefs, type Item, type ItemContent, type SubjectKind } from '../../domain/item.ts';
import type { NaturalKey } from '../../domain/natural-key.ts';
import { kindCreatedBy, noticeCreates } from '../contact/contact.ts';
import { column, nextId, statement, type Tx, updateMany } from '../store/tx.ts';
import { createNameSet, findItems, type ItemRow, isOpenState, itemsById, nameOf, reasonText } from './item-row.ts';
import { mayAskAboutParts } from './parts.ts';
import { reconcileAll, reconcileItems, type Staged, type StagedItems } from './reconcile.ts';
import { addHeldCreates, HELD_CREATE, hasPart, heldStreamsOf, insertRefs, refRow, requeueForParts } from './refs.ts';
import { isRestored } from './restored.ts';
import { insertItems, removeReleased } from './revisions.ts';

const SQL = {
  // A mapping that has changed from `component` or `material` to `part` does not change the content.
  markEither: statement<[string]>(
    `UPDATE refs SET either = 1 WHERE item_id IN (SELECT value FROM json_each(?)) AND role <> 'product' AND either = 0`,
  ),
  // A passport has the source of its product, whichever source makes the product by now.
  movePassports: statement<[string]>(
    `UPDATE items SET source = p.source FROM items p
     WHERE items.kind = 'passport' AND items.key IN (SELECT value FROM json_each(?)) AND p.kind = 'product' AND p.key = items.key`,
  ),
  deleteRefs: statement<[string]>('DELETE FROM refs WHERE item_id IN (SELECT value FROM json_each(?))'),
  // Mapping may end long after the run, so the time of the run counts as the time when an item appeared. The row of
  // an item that an upload corrects was in the source at the last read.
  runBeganAt: column<[string], number>(
    "SELECT started_at FROM runs WHERE source = +? AND cause <> 'upload' ORDER BY id DESC LIMIT 1",
  ),
  arrived: column<[string, string], string>(
    `SELECT key FROM items WHERE kind = +? AND key IN (SELECT value FROM json_each(+?)) AND remote_id <> 'null'`,
  ),
};

const storeDesired = updateMany({
  table: 'items',
  values: {
    natural_key: 'TEXT',
    record_id: 'INTEGER',
    source: 'TEXT',
    missing_since: 'INTEGER',
    acknowledged: 'INTEGER',
    baseline: 'TEXT',
    baseline_hash: 'TEXT',
    sent: 'TEXT',
    sent_hash: 'TEXT',
    desired: 'TEXT',
    desired_hash: 'TEXT',
  },
});

/**
 * Stores the items that the records of a page ask for, with few statements for all of them. Returns what was staged for each item,
 * in the same order. `known` is the row of each item that the ledger had when the batch began.
 */
export function desireItems(tx: Tx, desired: readonly OwnedDesire[], again: boolean): Staged[] {
  const desires = asStored(tx, desired);
  const names = createNameSet();
  const isFirst = desires.map(({ item }) => names.add(item));
  const firsts = desires.filter((_, at) => isFirst[at]);
  const inserted = insertNewItems(
    tx,
    firsts.filter(({ known }) => known === undefined),
  ).values();
  const changed = desireKnown(tx, firsts, again);
  const staged = firsts.map(({ known }) =>
    known === undefined ? (inserted.next().value ?? null) : (changed.get(known.id) ?? null),
  );
  if (firsts.length === desires.length) return staged;
  // An earlier row of this page has changed the other items, so they are read again.
  const others = desires.filter((_, at) => !isFirst[at]);
  const present = findItems(
    tx,
    others.map(({ item }) => item),
  );
  const later = desireItems(
    tx,
    others.map((desire) => ({ ...desire, known: present.get(nameOf(desire.item)) })),
    again,
  ).values();
  const first = staged.values();
  return isFirst.map((is) => (is ? first : later).next().value ?? null);
}

/** The desires with the present rows of their items: what the batch has released or kept before may have changed or removed them. */
function asStored(tx: Tx, desires: readonly OwnedDesire[]): OwnedDesire[] {
  const rows = itemsById(
    tx,
    desires.flatMap(({ known }) => known?.id ?? []),
  );
  const stored = new Map(rows.map((row) => [row.id, row]));
  return desires.map((desire) => ({ ...desire, known: desire.known && stored.get(desire.known.id) }));
}

/** Stores what is desired of items that are in the ledger. */
function desireKnown(tx: Tx, desires: readonly OwnedDesire[], again: boolean): StagedItems {
  const asks = desires.flatMap((desire) =>
    desire.known === undefined ? [] : [{ ...desire, known: desire.known, asked: askedOf(desire, desire.owner) }],
  );
  const idsOf = (some: typeof asks): number[] => some.map(({ known }) => known.id);
  const same = asks.filter(({ known, content }) => known.desiredHash === content.hash);
  const parts = same.filter(({ item }) => hasPart(item));
  if (parts.length > 0) SQL.markEither(tx).run(JSON.stringify(idsOf(parts)));
  const others = asks.filter(({ known, content }) => known.desiredHash !== content.hash);
  // The refs of an item are a part of its content.
  const withRefs = others.filter(({ item }) => hasRefs(item.kind));
  if (withRefs.length > 0) {
    SQL.deleteRefs(tx).run(JSON.stringify(idsOf(withRefs)));
    insertRefs(
      tx,
      withRefs.flatMap(({ known, item }) => item.refs.map((ref) => refRow(known.id, ref))),
    );
  }
  const changed = asks.filter(({ known, asked }) => !isSameAsk(known, asked));
  removeReleased(tx, idsOf(changed.filter(({ known }) => known.recordId === null)));
  const present = new Map(
    changed.map(({ known, owner, asked }) => [known.id, withDesired(known, { ...asked, source: owner.source })]),
  );
  storeDesired(
    tx,
    Array.from(present.values(), (item) => [
      item.id,
      item.naturalKey,
      item.recordId,
      item.source,
      item.missingSince,
      item.acknowledged,
      item.baseline,
      item.baselineHash,
      item.sent,
      item.sentHash,
      item.desired,
      item.desiredHash,
    ]),
  );
  const moved = changed.filter(({ known, owner }) => known.kind === 'product' && known.source !== owner.source);
  if (moved.length > 0) SQL.movePassports(tx).run(JSON.stringify(moved.map(({ known }) => known.key)));
  const items = asks.map(({ known }) => present.get(known.id) ?? known);
  return items.length === 0 ? new Map() : reconcileItems(tx, items, { again });
}

/**
 * The item with another desired payload. The former one is kept if it is also the baseline or the payload of the open revision: as
 * long as the payloads are the same, only one copy is stored.
 */
function withDesired(item: ItemRow, asked: Asked & Pick<ItemRow, 'source'>): ItemRow {
  const next = { ...item, ...asked };
  const changes = item.desiredHash !== asked.desiredHash;
  if (item.baselineHash === asked.desiredHash) {
    next.acknowledged = 1;
    next.baseline = null;
    next.baselineHash = null;
  } else if (item.acknowledged === 1 && changes) {
    next.acknowledged = 2;
    next.baseline = item.desired;
    next.baselineHash = item.desiredHash;
  }
  if (item.sentHash === asked.desiredHash) {
    next.sent = null;
    next.sentHash = null;
  } else if (item.state !== null && item.sentHash === null && changes) {
    if (isOpenState(item.state)) next.sent = item.desired;
    next.sentHash = item.desiredHash;
  }
  return next;
}

type Asked = Pick<ItemRow, 'desired' | 'desiredHash' | 'naturalKey' | 'recordId' | 'missingSince'>;

function askedOf({ content, naturalKey }: DesiredItem, { id, missingSince }: ItemOwner): Asked {
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
interface DesiredItem {
  item: Item;
  content: ItemContent;
  naturalKey: NaturalKey | null;
  known: ItemRow | undefined;
}

/** The record that makes an item. */
interface ItemOwner {
  id: number;
  source: string;
  missingSince: number | null;
}

/** One of many items that the records of a page ask for. */
export type OwnedDesire = DesiredItem & { owner: ItemOwner };

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
  const slow = reconcileAll(
    tx,
    staged.flatMap((state, at) => (state === null ? [first + at] : [])),
  );
  return staged.map((state, at) => state ?? slow.get(first + at) ?? null);
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
