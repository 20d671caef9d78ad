import { OPERATIONS } from '../../domain/delivery/operation.ts';
import type { PassportRules } from '../../domain/passport.ts';
import type { DashboardViews, ItemListFilter, ItemRow } from '../../domain/ports/ledger/dashboard-views.ts';
import {
  FIRST_CODE,
  FIRST_FIELD,
  findStuckGroup,
  IS_QUARANTINED,
  NEEDS_PERSON,
  SHAPE,
  type StuckGroup,
} from '../deliveries/stuck-groups.ts';
import { isOpen } from '../items/item-row.ts';
import { IS_MISSING, itemState, needsNothing } from '../items/missing.ts';
import type { Sqlite } from '../store/database.ts';
import { SUMMARY, type SummaryRow, summary } from '../views/item-views.ts';
import type { Catalog, ItemChoice } from './catalog.ts';
import { countIds, type Found, type Phase, pageOfIds, phaseOfIds } from './lists.ts';

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

// The indexes by which items are listed.

type Value = string | number | null;

export interface ItemPhases {
  /** All items, in the order of their ids. */
  all(of: ItemChoice): Phase[];
  search(part: string, of: ItemChoice): Phase[];
  waiting(): Phase[];
  due(): Phase[];
  sending(): Phase[];
  /** Items that need a person, of one state or of all. */
  stuck(state?: 'blocked' | 'rejected' | 'parked' | 'in_doubt'): Phase[];
  /** Unconfirmed items that are looked up without a person. */
  readBack(): Phase[];
  superseded(): Phase[];
  missing(): Phase[];
  /** Items without an open delivery that the platform never got and that their source no longer has. */
  nothing(): Phase[];
  ofGroup(group: StuckGroup): Phase[];
  ofRun(run: number): Phase[];
}

