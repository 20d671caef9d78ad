// Refs to "a material or a component, whichever has the key". The ledger alone knows which items there are, so it decides
// when a record is staged, and again when an item appears that may be meant.

import type { Issue } from '../../domain/issue.ts';
import type { Item, ItemKind, ItemRef } from '../../domain/item.ts';
import type { LedgerContext } from '../store/context.ts';
import { type ItemRow, mayHaveArrived } from './item-row.ts';

/** The kinds that a part can be, with the role that points to each. */
const ROLES = { product: 'component', material: 'material' } as const;
type PartKind = keyof typeof ROLES;

/** Call each function inside a transaction. */
export interface PartRefs {
  /**
   * Decides what the parts of an item are. A part that no item has yet counts as a component, and waits. The issues are
   * about parts that are both a product and a material; `contested` names these.
   */
  resolve(item: Item, of: PartOwner): { item: Item; issues: Issue[]; contested: ContestedPart[] };
  /** Maps the records again whose parts may be these new items. */
  appeared(kind: ItemKind, keys: readonly string[]): void;
}

/** What the parts of an item are decided for. */
export interface PartOwner {
  recordId: number;
  /** The stored item. */
  known: ItemRow | undefined;
  /** True of an item that the record still makes. Those that it made before and does not make any more do not count. */
  isMade: (name: ContestedPart) => boolean;
}

export interface ContestedPart {
  kind: PartKind;
  key: string;
}

/** True of an item that names a part without its kind. */
export function hasPart({ refs }: Pick<Item, 'refs'>): boolean {
  return refs.some(({ either }) => either === true);
}

export function createPartRefs({ db }: Pick<LedgerContext, 'db'>): PartRefs {
  const sql = {
    candidates: db.prepare<[string], { kind: PartKind; isPresent: 0 | 1; recordId: number | null }>(
      `SELECT kind, missing_since IS NULL AND record_id IS NOT NULL AS isPresent, record_id AS recordId FROM items
       WHERE kind IN ('product', 'material') AND key = ?`,
    ),
    stored: db.prepare<[number, string], { kind: PartKind }>(
      "SELECT kind FROM refs WHERE item_id = ? AND key = ? AND role <> 'product'",
    ),
    any: db.prepare<[], number>('SELECT 1 FROM refs WHERE either = 1 LIMIT 1').pluck(),
    // A BOM item that the platform has stays as it is, because no write changes one.
    requeue: db.prepare<[{ kind: string; keys: string }]>(
      `UPDATE records SET state = 'pending', version = version + 1
       WHERE state IN ('mapped', 'quarantined') AND missing_since IS NULL AND id IN (
         SELECT i.record_id FROM json_each(@keys) k CROSS JOIN refs f ON f.key = k.value AND f.either = 1
         JOIN items i ON i.id = f.item_id WHERE f.kind <> @kind AND i.acknowledged = 0)`,
    ),
  };

  function kindsOf({ key }: ItemRef, item: Item, { recordId, isMade }: PartOwner): PartKind[] {
    // A product is no part of itself, so a part with its key is a material.
    if (item.refs.some((ref) => ref.role === 'product' && ref.key === key)) return ['material'];
    const isLeft = (one: { kind: PartKind; recordId: number | null }) =>
      one.recordId === recordId && !isMade({ kind: one.kind, key });
    const found = sql.candidates.all(key).filter((one) => !isLeft(one));
    const present = found.filter(({ isPresent }) => isPresent === 1);
    return (present.length > 0 ? present : found).map(({ kind }) => kind);
  }

  /** What the platform has, or may have received, is not decided again. */
  function settledKind({ key }: ItemRef, { known }: PartOwner): PartKind | undefined {
    if (known === undefined || (known.acknowledged === 0 && !mayHaveArrived(known))) return undefined;
    return sql.stored.get(known.id, key)?.kind;
  }

  return {
    resolve(item, of) {
      const issues: Issue[] = [];
      const contested: ContestedPart[] = [];
      const refs = item.refs.map((ref): ItemRef => {
        if (ref.either !== true) return ref;
        const settled = settledKind(ref, of);
        const [kind = 'product', other] = settled === undefined ? kindsOf(ref, item, of) : [settled];
        if (other === undefined) return { role: ROLES[kind], kind, key: ref.key, either: true };
        issues.push(bothIssue(ref));
        contested.push({ kind, key: ref.key }, { kind: other, key: ref.key });
        return ref;
      });
      return { item: { ...item, refs }, issues, contested };
    },
    appeared(kind, keys) {
      if ((kind !== 'product' && kind !== 'material') || keys.length === 0 || sql.any.get() === undefined) return;
      sql.requeue.run({ kind, keys: JSON.stringify(keys) });
    },
  };
}

function bothIssue({ key }: ItemRef): Issue {
  return {
    code: 'refs.ambiguous',
    field: 'refs.part',
    value: key,
    message: `There are both a product and a material with the key ${JSON.stringify(key)}, so it is unknown which of the two the part is.`,
    cure: 'Name it under refs.component or refs.material, or give the product or the material another key.',
  };
}
