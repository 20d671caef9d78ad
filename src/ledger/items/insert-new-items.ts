import { hasRefs, type SubjectKind } from '../../domain/item.ts';
import { isRestored } from '../backup/restored.ts';
import { kindCreatedBy, mayAskAboutParts, noticeCreates } from '../contact/contact.ts';
import { reasonText } from '../deliveries/stored-reason.ts';
import { insertMany, nextId } from '../store/insert-many.ts';
import { column, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import type { OwnedDesire } from './desired-item.ts';
import { addHeldCreates, HELD_CREATE, heldStreamsOf } from './held-creates.ts';
import { nameOf } from './item-name.ts';
import { ITEM_COLUMNS, type ItemRow } from './item-row.ts';
import { requeueForParts } from './part-refs.ts';
import { reconcileItem, type Staged } from './reconcile.ts';
import { insertRefs, refRow } from './ref-row.ts';

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

const SQL = {
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
 * Inserts new items with their first revision. Each of these items will be written to the API. Returns what was staged
 * for each item, in the same order.
 */
export function insertNewItems(tx: Tx, desires: readonly OwnedDesire[]): Staged[] {
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
