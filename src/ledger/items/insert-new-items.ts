import { hasRefs, type SubjectKind } from '../../domain/item.ts';
import type { Restored } from '../backup/restored.ts';
import type { AdoptedBom } from '../contact/adopted-bom.ts';
import { type Contact, kindCreatedBy } from '../contact/contact.ts';
import { reasonText } from '../deliveries/stored-reason.ts';
import type { LedgerContext } from '../store/context.ts';
import { createInsertMany, createNextId } from '../store/insert-many.ts';
import type { OwnedDesire } from './desired-item.ts';
import { HELD_CREATE, type HeldCreates } from './held-creates.ts';
import { nameOf } from './item-name.ts';
import { ITEM_COLUMNS, type ItemRow } from './item-row.ts';
import type { PartRefs } from './part-refs.ts';
import type { Staged } from './reconcile.ts';
import { refRow } from './ref-row.ts';

export interface NewItemsParts {
  contact: Pick<Contact, 'noticeCreates'>;
  adoptedBom: Pick<AdoptedBom, 'mayAsk'>;
  restored: Pick<Restored, 'isRestored'>;
  partRefs: Pick<PartRefs, 'appeared'>;
  reconcileItem: (item: ItemRow, again: boolean) => Staged;
  insertRefs: (rows: (string | number | null)[][]) => void;
  heldCreates: Pick<HeldCreates, 'holding' | 'add'>;
}

/**
 * Returns a function that inserts new items with their first revision, and returns what was staged for each item, in
 * the same order. Call the returned function inside a transaction.
 */
export function createInsertNewItems(
  { db, clock }: Pick<LedgerContext, 'db' | 'clock'>,
  { contact, adoptedBom, restored, partRefs, reconcileItem, insertRefs, heldCreates }: NewItemsParts,
): (desires: readonly OwnedDesire[]) => Staged[] {
  const nextId = createNextId(db, 'items');
  const insertItems = createInsertMany(db, { into: 'items', columns: NEW_COLUMNS });
  const sql = {
    byId: db.prepare<[number], ItemRow>(`SELECT ${ITEM_COLUMNS} FROM items WHERE id = ?`),
    // Mapping may end long after the run, so the time of the run counts as the time when an item appeared. The row of
    // an item that an upload corrects was in the source at the last read.
    runBeganAt: db
      .prepare<[string], number>(
        "SELECT started_at FROM runs WHERE source = +? AND cause <> 'upload' ORDER BY id DESC LIMIT 1",
      )
      .pluck(),
    arrived: db
      .prepare<[string, string], string>(
        `SELECT key FROM items WHERE kind = +? AND key IN (SELECT value FROM json_each(+?)) AND remote_id <> 'null'`,
      )
      .pluck(),
  };

  /** Inserts new items with their first revision. Each of these items will be written to the API. */
  function insertNew(desires: readonly OwnedDesire[]): Staged[] {
    if (desires.length === 0) return [];
    const now = clock.now();
    const began = new Map<string, number>();
    const arrived = arrivedRefs(desires);
    const holding = heldCreates.holding(desires.map(({ owner }) => owner.id));
    const rows: (string | number | null)[][] = [];
    const refs: (string | number | null)[][] = [];
    const first = nextId();
    const staged = desires.map(({ item, content, naturalKey, owner }, at): Staged => {
      const { kind, key } = item;
      const appearedAt = began.get(owner.source) ?? sql.runBeganAt.get(owner.source) ?? now;
      began.set(owner.source, appearedAt);
      const isHeld = holding.has(owner.id);
      const mayGo = !isHeld && item.refs.every((ref) => arrived.has(nameOf(ref)));
      const state = isSlow(kind) ? null : mayGo ? 'due' : 'waiting';
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
    insertItems(rows);
    insertRefs(refs);
    heldCreates.add(
      desires.flatMap(({ owner }, at) => {
        const streamId = holding.get(owner.id);
        return streamId === undefined ? [] : [{ itemId: first + at, streamId }];
      }),
    );
    noticeParts(desires);
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

  /** Records whose parts may be these new products or materials are mapped again. */
  function noticeParts(desires: readonly OwnedDesire[]): void {
    for (const [kind, ofKind] of Map.groupBy(desires, ({ item }) => item.kind)) {
      partRefs.appeared(
        kind,
        ofKind.map(({ item }) => item.key),
      );
    }
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

  return insertNew;
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
  'reason',
  'desired',
] as const;

const HELD_REASON = reasonText(HELD_CREATE);
