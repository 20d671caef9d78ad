import type { WireForms } from '../../domain/delivery/wire-form.ts';
import type { ItemKind, RefRole } from '../../domain/item.ts';
import type { PassportRules } from '../../domain/passport.ts';
import type { DashboardViews, ItemDetail } from '../../domain/ports/ledger/dashboard-views.ts';
import type { ItemState } from '../../domain/ports/ledger/ledger-views.ts';
import { itemState } from '../deliveries/delivery-states.ts';
import type { Sqlite } from '../store/database.ts';
import { createItemViews } from '../views/item-views.ts';
import { createBomTree } from './bom-tree.ts';
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
