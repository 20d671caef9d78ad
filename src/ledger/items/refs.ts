// What a new delivery waits for: the remote ids of the items that it refers to, or the decision of the guard.

import type { Operation } from '../../domain/delivery/operation.ts';
import type { Reason } from '../../domain/delivery/stored-reason.ts';
import type { Issue } from '../../domain/issue.ts';
import { hasRefs, type Item, type ItemKind, type ItemRef } from '../../domain/item.ts';
import { column, insertMany, type Reads, statement, type Tx } from '../store/tx.ts';
import { type ItemName, type ItemRow, mayHaveArrived } from './item-row.ts';
import { markUnconfirmedIfRestored, move } from './revisions.ts';

/** The kinds that a part can be, with the role of a ref to each kind. */
const ROLES = { product: 'component', material: 'material' } as const;
type PartKind = keyof typeof ROLES;

/** The owner of parts whose kinds have to be decided. */
interface PartOwner {
  /** The record that makes the item with these parts. */
  recordId: number;
  /** The item in the ledger; undefined for a new item. */
  known: ItemRow | undefined;
  /** True if the record still makes the item. Items that it no longer makes do not count as parts. */
  isMade: (name: ContestedPart) => boolean;
}

interface ContestedPart {
  kind: PartKind;
  key: string;
}

/** A product or material that a part may be. */
interface PartCandidate {
  kind: PartKind;
  key: string;
  isPresent: 0 | 1;
  recordId: number | null;
}

/** What the ledger knows of the parts of some items: the items with their keys, and the refs of items that were sent. */
interface KnownParts {
  candidates: ReadonlyMap<string, readonly PartCandidate[]>;
  stored: ReadonlyMap<number, readonly { key: string; kind: PartKind }[]>;
}

/** True if the item has a ref to a part without a kind. */
export function hasPart({ refs }: Pick<Item, 'refs'>): boolean {
  return refs.some(({ either }) => either === true);
}

interface ReadyRow {
  id: number;
  revision: number;
  operation: Operation;
  place: number;
}

const insertHeldCreates = insertMany({ into: 'held_creates', columns: ['item_id', 'stream_id'] });

const SQL = {
  candidates: statement<[string], PartCandidate>(
    `SELECT i.kind, i.key, i.missing_since IS NULL AND i.record_id IS NOT NULL AS isPresent, i.record_id AS recordId
     FROM json_each(?) k CROSS JOIN items i ON i.kind IN ('product', 'material') AND i.key = k.value ORDER BY i.kind, i.key`,
  ),
  stored: statement<[string], { itemId: number; key: string; kind: PartKind }>(
    `SELECT f.item_id AS itemId, f.key, f.kind FROM json_each(?) k CROSS JOIN refs f ON f.item_id = k.value WHERE f.role <> 'product'`,
  ),
  any: column<[], number>('SELECT 1 FROM refs WHERE either = 1 LIMIT 1'),
  // BOM items that the platform has are left out, because no write changes a BOM item.
  requeue: statement<[{ kind: string; keys: string }]>(
    `UPDATE records SET state = 'pending', version = version + 1
     WHERE state IN ('mapped', 'quarantined') AND missing_since IS NULL AND id IN (
       SELECT i.record_id FROM json_each(@keys) k CROSS JOIN refs f ON f.key = k.value AND f.either = 1
       JOIN items i ON i.id = f.item_id WHERE f.kind <> @kind AND i.acknowledged = 0)`,
  ),
  anyHeldCreates: column<[], number>('SELECT 1 FROM streams WHERE holds_creates > 0 LIMIT 1'),
  holding: statement<[string], { recordId: number; streamId: number }>(
    `SELECT r.id AS recordId, r.stream_id AS streamId FROM records r JOIN streams s ON s.id = r.stream_id
     WHERE r.id IN (SELECT value FROM json_each(?)) AND s.holds_creates > 0`,
  ),
  held: column<[string], number>('SELECT item_id FROM held_creates WHERE item_id IN (SELECT value FROM json_each(?))'),
  newRecords: column<[number], number>(
    `SELECT DISTINCT i.record_id FROM held_creates h CROSS JOIN items i ON i.id = h.item_id
     WHERE h.stream_id = ? AND i.record_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM items o
       WHERE o.record_id = i.record_id AND o.id NOT IN (SELECT item_id FROM held_creates))`,
  ),
  newAmong: column<[string], number>(
    `SELECT DISTINCT i.record_id FROM json_each(?) k CROSS JOIN items i ON i.record_id = k.value
     WHERE NOT EXISTS (SELECT 1 FROM items o WHERE o.record_id = i.record_id AND o.id NOT IN (SELECT item_id FROM held_creates))`,
  ),
  keys: column<[number, string, number], string>(
    `SELECT i.key FROM held_creates h CROSS JOIN items i ON i.id = h.item_id
     WHERE h.stream_id = ? AND i.kind = ? ORDER BY h.item_id LIMIT ?`,
  ),
  count: column<[number, string], number>(
    `SELECT count(*) FROM held_creates h CROSS JOIN items i ON i.id = h.item_id WHERE h.stream_id = ? AND i.kind = ?`,
  ),
  anyWaiting: column<[], number>("SELECT 1 FROM items WHERE state = 'waiting' LIMIT 1"),
  // Waiting items that refer to one of these items and whose refs all have remote ids now.
  ready: statement<[{ kind: string; keys: string }], ReadyRow>(
    `SELECT w.id, w.revision, w.operation, min(k.key) AS place FROM json_each(@keys) k
     CROSS JOIN refs ON refs.kind = @kind AND refs.key = k.value
     CROSS JOIN items w ON w.id = refs.item_id AND w.state = 'waiting'
     WHERE w.id NOT IN (SELECT item_id FROM held_creates) AND NOT EXISTS (SELECT 1 FROM refs other LEFT JOIN items t ON t.kind = other.kind AND t.key = other.key
       WHERE other.item_id = w.id AND nullif(t.remote_id, 'null') IS NULL)
     GROUP BY w.id ORDER BY w.id`,
  ),
  lacking: column<[string], number>(
    `SELECT DISTINCT refs.item_id FROM json_each(?) listed CROSS JOIN refs ON refs.item_id = listed.value
     LEFT JOIN items ON items.kind = refs.kind AND items.key = refs.key WHERE nullif(items.remote_id, 'null') IS NULL`,
  ),
};

