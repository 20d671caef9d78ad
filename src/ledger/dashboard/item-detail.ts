import type { ItemKind, RefRole, SubjectKind } from '../../domain/item.ts';
import type { BomNode, ItemDetail } from '../../domain/ports/ledger/dashboard-views.ts';
import type { ItemState } from '../../domain/ports/ledger/ledger-standing.ts';
import { itemState } from '../items/missing.ts';
import { column, statement } from '../store/tx.ts';
import type { ViewReads } from '../views/view-reads.ts';
import { advisedItem } from '../views/views.ts';
import { SINCE } from './item-lists.ts';

const USERS_MAX = 50;

interface UserRow {
  role: RefRole;
  kind: ItemKind;
  key: string;
  either: 0 | 1;
  state: ItemState;
  naturalKey: string | null;
  name: string | null;
}

const SQL = {
  own: statement<[string, string], { id: number; since: number | null }>(
    `SELECT i.id, ${SINCE} AS since FROM items i WHERE i.kind = ? AND i.key = ?`,
  ),
  users: statement<[string, string], UserRow>(
    `SELECT f.role, i.kind, i.key, f.either, ${itemState('i')} AS state, i.natural_key AS naturalKey,
       i.desired ->> '$.name' AS name
     FROM refs f JOIN items i ON i.id = f.item_id WHERE f.kind = ? AND f.key = ? AND i.kind <> 'passport'
     ORDER BY f.item_id, f.role LIMIT ${USERS_MAX}`,
  ),
  userCount: column<[string, string], number>('SELECT count(*) FROM refs f WHERE f.kind = ? AND f.key = ?'),
  passportCount: column<[string], number>("SELECT count(*) FROM items WHERE kind = 'passport' AND key = ?"),
};

/** Everything about one item, by its key or natural key. */
export function itemDetail(reads: ViewReads, kind: SubjectKind, key: string): ItemDetail | null {
  const item = advisedItem(reads, kind, key);
  const own = item === null ? undefined : SQL.own(reads).get(kind, item.key);
  if (item === null || own === undefined) return null;
  const rows = SQL.users(reads)
    .all(kind, item.key)
    .map(({ either, ...user }) => ({ ...user, ...(either === 1 ? { either: true as const } : {}) }));
  const passports = kind === 'product' ? (SQL.passportCount(reads).get(item.key) ?? 0) : 0;
  const count = (SQL.userCount(reads).get(kind, item.key) ?? 0) - passports;
  return { ...item, ...own, usedBy: { rows, count }, bom: kind === 'product' ? bomTree(reads, item.key) : null };
}

const NODES_MAX = 400;
const CHILDREN_MAX = 100;
const DEPTH_MAX = 12;
/** No level of a tree has more nodes: the last node with children may be beyond the limit at each depth. */
const LEVEL_MAX = NODES_MAX + DEPTH_MAX * CHILDREN_MAX;

type Named = Pick<BomNode, 'kind' | 'key' | 'naturalKey' | 'name' | 'state'>;

interface PartRow {
  product: string;
  bomKey: string;
  bomState: ItemState;
  quantity: string | null;
  unit: string | null;
  kind: ItemKind | null;
  key: string | null;
  naturalKey: string | null;
  name: string | null;
  state: ItemState | null;
}

