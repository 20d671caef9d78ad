// Refs to a part that may be a material or a component. Only the ledger knows which of them has the key. So it decides
// when a record is staged, and again when a new item with the key appears.

import type { Issue } from '../../domain/issue.ts';
import type { Item, ItemKind, ItemRef } from '../../domain/item.ts';
import { column, statement } from '../store/statement.ts';
import type { Tx } from '../store/tx.ts';
import { type ItemRow, mayHaveArrived } from './item-row.ts';

/** The kinds that a part can be, with the role of a ref to each kind. */
const ROLES = { product: 'component', material: 'material' } as const;
type PartKind = keyof typeof ROLES;

/** The owner of parts whose kinds have to be decided. */
export interface PartOwner {
  /** The record that makes the item with these parts. */
  recordId: number;
  /** The item in the ledger; undefined for a new item. */
  known: ItemRow | undefined;
  /** True if the record still makes the item. Items that it no longer makes do not count as parts. */
  isMade: (name: ContestedPart) => boolean;
}

export interface ContestedPart {
  kind: PartKind;
  key: string;
}

/** True if the item has a ref to a part without a kind. */
export function hasPart({ refs }: Pick<Item, 'refs'>): boolean {
  return refs.some(({ either }) => either === true);
}

const SQL = {
  candidates: statement<[string], { kind: PartKind; isPresent: 0 | 1; recordId: number | null }>(
    `SELECT kind, missing_since IS NULL AND record_id IS NOT NULL AS isPresent, record_id AS recordId FROM items
     WHERE kind IN ('product', 'material') AND key = ?`,
  ),
  stored: statement<[number, string], { kind: PartKind }>(
    "SELECT kind FROM refs WHERE item_id = ? AND key = ? AND role <> 'product'",
  ),
  any: column<[], number>('SELECT 1 FROM refs WHERE either = 1 LIMIT 1'),
  // BOM items that the platform has are left out, because no write changes a BOM item.
  requeue: statement<[{ kind: string; keys: string }]>(
    `UPDATE records SET state = 'pending', version = version + 1
     WHERE state IN ('mapped', 'quarantined') AND missing_since IS NULL AND id IN (
       SELECT i.record_id FROM json_each(@keys) k CROSS JOIN refs f ON f.key = k.value AND f.either = 1
       JOIN items i ON i.id = f.item_id WHERE f.kind <> @kind AND i.acknowledged = 0)`,
  ),
};

/**
 * Decides of which kind the parts of an item are. A part whose item does not exist yet counts as a component, and
 * waits. The issues are about parts that are both a product and a material; `contested` names these parts.
 */
export function resolveParts(
  tx: Tx,
  item: Item,
  of: PartOwner,
): { item: Item; issues: Issue[]; contested: ContestedPart[] } {
  const issues: Issue[] = [];
  const contested: ContestedPart[] = [];
  const refs = item.refs.map((ref): ItemRef => {
    if (ref.either !== true) return ref;
    const settled = settledKind(tx, ref, of);
    const [kind = 'product', other] = settled === undefined ? kindsOf(tx, ref, item, of) : [settled];
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

function kindsOf(tx: Tx, { key }: ItemRef, item: Item, { recordId, isMade }: PartOwner): PartKind[] {
  // A product is not a part of itself, so a part with the product's key is a material.
  if (item.refs.some((ref) => ref.role === 'product' && ref.key === key)) return ['material'];
  const isLeft = (one: { kind: PartKind; recordId: number | null }) =>
    one.recordId === recordId && !isMade({ kind: one.kind, key });
  const found = SQL.candidates(tx)
    .all(key)
    .filter((one) => !isLeft(one));
  const present = found.filter(({ isPresent }) => isPresent === 1);
  return (present.length > 0 ? present : found).map(({ kind }) => kind);
}

/**
 * The kind that was already sent; undefined if nothing was sent. It is not decided again for an item that the
 * platform has or may have received.
 */
function settledKind(tx: Tx, { key }: ItemRef, { known }: PartOwner): PartKind | undefined {
  if (known === undefined || (known.acknowledged === 0 && !mayHaveArrived(known))) return undefined;
  return SQL.stored(tx).get(known.id, key)?.kind;
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