/** A ref as a row of the table. */
export function refRow(itemId: number, { role, kind, key, either }: ItemRef): (string | number)[] {
  return [itemId, role, kind, key, either === true ? 1 : 0];
}

export const insertRefs = insertMany({ into: 'refs', columns: ['item_id', 'role', 'kind', 'key', 'either'] });

// A ref may name a part that is a material or a component. Only the ledger knows which of them has the key. So it decides
// when a record is staged, and again when a new item with the key appears.

/** Reads what `resolveParts` has to know about these items. */
export function findParts(tx: Tx, items: readonly { item: Item; known: ItemRow | undefined }[]): KnownParts {
  const withParts = items.filter(({ item }) => hasPart(item));
  if (withParts.length === 0) return { candidates: new Map(), stored: new Map() };
  const keys = withParts.flatMap(({ item }) => item.refs.flatMap(({ either, key }) => (either === true ? key : [])));
  const ids = withParts.flatMap(({ known }) => (known !== undefined && isSettled(known) ? known.id : []));
  const refs = ids.length === 0 ? [] : SQL.stored(tx).all(JSON.stringify(ids));
  return {
    candidates: Map.groupBy(SQL.candidates(tx).all(JSON.stringify([...new Set(keys)])), ({ key }) => key),
    stored: Map.groupBy(refs, ({ itemId }) => itemId),
  };
}

/** True for an item that the platform has or may have received. */
function isSettled(known: ItemRow): boolean {
  return known.acknowledged !== 0 || mayHaveArrived(known);
}

/**
 * Decides of which kind the parts of an item are. A part whose item does not exist yet counts as a component, and
 * waits. The issues are about parts that are both a product and a material; `contested` names these parts.
 */
export function resolveParts(
  parts: KnownParts,
  item: Item,
  of: PartOwner,
): { item: Item; issues: Issue[]; contested: ContestedPart[] } {
  const issues: Issue[] = [];
  const contested: ContestedPart[] = [];
  const refs = item.refs.map((ref): ItemRef => {
    if (ref.either !== true) return ref;
    const settled = settledKind(parts, ref, of);
    const [kind = 'product', other] = settled === undefined ? kindsOf(parts, ref, item, of) : [settled];
    if (other === undefined) return { role: ROLES[kind], kind, key: ref.key, either: true };
    issues.push(bothIssue(ref));
    contested.push({ kind, key: ref.key }, { kind: other, key: ref.key });
    return ref;
  });
  return { item: { ...item, refs }, issues, contested };
}

/** Makes records wait for another mapping if their parts may be these new items. */
export function requeueForParts(tx: Tx, kind: ItemKind, keys: readonly string[]): void {
  if ((kind !== 'product' && kind !== 'material') || keys.length === 0 || SQL.any(tx).get() === undefined) return;
  SQL.requeue(tx).run({ kind, keys: JSON.stringify(keys) });
}

function kindsOf(parts: KnownParts, { key }: ItemRef, item: Item, { recordId, isMade }: PartOwner): PartKind[] {
  // A product is not a part of itself, so a part with the product's key is a material.
  if (item.refs.some((ref) => ref.role === 'product' && ref.key === key)) return ['material'];
  const isLeft = (one: { kind: PartKind; recordId: number | null }) =>
    one.recordId === recordId && !isMade({ kind: one.kind, key });
  const found = (parts.candidates.get(key) ?? []).filter((one) => !isLeft(one));
  const present = found.filter(({ isPresent }) => isPresent === 1);
  return (present.length > 0 ? present : found).map(({ kind }) => kind);
}

