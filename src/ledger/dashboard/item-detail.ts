import type { WireForms } from '../../domain/delivery/wire-form.ts';
import type { ItemKind, RefRole } from '../../domain/item.ts';
import type { PassportRules } from '../../domain/passport.ts';
import type { BomNode, DashboardViews, ItemDetail } from '../../domain/ports/ledger/dashboard-views.ts';
import type { ItemState } from '../../domain/ports/ledger/ledger-views.ts';
import { itemState } from '../items/missing.ts';
import type { Sqlite } from '../store/database.ts';
import { createItemViews } from '../views/item-views.ts';
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

/** Everything about one item. */
export function createItemDetail(
  db: Sqlite,
  rules: PassportRules,
  forms: WireForms,
): Pick<DashboardViews, 'itemDetail'> {
  const views = createItemViews(db, rules, forms);
  const bomTree = createBomTree(db);
  const sql = {
    own: db.prepare<[string, string], { id: number; since: number | null }>(
      `SELECT i.id, ${SINCE} AS since FROM items i WHERE i.kind = ? AND i.key = ?`,
    ),
    users: db.prepare<[string, string], UserRow>(
      `SELECT f.role, i.kind, i.key, f.either, ${itemState('i')} AS state, i.natural_key AS naturalKey,
         i.desired ->> '$.name' AS name
       FROM refs f JOIN items i ON i.id = f.item_id WHERE f.kind = ? AND f.key = ? AND i.kind <> 'passport'
       ORDER BY f.item_id LIMIT ${USERS_MAX}`,
    ),
    userCount: db
      .prepare<[string, string], number>('SELECT count(*) FROM refs f WHERE f.kind = ? AND f.key = ?')
      .pluck(),
    passportCount: db
      .prepare<[string], number>("SELECT count(*) FROM items WHERE kind = 'passport' AND key = ?")
      .pluck(),
  };

  return {
    itemDetail(kind, key): ItemDetail | null {
      const item = views.item(kind, key);
      const own = item === null ? undefined : sql.own.get(kind, item.key);
      if (item === null || own === undefined) return null;
      const rows = sql.users.all(kind, item.key).map(({ either, ...user }) => ({
        ...user,
        ...(either === 1 ? { either: true as const } : {}),
      }));
      const passports = kind === 'product' ? (sql.passportCount.get(item.key) ?? 0) : 0;
      const count = (sql.userCount.get(kind, item.key) ?? 0) - passports;
      const bom = kind === 'product' ? bomTree(item.key) : null;
      return { ...item, ...own, usedBy: { rows, count }, bom };
    },
  };
}

const NODES_MAX = 400;
const CHILDREN_MAX = 100;
const DEPTH_MAX = 12;

interface PartRow {
  bomKey: string;
  bomState: ItemState;
  quantity: string | null;
  unit: string | null;
  kind: ItemKind | null;
  key: string | null;
}

interface NamedRow {
  naturalKey: string | null;
  name: string | null;
  state: ItemState;
}

/** Reads the tree of a product's BOM items, with bounded depth and size. */
function createBomTree(db: Sqlite): (product: string) => BomNode {
  const sql = {
    parts: db.prepare<[string, number], PartRow>(
      `SELECT i.key AS bomKey, ${itemState('i')} AS bomState, CAST(i.desired ->> '$.quantity' AS TEXT) AS quantity,
         CAST(i.desired ->> '$.unit' AS TEXT) AS unit, part.kind, part.key
       FROM refs f JOIN items i ON i.id = f.item_id
       LEFT JOIN refs part ON part.item_id = i.id AND part.role <> 'product'
       WHERE f.kind = 'product' AND f.key = ? AND f.role = 'product' AND i.kind = 'bom_item' ORDER BY i.id LIMIT ?`,
    ),
    partCount: db
      .prepare<[string], number>(
        "SELECT count(*) FROM refs f WHERE f.kind = 'product' AND f.key = ? AND f.role = 'product'",
      )
      .pluck(),
    passports: db.prepare<[string], number>("SELECT count(*) FROM items WHERE kind = 'passport' AND key = ?").pluck(),
    named: db.prepare<[string, string], NamedRow>(
      `SELECT i.natural_key AS naturalKey, i.desired ->> '$.name' AS name, ${itemState('i')} AS state FROM items i
       WHERE i.kind = ? AND i.key = ?`,
    ),
  };
  type Node = Pick<BomNode, 'bomItem' | 'kind' | 'key'>;

  return (product) => {
    let nodes = 0;

    function nodeOf({ bomItem, kind, key }: Node, ancestors: readonly string[]): BomNode {
      nodes += 1;
      const { naturalKey = null, name = null, state = null } = sql.named.get(kind, key) ?? {};
      const node: BomNode = { bomItem, kind, key, naturalKey, name, state, children: [], cut: 0, cycle: false };
      if (kind !== 'product') return node;
      if (ancestors.includes(key)) return { ...node, cycle: true };
      const room = ancestors.length >= DEPTH_MAX ? 0 : Math.max(0, Math.min(CHILDREN_MAX, NODES_MAX - nodes));
      // A passport has a ref to its product as well, so it is subtracted from the count.
      const count = (sql.partCount.get(key) ?? 0) - (sql.passports.get(key) ?? 0);
      const parts = room === 0 ? [] : sql.parts.all(key, room);
      const within = [...ancestors, key];
      for (const { bomKey, bomState, quantity, unit, kind: partKind, key: partKey } of parts) {
        if (partKind === null || partKey === null) continue;
        const item = { key: bomKey, state: bomState, quantity, unit };
        node.children.push(nodeOf({ bomItem: item, kind: partKind, key: partKey }, within));
      }
      return { ...node, cut: Math.max(0, count - node.children.length) };
    }

    return nodeOf({ bomItem: null, kind: 'product', key: product }, []);
  };
}