function createItemPhases(db: Sqlite, rules: PassportRules, catalog: Catalog): ItemPhases {
  /** A phase whose items are listed in the order of their ids. */
  function byId(where: string, values: readonly Value[] = [], from = 'items i'): Phase {
    const read = db
      .prepare<Value[], number>(`SELECT i.id FROM ${from} WHERE ${where} AND i.id > ? ORDER BY i.id LIMIT ?`)
      .pluck();
    const count = db
      .prepare<Value[], number>(`SELECT count(*) FROM (SELECT 1 FROM ${from} WHERE ${where} LIMIT ?)`)
      .pluck();
    return {
      read: (after, limit) => read.all(...values, Number(after?.[0] ?? 0), limit).map((id) => ({ id, after: [id] })),
      count: (most) => count.get(...values, most) ?? 0,
    };
  }

  const stuckSql = {
    read: db
      .prepare<[string, string, string, number, number], [string, string, number]>(
        `SELECT ${SHAPE} AS shape, i.source, i.id FROM items i INDEXED BY items_by_reason WHERE ${NEEDS_PERSON}
         AND i.state = ? AND (${SHAPE}, i.source, i.id) > (?, ?, ?) ORDER BY 1, 2, 3 LIMIT ?`,
      )
      .raw(),
    count: db
      .prepare<[string, number], number>(
        `SELECT count(*) FROM (SELECT 1 FROM items i INDEXED BY items_by_reason WHERE ${NEEDS_PERSON} AND i.state = ? LIMIT ?)`,
      )
      .pluck(),
  };
  const stuckOf = (state: string): Phase => ({
    read(after, limit) {
      const [shape = '', source = '', id = 0] = after ?? [];
      return stuckSql.read
        .all(state, String(shape), String(source), Number(id), limit)
        .map((found): Found => ({ id: found[2], after: found }));
    },
    count: (most) => stuckSql.count.get(state, most) ?? 0,
  });

  const fixed = {
    waiting: byId("i.state = 'waiting'", [], 'items i INDEXED BY items_waiting'),
    due: OPERATIONS.map((operation) =>
      byId(`i.state = 'due' AND i.operation = '${operation}'`, [], 'items i INDEXED BY items_due'),
    ),
    sending: byId("i.state = 'sending'", [], 'items i INDEXED BY items_sending'),
    stuck: (['blocked', 'rejected', 'parked', 'in_doubt'] as const).map((state) => ({ state, phase: stuckOf(state) })),
    readBack: byId(
      "i.state IN ('due', 'in_doubt') AND i.due_at > 0 AND i.state = 'in_doubt'",
      [],
      'items i INDEXED BY items_scheduled',
    ),
    superseded: byId(
      `i.ignored_hash IS NOT NULL AND i.state IN ('delivered', 'superseded') AND NOT ${needsNothing('i')}`,
      [],
      'items i INDEXED BY items_ignored',
    ),
  };
  const nothing = byId(`${needsNothing('i')} AND NOT ${isOpen('i')}`, [], 'items i INDEXED BY items_missing');
  const missingSql = {
    read: db
      .prepare<[{ withdrawing: string; after: number; limit: number }], number>(
        `SELECT i.id FROM items i INDEXED BY items_missing WHERE ${IS_MISSING} AND i.id > @after ORDER BY i.id LIMIT @limit`,
      )
      .pluck(),
    count: db
      .prepare<[{ withdrawing: string }], number>(
        `SELECT count(*) FROM items i INDEXED BY items_missing WHERE ${IS_MISSING}`,
      )
      .pluck(),
  };
  const withdrawing = () => JSON.stringify(rules.withdrawMissingOf);
  const runSql = {
    window: db.prepare<[number], { source: string; from: number; to: number | null }>(
      `SELECT source, started_at AS "from", (SELECT n.started_at FROM runs n WHERE n.source = r.source AND n.id > r.id
         ORDER BY n.id LIMIT 1) AS "to" FROM runs r WHERE id = ?`,
    ),
    read: db
      .prepare<[string, number, number, number, number], [number, number]>(
        `SELECT i.staged_at, i.id FROM items i INDEXED BY items_by_time WHERE i.source = ? AND (i.staged_at, i.id) > (?, ?)
         AND i.staged_at < ? AND i.kind <> 'passport' ORDER BY i.staged_at, i.id LIMIT ?`,
      )
      .raw(),
  };

  return {
    all: (of) => [
      phaseOfIds(
        (afterId) => catalog.ids(afterId, of),
        () => catalog.count(of),
      ),
    ],
    search: (part, of) => [phaseOfIds((afterId) => catalog.search(part, afterId, of))],
    waiting: () => [fixed.waiting],
    due: () => fixed.due,
    sending: () => [fixed.sending],
    stuck: (state) => fixed.stuck.filter((one) => state === undefined || one.state === state).map(({ phase }) => phase),
    readBack: () => [fixed.readBack],
    superseded: () => [fixed.superseded],
    nothing: () => [nothing],
    missing: () => [
      {
        read: (after, limit) =>
          missingSql.read
            .all({ withdrawing: withdrawing(), after: Number(after?.[0] ?? 0), limit })
            .map((id) => ({ id, after: [id] })),
        count: () => missingSql.count.get({ withdrawing: withdrawing() }) ?? 0,
      },
    ],
    ofGroup(group) {
      if (group.type !== 'quarantine') {
        const { state, shape, source } = group;
        return [
          byId(
            `${NEEDS_PERSON} AND i.state = ? AND ${SHAPE} = ? AND i.source = ?`,
            [state, shape, source],
            'items i INDEXED BY items_by_reason',
          ),
        ];
      }
      const { streamId, code, field } = group;
      return [
        byId(
          `i.record_id IN (SELECT r.id FROM records r INDEXED BY records_by_issue WHERE ${IS_QUARANTINED}
             AND r.stream_id = ? AND ${FIRST_CODE} IS ? AND ${FIRST_FIELD} IS ?)`,
          [streamId, code, field],
          'items i INDEXED BY items_by_record',
        ),
      ];
    },
    ofRun(run) {
      const window = runSql.window.get(run);
      if (window === undefined) return [];
      const { source, from, to } = window;
      return [
        {
          read(after, limit) {
            const [staged = from - 1, id = Number.MAX_SAFE_INTEGER] = after ?? [];
            return runSql.read
              .all(source, Number(staged), Number(id), to ?? Number.MAX_SAFE_INTEGER, limit)
              .map((found): Found => ({ id: found[1], after: found }));
          },
        },
      ];
    },
  };
}
