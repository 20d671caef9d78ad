import type { ActionRow, DashboardViews, LookupValue } from '../../domain/ports/ledger/dashboard-views.ts';
import type { JsonObject } from '../../lib/json.ts';
import { parseJson } from '../store/context.ts';
import type { Sqlite } from '../store/database.ts';
import { limitOf, placeOf, placeText } from './list-page.ts';

/** Reads the audit log, and the values that people have given for lookup tables. */
export function createPeopleViews(db: Sqlite): Pick<DashboardViews, 'actions' | 'lookupValues'> {
  const sql = {
    actions: db.prepare<[number, number], Omit<ActionRow, 'detail'> & { detail: string }>(
      'SELECT id, at, who, via, action, detail, outcome FROM actions WHERE id < ? ORDER BY id DESC LIMIT ?',
    ),
    count: db.prepare<[], number>('SELECT count(*) FROM actions').pluck(),
    values: db.prepare<[], LookupValue>(
      'SELECT lookup, key, value, set_by AS by, set_at AS at FROM lookup_values ORDER BY lookup, key',
    ),
  };

  return {
    actions(page) {
      const limit = limitOf(page);
      const before = Number(placeOf(page).after?.[0] ?? Number.MAX_SAFE_INTEGER);
      const rows = sql.actions.all(before, limit + 1);
      const shown = rows.slice(0, limit);
      const last = shown.at(-1);
      return {
        rows: shown.map(({ detail, ...row }) => ({ ...row, detail: parseJson<JsonObject>(detail) })),
        next: rows.length > limit && last !== undefined ? placeText({ phase: 0, after: [last.id] }) : null,
        total: { count: sql.count.get() ?? 0, atLeast: false },
      };
    },
    lookupValues: () => sql.values.all(),
  };
}
