// Lists of items, each in the order of the index by which SQLite finds them.

import { OPERATIONS } from '../../domain/delivery/operation.ts';
import type { ItemListFilter, ItemRow, Listed, ListPage } from '../../domain/ports/ledger/dashboard-views.ts';
import { isOpen } from '../items/item-row.ts';
import { IS_MISSING, IS_MISSING_AND_DECIDED, itemState, needsNothing } from '../items/missing.ts';
import {
  FIRST_CODE,
  FIRST_FIELD,
  findStuckGroup,
  IS_QUARANTINED,
  NEEDS_PERSON,
  SHAPE,
  type StuckGroup,
  type StuckState,
} from '../items/stuck-groups.ts';
import { IS_HELD } from '../records/guarded-reads.ts';
import { column, statement } from '../store/tx.ts';
import { itemCounts, itemTotals } from '../views/counts.ts';
import { SUMMARY, type SummaryRow, summary } from '../views/item-views.ts';
import { type Db, withdrawing } from '../views/view-reads.ts';
import type { DashboardReads } from './catalog.ts';
import { countIds, type Phase, pageOfIds, phaseOfIds } from './lists.ts';
import { countPassports, passportPhases } from './passport-lists.ts';

type Accepts = ((ids: readonly number[]) => ReadonlySet<number>) | null;

/** When the present state began: the last decision about its delivery, or else when it was sent or staged. */
export const SINCE = 'coalesce(i.settled_at, i.sent_at, i.staged_at)';

type StoredItem = SummaryRow & { since: number | null };

const SQL = {
  rows: statement<[string], StoredItem>(
    `SELECT ${SUMMARY}, ${SINCE} AS since FROM json_each(?) e CROSS JOIN items i ON i.id = e.value ORDER BY e.key`,
  ),
  chosen: column<[{ ids: string; kind: string | null; source: string | null }], number>(
    `SELECT i.id FROM json_each(@ids) e CROSS JOIN items i ON i.id = e.value
     WHERE (@kind IS NULL OR i.kind = @kind) AND (@source IS NULL OR i.source = @source) ORDER BY e.key`,
  ),
  ofKindAndSource: column<[{ kind: string | null; source: string | null; afterId: number }], number>(
    `SELECT i.id FROM items i WHERE i.id > @afterId AND (@kind IS NULL OR i.kind = @kind)
       AND (@source IS NULL OR i.source = @source) ORDER BY i.id`,
  ),
  inState: column<[string, string], number>(
    `SELECT i.id FROM json_each(?) e CROSS JOIN items i ON i.id = e.value WHERE ${itemState('i')} = ?`,
  ),
};

/** A list of items. */
export function listItemRows(reads: DashboardReads, asked: ItemListFilter, page: ListPage): Listed<ItemRow> {
  const filter = meantBy(asked);
  if (reads.catalog.isBuilt() || needsCatalog(filter)) reads.catalog.refresh();
  const phases = phasesOf(reads, filter);
  const accepts = restOf(reads, filter);
  const { ids, next } = pageOfIds(phases, page, accepts);
  const rows = SQL.rows(reads).all(JSON.stringify(ids));
  if (rows.length < ids.length) reads.catalog.gone();
  const isWhole = next === null && page.after === undefined;
  const ofPage = { count: ids.length, atLeast: !isWhole };
  const total = isWhole || page.counts === false ? ofPage : totalOf(reads, filter, accepts, phases);
  return { rows: rows.map((row) => ({ id: row.id, ...summary(row), since: row.since })), next, total };
}

/** A passport that is incomplete is listed as its product, because it has no item of its own yet. */
function meantBy(filter: ItemListFilter): ItemListFilter {
  const { kind, ...others } = filter;
  return kind === 'passport' && filter.state === 'incomplete' ? others : filter;
}

/** False for a list that the ledger gives by itself. After a start such a list does not wait until the catalog has read all items. */
function needsCatalog({ search, state }: ItemListFilter): boolean {
  return search !== undefined || state === 'incomplete';
}

function phasesOf(reads: DashboardReads, { cause, run, state, search, source, kind }: ItemListFilter): Phase[] {
  const { catalog } = reads;
  if (cause !== undefined) {
    const group = findStuckGroup(reads, cause);
    return group === null ? [] : [ofGroup(reads, group)];
  }
  if (run !== undefined) return ofRun(reads, run);
  switch (state) {
    case undefined:
    case 'delivered': {
      const of = { kind, source };
      if (search !== undefined) return [phaseOfIds((afterId) => catalog.search(search, afterId, of))];
      if (!catalog.isBuilt()) return [chosen(reads, of)];
      return [
        phaseOfIds(
          (afterId) => catalog.ids(afterId, of),
          () => catalog.count(of),
        ),
      ];
    }
    case 'in_doubt':
      return [stuck(reads, 'in_doubt'), PHASES.readBack(reads, {})];
    case 'due':
      return DUE.map((phase) => phase(reads, {}));
    case 'attention':
      return STUCK_STATES.map((one) => stuck(reads, one));
    case 'open': {
      const { readBack, waiting, sending } = PHASES;
      const due = DUE.map((phase) => phase(reads, {}));
      return [
        ...phasesOf(reads, { state: 'attention' }),
        readBack(reads, {}),
        waiting(reads, {}),
        ...due,
        sending(reads, {}),
      ];
    }
    case 'incomplete':
      return passportPhases(reads, 'incomplete');
    case 'missing':
      return [MISSING(reads, withdrawing(reads))];
    case 'missing_decided':
      return [MISSING_DECIDED(reads, withdrawing(reads))];
    case 'held':
      return [HELD(reads, {})];
    case 'blocked':
    case 'rejected':
    case 'parked':
      return [stuck(reads, state)];
    case 'waiting':
    case 'sending':
    case 'superseded':
      return [PHASES[state](reads, {})];
  }
}