/**
 * The kind that was already sent; undefined if nothing was sent. It is not decided again for an item that the
 * platform has or may have received.
 */
function settledKind(parts: KnownParts, { key }: ItemRef, { known }: PartOwner): PartKind | undefined {
  if (known === undefined || !isSettled(known)) return undefined;
  return parts.stored.get(known.id)?.find((ref) => ref.key === key)?.kind;
}

function bothIssue({ key }: ItemRef): Issue {
  return {
    code: 'refs.ambiguous',
    field: 'refs.part',
    value: key,
    message: `There are both a product and a material with the key ${JSON.stringify(key)}, so it is unknown whether the part is the product or the material.`,
    cure: 'Name the part under refs.component or refs.material, or give the product or the material another key.',
  };
}

// New items of streams that were read before. Their creates wait until the guard has decided whether the items that the
// stream had are gone.

/** Why the create of a new item waits for the guard. */
export const HELD_CREATE: Reason = {
  code: 'guarded',
  message:
    'The item is new, and its stream had other items before. It is created when the read has shown that these are not gone.',
};

/** Of these records, those whose new items have to wait, with their streams. */
export function heldStreamsOf(tx: Tx, recordIds: readonly number[]): ReadonlyMap<number, number> {
  if (SQL.anyHeldCreates(tx).get() === undefined) return new Map();
  const rows = SQL.holding(tx).all(JSON.stringify([...new Set(recordIds)]));
  return new Map(rows.map(({ recordId, streamId }) => [recordId, streamId]));
}

export function addHeldCreates(tx: Tx, creates: readonly { itemId: number; streamId: number }[]): void {
  if (creates.length > 0)
    insertHeldCreates(
      tx,
      creates.map(({ itemId, streamId }) => [itemId, streamId]),
    );
}

/** Of these items, those whose creates are held. */
export function heldCreatesAmong(tx: Tx, itemIds: readonly number[]): Set<number> {
  return new Set(itemIds.length === 0 ? [] : SQL.held(tx).all(JSON.stringify(itemIds)));
}

/** The records that make nothing but held creates: the stream did not have them before. */
export function newRecordsOf(reads: Reads, streamId: number): Set<number> {
  return new Set(SQL.newRecords(reads).all(streamId));
}

/** Those of these records that make nothing but held creates. */
export function newRecordsAmong(reads: Reads, recordIds: readonly number[]): Set<number> {
  return new Set(recordIds.length === 0 ? [] : SQL.newAmong(reads).all(JSON.stringify(recordIds)));
}

/** The keys of the held creates, by kind. At most `limit` keys. */
export function heldKeysOf(tx: Tx, streamId: number, kind: string, limit: number): string[] {
  return SQL.keys(tx).all(streamId, kind, limit);
}

/** How many creates of a kind are held. */
export function countHeldCreates(tx: Tx, streamId: number, kind: string): number {
  return SQL.count(tx).get(streamId, kind) ?? 0;
}

// Makes deliveries due that waited for the remote ids of items.

/** Returns how many deliveries became due for each item, in the same order. A delivery is counted once. */
export function releaseWaiting(tx: Tx, arrived: readonly ItemName[]): number[] {
  const released = arrived.map(() => 0);
  if (arrived.length === 0 || SQL.anyWaiting(tx).get() === undefined) return released;
  const places = arrived.map(({ kind, key }, place) => ({ kind, key, place }));
  for (const [kind, ofKind] of Map.groupBy(places, (one) => one.kind)) {
    // No item refers to an item of this kind.
    if (hasRefs(kind)) continue;
    const ready = SQL.ready(tx).all({ kind, keys: JSON.stringify(ofKind.map(({ key }) => key)) });
    const unconfirmed = makeDue(tx, ready);
    for (const { id, place } of ready) {
      const at = ofKind[place]?.place ?? 0;
      if (!unconfirmed.has(id)) released[at] = (released[at] ?? 0) + 1;
    }
  }
  return released;
}

/** Makes waiting deliveries due whose refs have arrived. Returns the items whose deliveries have to be looked up first. */
export function makeDue(
  tx: Tx,
  waiting: readonly { id: number; revision: number; operation: Operation }[],
): ReadonlySet<number> {
  move(
    tx,
    waiting.map(({ id }) => ({ id, state: 'waiting' as const })),
    'refs_arrived',
    {},
  );
  return markUnconfirmedIfRestored(tx, waiting);
}

/** Of these items, those that refer to an item without a remote id. */
export function itemsWithoutRefs(tx: Tx, itemIds: readonly number[]): Set<number> {
  return new Set(itemIds.length === 0 ? [] : SQL.lacking(tx).all(JSON.stringify(itemIds)));
}