const TREE = {
  root: statement<[string], Pick<Named, 'naturalKey' | 'name' | 'state'>>(
    `SELECT i.natural_key AS naturalKey, i.desired ->> '$.name' AS name, ${itemState('i')} AS state FROM items i
     WHERE i.kind = 'product' AND i.key = ?`,
  ),
  // The passport of a product refers to it too, so one more ref than children is read.
  parts: statement<[string], PartRow>(
    `SELECT e.value AS product, i.key AS bomKey, ${itemState('i')} AS bomState,
       CAST(i.desired ->> '$.quantity' AS TEXT) AS quantity, CAST(i.desired ->> '$.unit' AS TEXT) AS unit,
       part.kind, part.key, n.natural_key AS naturalKey, n.desired ->> '$.name' AS name,
       CASE WHEN n.id IS NULL THEN NULL ELSE ${itemState('n')} END AS state
     FROM json_each(?) e CROSS JOIN items i ON +i.kind = 'bom_item' AND i.id IN (SELECT f.item_id FROM refs f
       WHERE f.kind = 'product' AND f.key = e.value AND f.role = 'product' ORDER BY f.item_id LIMIT ${CHILDREN_MAX + 1})
     LEFT JOIN refs part ON part.item_id = i.id AND part.role <> 'product'
     LEFT JOIN items n ON n.kind = part.kind AND n.key = part.key
     ORDER BY e.key, i.id, part.role LIMIT ${LEVEL_MAX}`,
  ),
  counts: statement<[string], { key: string; count: number }>(
    `SELECT e.value AS key, (SELECT count(*) FROM refs f WHERE f.kind = 'product' AND f.key = e.value AND f.role = 'product')
       - (SELECT count(*) FROM items q WHERE q.kind = 'passport' AND q.key = e.value) AS count FROM json_each(?) e`,
  ),
};

/** The tree of a product's BOM items, with bounded depth and size. */
function bomTree(reads: ViewReads, product: string): BomNode {
  const parts = partsBelow(reads, product);
  const products: BomNode[] = [];
  let nodes = 0;

  function nodeOf(bomItem: BomNode['bomItem'], named: Named, ancestors: readonly string[]): BomNode {
    nodes += 1;
    const node: BomNode = { bomItem, ...named, children: [], cut: 0, cycle: false };
    if (named.kind !== 'product') return node;
    if (ancestors.includes(named.key)) return { ...node, cycle: true };
    products.push(node);
    const room = ancestors.length >= DEPTH_MAX ? 0 : Math.max(0, Math.min(CHILDREN_MAX, NODES_MAX - nodes));
    const within = [...ancestors, named.key];
    for (const { kind, key, ...part } of (parts.get(named.key) ?? []).slice(0, room)) {
      if (kind === null || key === null) continue;
      const { naturalKey, name, state, quantity, unit } = part;
      const item = { key: part.bomKey, state: part.bomState, quantity, unit };
      node.children.push(nodeOf(item, { kind, key, naturalKey, name, state }, within));
    }
    return node;
  }

  const own = TREE.root(reads).get(product) ?? { naturalKey: null, name: null, state: null };
  const root = nodeOf(null, { kind: 'product', key: product, ...own }, []);
  const keys = [...new Set(products.map(({ key }) => key))];
  const counts = new Map(
    TREE.counts(reads)
      .all(JSON.stringify(keys))
      .map(({ key, count }) => [key, count]),
  );
  for (const node of products) node.cut = Math.max(0, (counts.get(node.key) ?? 0) - node.children.length);
  return root;
}

/**
 * The parts of a product and of the products below it, by the key of the product. Each level is read at once, up to the
 * most nodes that a level of the tree has. A product whose parts were cut off there is read again if a later level has it.
 */
function partsBelow(reads: ViewReads, product: string): Map<string, PartRow[]> {
  const found = new Map<string, PartRow[]>();
  const whole = new Set<string>();
  let level = [product];
  for (let depth = 0; depth < DEPTH_MAX && level.length > 0; depth += 1) {
    const rows = TREE.parts(reads).all(JSON.stringify(level));
    for (const [key, parts] of Map.groupBy(rows, (row) => row.product)) found.set(key, parts);
    const end = rows.length < LEVEL_MAX ? level.length : level.indexOf(rows.at(-1)?.product ?? '');
    for (const key of level.slice(0, end)) whole.add(key);
    const next = rows.flatMap(({ kind, key }) => (kind === 'product' && key !== null && !whole.has(key) ? [key] : []));
    level = [...new Set(next)];
  }
  return found;
}