/** Returns a function that selects the ids of items that fulfil the conditions; null if there is no condition. */
function conditionOf(reads: DashboardReads, { kind, source, state, search }: ItemListFilter): Accepts {
  const isChosen = kind !== undefined || source !== undefined || search !== undefined;
  if (!isChosen && state === undefined) return null;
  const fittingOf = (ids: readonly number[]): readonly number[] => {
    if (!isChosen) return ids;
    if (!reads.catalog.isBuilt())
      return SQL.chosen(reads).all({ ids: JSON.stringify(ids), kind: kind ?? null, source: source ?? null });
    return ids.filter((id) => {
      const mark = reads.catalog.mark(id);
      if (mark === null || (kind !== undefined && mark.kind !== kind)) return false;
      if (source !== undefined && mark.source !== source) return false;
      return search === undefined || reads.catalog.hasText(id, search);
    });
  };
  return (ids) => {
    const fitting = fittingOf(ids);
    return new Set(state === undefined ? fitting : SQL.inState(reads).all(JSON.stringify(fitting), state));
  };
}

/** The conditions of a filter that the phases do not already fulfil. */
function restOf(reads: DashboardReads, { kind, source, state, search, cause, run }: ItemListFilter): Accepts {
  if (cause !== undefined || run !== undefined) return conditionOf(reads, { kind, source, search, state });
  if (state === undefined) return null;
  return conditionOf(reads, state === 'delivered' ? { state } : { kind, source, search });
}

function totalOf(
  reads: DashboardReads,
  { kind, source, state, search, cause, run }: ItemListFilter,
  accepts: Accepts,
  phases: Phase[],
): Listed<never>['total'] {
  const isPlain = search === undefined && cause === undefined && run === undefined;
  if (isPlain && state === undefined) return { count: countChosen(reads, { kind, source }), atLeast: false };
  if (isPlain && state === 'incomplete' && (kind === undefined || kind === 'product')) {
    return { count: countPassports(reads, source).incomplete ?? 0, atLeast: false };
  }
  if (isPlain && state === 'delivered') {
    const others = [...phasesOf(reads, { state: 'open' }), PHASES.superseded(reads, {}), PHASES.nothing(reads, {})];
    const open = countIds(others, conditionOf(reads, { kind, source }));
    if (!open.atLeast) return { count: Math.max(0, countChosen(reads, { kind, source }) - open.count), atLeast: false };
  }
  const counted = countIds(phases, accepts);
  if (!counted.atLeast || !isPlain || kind === undefined || kind === 'passport') return counted;
  // Looking at each item takes too long. The counts by kind and state are those of the overview.
  const states: Partial<Record<string, number>> = itemCounts(reads, source === undefined ? [] : [source])[kind];
  const exact = state === undefined ? undefined : states[state];
  return exact === undefined ? counted : { count: exact, atLeast: false };
}

/** Items of a kind and a source in the order of their ids, without the catalog. */
function chosen(reads: Db, of: ItemListFilter): Phase {
  const named = { kind: of.kind ?? null, source: of.source ?? null };
  return phaseOfIds((afterId) => SQL.ofKindAndSource(reads).iterate({ ...named, afterId }) as Generator<number>);
}

function countChosen(reads: DashboardReads, { kind, source }: ItemListFilter): number {
  if (reads.catalog.isBuilt()) return reads.catalog.count({ kind, source });
  const totals = itemTotals(reads, source === undefined ? [] : [source]);
  return kind === undefined ? Object.values(totals).reduce((sum, count) => sum + count, 0) : (totals[kind] ?? 0);
}

type Value = string | number | null;

/** A phase whose items are listed in the order of their ids. @param index null if the condition gives the ids */
function byId<Named extends Record<string, Value>>(
  index: string | null,
  where: string,
): (reads: Db, named: Named) => Phase {
  const from = index === null ? 'items i' : `items i INDEXED BY ${index}`;
  const read = column<[Named & { after: number; limit: number }], number>(
    `SELECT i.id FROM ${from} WHERE ${where} AND i.id > @after ORDER BY i.id LIMIT @limit`,
  );
  const count = column<[Named & { most: number }], number>(
    `SELECT count(*) FROM (SELECT 1 FROM ${from} WHERE ${where} LIMIT @most) AS found`,
  );
  return (reads, named) => ({
    read: (after, limit) =>
      read(reads)
        .all({ ...named, after: Number(after?.[0] ?? 0), limit })
        .map((id) => ({ id, after: [id] })),
    count: (most) => count(reads).get({ ...named, most }) ?? 0,
  });
}

