import type { PassportRules } from '../../domain/passport.ts';
import type { DashboardViews, ItemListFilter, ItemRow } from '../../domain/ports/ledger/dashboard-views.ts';
import { itemState } from '../deliveries/delivery-states.ts';
import type { Sqlite } from '../store/database.ts';
import { SUMMARY, type SummaryRow, summary } from '../views/item-views.ts';
import type { Catalog } from './catalog/catalog.ts';
import { countIds, type Phase, pageOfIds } from './id-list.ts';
import { createItemPhases } from './item-phases.ts';
import { findStuckGroup } from './stuck-groups.ts';

/** When the present state began: the last decision about its delivery, or else when it was sent or staged. */
export const SINCE = 'coalesce(i.settled_at, i.sent_at, i.staged_at)';

/** Products whose passports are incomplete. */
export interface Incomplete {
  phases(): Phase[];
  count(source: string | undefined): number;
}

type Condition = Pick<ItemListFilter, 'kind' | 'source' | 'state' | 'search'>;
type Accepts = ((ids: readonly number[]) => ReadonlySet<number>) | null;

/** Lists of items. `incomplete` gives the products whose passports are incomplete. */
export function createItemLists(
  db: Sqlite,
  rules: PassportRules,
  parts: { catalog: Catalog; incomplete: Incomplete },
): Pick<DashboardViews, 'items'> {
  const { catalog, incomplete } = parts;
  const phases = createItemPhases(db, rules, catalog);
  const sql = {
    rows: db.prepare<[string], SummaryRow & { since: number | null }>(
      `SELECT ${SUMMARY}, ${SINCE} AS since FROM json_each(?) e CROSS JOIN items i ON i.id = e.value ORDER BY e.key`,
    ),
    inState: db
      .prepare<[string, string], number>(
        `SELECT i.id FROM json_each(?) e CROSS JOIN items i ON i.id = e.value WHERE ${itemState('i')} = ?`,
      )
      .pluck(),
  };

  function phasesOf({ cause, run, state, search, source, kind }: ItemListFilter): Phase[] {
    if (cause !== undefined) {
      const group = findStuckGroup({ db }, cause);
      return group === null ? [] : phases.ofGroup(group);
    }
    if (run !== undefined) return phases.ofRun(run);
    switch (state) {
      case undefined:
      case 'delivered':
        return search === undefined ? phases.all({ kind, source }) : phases.search(search, { kind, source });
      case 'waiting':
      case 'due':
      case 'sending':
      case 'superseded':
      case 'missing':
        return phases[state]();
      case 'in_doubt':
        return [...phases.stuck('in_doubt'), ...phases.readBack()];
      case 'attention':
        return phases.stuck();
      case 'open':
        return [...phases.stuck(), ...phases.readBack(), ...phases.waiting(), ...phases.due(), ...phases.sending()];
      case 'incomplete':
        return incomplete.phases();
      case 'blocked':
      case 'rejected':
      case 'parked':
        return phases.stuck(state);
    }
  }

  /** Returns a function that selects the ids of items that fulfil the conditions; null if there is no condition. */
  function conditionOf({ kind, source, state, search }: Condition): Accepts {
    if (kind === undefined && source === undefined && search === undefined && state === undefined) return null;
    return (ids) => {
      const fitting = ids.filter((id) => {
        if (kind === undefined && source === undefined && search === undefined) return true;
        const mark = catalog.mark(id);
        if (mark === null || (kind !== undefined && mark.kind !== kind)) return false;
        if (source !== undefined && mark.source !== source) return false;
        return search === undefined || catalog.hasText(id, search);
      });
      return new Set(state === undefined ? fitting : sql.inState.all(JSON.stringify(fitting), state));
    };
  }

  /** The conditions of a filter that the phases do not already fulfil. */
  function restOf({ kind, source, state, search, cause, run }: ItemListFilter): Accepts {
    if (cause !== undefined || run !== undefined) return conditionOf({ kind, source, search, state });
    if (state === undefined) return null;
    return state === 'delivered' ? conditionOf({ state }) : conditionOf({ kind, source, search });
  }

  function totalOf(filter: ItemListFilter, accepts: Accepts, of: Phase[]) {
    const { kind, source, state, search, cause, run } = filter;
    const isPlain = search === undefined && cause === undefined && run === undefined;
    if (isPlain && state === undefined) return { count: catalog.count({ kind, source }), atLeast: false };
    if (isPlain && state === 'incomplete' && (kind === undefined || kind === 'product')) {
      return { count: incomplete.count(source), atLeast: false };
    }
    if (isPlain && state === 'delivered') {
      const others = [...phasesOf({ state: 'open' }), ...phases.superseded(), ...phases.nothing()];
      const open = countIds(others, conditionOf({ kind, source }));
      if (!open.atLeast) return { count: Math.max(0, catalog.count({ kind, source }) - open.count), atLeast: false };
    }
    return countIds(of, accepts);
  }

  return {
    items(filter, page) {
      if (needsCatalog(filter)) catalog.refresh();
      const of = phasesOf(filter);
      const accepts = restOf(filter);
      const { ids, next } = pageOfIds(of, page, accepts);
      const rows = sql.rows.all(JSON.stringify(ids)).map(itemRow);
      if (rows.length < ids.length) catalog.gone();
      const isWhole = next === null && page.after === undefined;
      return { rows, next, total: isWhole ? { count: ids.length, atLeast: false } : totalOf(filter, accepts, of) };
    },
  };
}

/**
 * False for a list that the indexes of the ledger give. After a start such a list, as those that the first page counts,
 * does not wait until the catalog has read all items.
 */
function needsCatalog({ kind, source, search, state, cause, run }: ItemListFilter): boolean {
  if (kind !== undefined || source !== undefined || search !== undefined) return true;
  if (cause !== undefined || run !== undefined) return false;
  return state === undefined || state === 'delivered' || state === 'incomplete';
}

function itemRow(row: SummaryRow & { since: number | null }): ItemRow {
  return { id: row.id, ...summary(row), since: row.since };
}