const PHASES = {
  waiting: byId('items_waiting', "i.state = 'waiting'"),
  sending: byId('items_sending', "i.state = 'sending'"),
  /** Unconfirmed items that are looked up without a person. */
  readBack: byId('items_scheduled', "i.state IN ('due', 'in_doubt') AND i.due_at > 0 AND i.state = 'in_doubt'"),
  superseded: byId(
    'items_ignored',
    `i.ignored_hash IS NOT NULL AND i.state IN ('delivered', 'superseded') AND NOT ${needsNothing('i')}`,
  ),
  /** Items without an open delivery that the platform never got and that their source no longer has. */
  nothing: byId('items_missing', `${needsNothing('i')} AND NOT ${isOpen('i')}`),
};
const DUE = OPERATIONS.map((operation) => byId('items_due', `i.state = 'due' AND i.operation = '${operation}'`));
const MISSING = byId<{ withdrawing: string }>('items_missing', IS_MISSING);
const MISSING_DECIDED = byId<{ withdrawing: string }>('items_missing', IS_MISSING_AND_DECIDED);
const HELD = byId(null, IS_HELD);

const STUCK_STATES: readonly StuckState[] = ['blocked', 'rejected', 'parked', 'in_doubt'];
const IS_STUCK = `FROM items i INDEXED BY items_by_reason WHERE ${NEEDS_PERSON} AND i.state = @state`;
const STUCK = {
  read: statement<
    [{ state: string; shape: string; source: string; id: number; limit: number }],
    { shape: string; source: string; id: number }
  >(
    `SELECT ${SHAPE} AS shape, i.source, i.id ${IS_STUCK} AND (${SHAPE}, i.source, i.id) > (@shape, @source, @id)
     ORDER BY 1, 2, 3 LIMIT @limit`,
  ),
  count: column<[{ state: string; most: number }], number>(
    `SELECT count(*) FROM (SELECT 1 ${IS_STUCK} LIMIT @most) AS found`,
  ),
};

/** Items of a state that need a person. */
function stuck(reads: Db, state: StuckState): Phase {
  return {
    read(after, limit) {
      const [shape = '', source = '', id = 0] = after ?? [];
      const rows = STUCK.read(reads).all({
        state,
        shape: String(shape),
        source: String(source),
        id: Number(id),
        limit,
      });
      return rows.map((row) => ({ id: row.id, after: [row.shape, row.source, row.id] }));
    },
    count: (most) => STUCK.count(reads).get({ state, most }) ?? 0,
  };
}

const OF_GROUP = {
  items: byId<{ state: string; shape: string; source: string }>(
    'items_by_reason',
    `${NEEDS_PERSON} AND i.state = @state AND ${SHAPE} = @shape AND i.source = @source`,
  ),
  records: byId<{ streamId: number; code: string | null; field: string | null }>(
    'items_by_record',
    `i.record_id IN (SELECT r.id FROM records r INDEXED BY records_by_issue WHERE ${IS_QUARANTINED}
       AND r.stream_id = @streamId AND ${FIRST_CODE} IS @code AND ${FIRST_FIELD} IS @field)`,
  ),
};

function ofGroup(reads: Db, group: StuckGroup): Phase {
  if (group.type === 'quarantine') {
    const { streamId, code, field } = group;
    return OF_GROUP.records(reads, { streamId, code, field });
  }
  const { state, shape, source } = group;
  return OF_GROUP.items(reads, { state, shape, source });
}

const OF_RUN = {
  window: statement<[number], { source: string; from: number; to: number | null }>(
    `SELECT source, started_at AS "from", (SELECT n.started_at FROM runs n WHERE n.source = r.source AND n.id > r.id
       ORDER BY n.id LIMIT 1) AS "to" FROM runs r WHERE id = ?`,
  ),
  read: statement<[string, number, number, number, number], { staged: number; id: number }>(
    `SELECT i.staged_at AS staged, i.id FROM items i INDEXED BY items_by_time WHERE i.source = ?
       AND (i.staged_at, i.id) > (?, ?) AND i.staged_at < ? AND i.kind <> 'passport' ORDER BY i.staged_at, i.id LIMIT ?`,
  ),
};

/** Items that a run changed. */
function ofRun(reads: Db, run: number): Phase[] {
  const window = OF_RUN.window(reads).get(run);
  if (window === undefined) return [];
  const { source, from, to } = window;
  return [
    {
      read(after, limit) {
        const [staged = from - 1, id = Number.MAX_SAFE_INTEGER] = after ?? [];
        const rows = OF_RUN.read(reads).all(source, Number(staged), Number(id), to ?? Number.MAX_SAFE_INTEGER, limit);
        return rows.map((row) => ({ id: row.id, after: [row.staged, row.id] }));
      },
    },
  ];
}
