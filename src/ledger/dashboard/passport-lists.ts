// Lists of passports, one for each product, and how many there are in each state.

import type { Operation } from '../../domain/delivery/operation.ts';
import { storedReason } from '../../domain/delivery/stored-reason.ts';
import {
  type PassportCounts,
  type PassportDesire,
  type PassportState,
  type PassportStatus,
  wantedByPolicy,
} from '../../domain/passport.ts';
import type { Listed, ListPage, PassportFilter, PassportRow } from '../../domain/ports/ledger/dashboard-views.ts';
import type { ItemState } from '../../domain/ports/ledger/ledger-standing.ts';
import type { JsonValue } from '../../lib/json.ts';
import { isOpen } from '../items/item-row.ts';
import { blockersOfAll, commonBlockers, type EvaluatedProduct } from '../passports/completeness.ts';
import {
  countByStanding,
  type Presence,
  passportState,
  STANDING,
  STANDINGS,
  standingOf,
} from '../passports/passport-standing.ts';
import { changeCountOf } from '../store/database.ts';
import { column, parseJsonOrNull, perDatabase, statement } from '../store/tx.ts';
import { inOneMoment } from '../views/view-reads.ts';
import { allTotals, type DashboardReads } from './catalog.ts';
import { type AnswerReads, answerReads } from './delivery-steps.ts';
import { countIds, type Found, type Phase, pageOfIds, phaseOfIds } from './lists.ts';
import { passportWait } from './why.ts';

const BLOCKERS_MAX = 5;
const BATCH = 500;
const NONE: ReadonlySet<number> = new Set();

// The indexes by which passports are listed. All phases give ids of products.

/** SQL condition: true if its source has the product `p` and a record makes it. */
const IS_PRESENT = '(p.missing_since IS NULL AND p.record_id IS NOT NULL)';

interface StoredPassport extends EvaluatedProduct {
  naturalKey: string | null;
  name: string | null;
  source: string;
  remoteId: string | null;
  isPresent: 0 | 1;
  standing: number | null;
  reason: string | null;
  since: number | null;
  isMissing: 0 | 1;
  /** What is desired of the passport, and its open delivery; null if it has none. */
  desired: string | null;
  acknowledged: PassportStatus | null;
  operation: Operation | null;
  state: ItemState | null;
  dueAt: number | null;
}

const ROWS = statement<[string], StoredPassport>(
  `SELECT p.id, p.key, p.appeared_at AS appearedAt, p.natural_key AS naturalKey, p.desired ->> '$.name' AS name, p.source,
     p.remote_id AS remoteId, ${IS_PRESENT} AS isPresent, iif(q.id IS NULL, NULL, ${STANDING}) AS standing,
     iif(${isOpen('q')}, q.reason, NULL) AS reason, coalesce(q.settled_at, q.sent_at, q.staged_at, p.appeared_at) AS since,
     p.missing_since IS NOT NULL AS isMissing, q.desired, json_extract(q.baseline, '$.status') AS acknowledged,
     iif(${isOpen('q')}, q.operation, NULL) AS operation, iif(${isOpen('q')}, q.state, NULL) AS state,
     iif(${isOpen('q')}, nullif(q.due_at, 0), NULL) AS dueAt
   FROM json_each(?) e CROSS JOIN items p ON p.id = e.value
   LEFT JOIN items q ON q.kind = 'passport' AND q.key = p.key WHERE p.kind = 'product' ORDER BY e.key`,
);

/** The passports of these products, in their order. */
function passportsOf(reads: DashboardReads, ids: readonly number[]): StoredPassport[] {
  return ROWS(reads).all(JSON.stringify(ids));
}

function stateOf({ passportRules }: DashboardReads, { standing, isPresent }: StoredPassport): PassportState {
  const stands = standing === null ? null : standingOf(standing);
  return passportState(stands, isPresent === 1 ? 'present' : 'gone', wantedByPolicy(passportRules));
}

/** A list of passports. */
export function listPassports(reads: DashboardReads, filter: PassportFilter, page: ListPage): Listed<PassportRow> {
  reads.catalog.refresh();
  const { ids, next } = pageOfIds(phasesOf(reads, filter), page, conditionOf(reads, filter));
  const rows = passportsOf(reads, ids);
  const incomplete = rows.filter((row) => stateOf(reads, row) === 'incomplete');
  const common = incomplete.length === 0 ? [] : commonBlockers(reads, BLOCKERS_MAX);
  const own = blockersOfAll(reads, incomplete, BLOCKERS_MAX);
  const answer = answerReads(reads);
  return {
    rows: rows.map((row) => {
      const state = stateOf(reads, row);
      const blockers = state === 'incomplete' ? [...common, ...(own.get(row.id) ?? [])] : [];
      return passportRow(row, state, blockers.length > 0 ? blockers : waitsOf(answer, row, state));
    }),
    next,
    total: totalOf(reads, filter),
  };
}

function passportRow(row: StoredPassport, state: PassportState, blockers: readonly string[]): PassportRow {
  const { key, naturalKey, name, source, remoteId, reason, since } = row;
  return {
    product: key,
    remoteId: parseJsonOrNull<JsonValue>(remoteId),
    naturalKey,
    name,
    source,
    state,
    blockers: blockers.slice(0, BLOCKERS_MAX),
    reason: storedReason(reason),
    since,
  };
}

/** What a passport without blockers waits for, in the words of `why`. */
function waitsOf(answer: AnswerReads, row: StoredPassport, state: PassportState): string[] {
  const isMoving = row.standing !== null && standingOf(row.standing).delivery === 'moves';
  if ((state !== 'incomplete' && !isMoving) || row.reason !== null) return [];
  const { key, naturalKey, source, operation, dueAt, acknowledged } = row;
  const isMissing = row.isMissing === 1;
  const wait = passportWait(answer, {
    product: { key, naturalKey, missing: isMissing, released: !isMissing && row.isPresent === 0, record: null },
    passport: { acknowledged, desired: parseJsonOrNull<PassportDesire>(row.desired) },
    delivery:
      operation === null || row.state === null
        ? null
        : {
            kind: 'passport',
            key,
            naturalKey: null,
            source,
            state: row.state,
            reason: null,
            dueAt,
            remoteId: null,
            operation,
          },
  });
  return wait === null ? [] : [wait];
}

function phasesOf(reads: DashboardReads, { search, state, source }: PassportFilter): Phase[] {
  const { catalog } = reads;
  const of = { kind: 'product', source } as const;
  if (search !== undefined) return [phaseOfIds((afterId) => catalog.search(search, afterId, of))];
  if (state !== undefined) return passportPhases(reads, state);
  return [phaseOfIds((afterId) => catalog.ids(afterId, of))];
}

/** The conditions of a filter that its phases do not already fulfil; null if there are none. */
function conditionOf(reads: DashboardReads, { search, state, source }: PassportFilter) {
  const inState = search === undefined ? undefined : state;
  const ofSource = search === undefined && state !== undefined ? source : undefined;
  if (ofSource === undefined && inState === undefined) return null;
  return (ids: readonly number[]): ReadonlySet<number> => {
    const fitting = ids.filter((id) => ofSource === undefined || reads.catalog.mark(id)?.source === ofSource);
    if (inState === undefined) return new Set(fitting);
    const rows = passportsOf(reads, fitting).filter((row) => stateOf(reads, row) === inState);
    return new Set(rows.map(({ id }) => id));
  };
}

function totalOf(reads: DashboardReads, filter: PassportFilter): Listed<never>['total'] {
  const { search, state, source } = filter;
  if (search !== undefined) return countIds(phasesOf(reads, filter), conditionOf(reads, filter));
  const found = countPassports(reads, source);
  const all = Object.values(found).reduce((sum, n) => sum + n, 0);
  return { count: state === undefined ? all : (found[state] ?? 0), atLeast: false };
}

/** How many passports that fit a filter are in each state. */
export function countPassportsBy(reads: DashboardReads, filter: PassportFilter): PassportCounts {
  const { search, state, source } = filter;
  if (search === undefined) {
    const found = countPassports(reads, source);
    return state === undefined ? found : { [state]: found[state] ?? 0 };
  }
  reads.catalog.refresh();
  const found: PassportCounts = {};
  countIds(phasesOf(reads, filter), (ids) => {
    for (const row of passportsOf(reads, ids)) {
      const of = stateOf(reads, row);
      if (state === undefined || of === state) found[of] = (found[of] ?? 0) + 1;
    }
    return NONE;
  });
  return found;
}

const PRESENCES: readonly Presence[] = ['present', 'gone'];
const PHASES = {
  inStanding: statement<
    [{ standing: number; present: 0 | 1 | null; source: string; id: number; limit: number }],
    { source: string; passport: number; product: number }
  >(
    `SELECT q.source, q.id AS passport, p.id AS product FROM items q INDEXED BY passports_by_standing
     CROSS JOIN items p ON p.kind = 'product' AND p.key = q.key
     WHERE q.kind = 'passport' AND ${STANDING} = @standing AND (q.source, q.id) > (@source, @id)
       AND (@present IS NULL OR ${IS_PRESENT} = (@present = 1))
     ORDER BY q.source, q.id LIMIT @limit`,
  ),
  inPresence: column<[string, 0 | 1], number>(
    `SELECT p.id FROM json_each(?) e CROSS JOIN items p ON p.id = e.value WHERE ${IS_PRESENT} = (? = 1)`,
  ),
};

/** The phases of all products whose passports are in a state. */
export function passportPhases(reads: DashboardReads, state: PassportState): Phase[] {
  const wanted = wantedByPolicy(reads.passportRules);
  const fits = (standing: number | null, presence: Presence) =>
    passportState(standing === null ? null : standingOf(standing), presence, wanted) === state;
  const passports = STANDINGS.flatMap((standing) => {
    const fitting = PRESENCES.filter((presence) => fits(standing, presence));
    if (fitting.length === 0) return [];
    return [ofStanding(reads, standing, fitting.length === 2 ? null : fitting[0] === 'present' ? 1 : 0)];
  });
  const products = PRESENCES.filter((presence) => fits(null, presence)).map((presence) =>
    withoutPassport(reads, presence === 'present' ? 1 : 0),
  );
  return [...passports, ...products];
}

function ofStanding(reads: DashboardReads, standing: number, present: 0 | 1 | null): Phase {
  return {
    read(after, limit) {
      const [source = '', id = 0] = after ?? [];
      const query = { standing, present, source: String(source), id: Number(id), limit };
      const rows = PHASES.inStanding(reads).all(query);
      return rows.map(({ source: of, passport, product }) => ({ id: product, after: [of, passport] }));
    },
  };
}

/** Products without a passport. */
function withoutPassport(reads: DashboardReads, present: 0 | 1): Phase {
  return {
    read(after, limit) {
      const found: Found[] = [];
      let batch: number[] = [];
      const take = () => {
        const fitting = new Set(PHASES.inPresence(reads).all(JSON.stringify(batch), present));
        for (const id of batch) if (fitting.has(id)) found.push({ id, after: [id] });
        batch = [];
      };
      for (const id of reads.catalog.ids(Number(after?.[0] ?? 0), { kind: 'product', withoutPassport: true })) {
        batch.push(id);
        if (batch.length === BATCH) take();
        if (found.length >= limit) break;
      }
      take();
      return found.slice(0, limit);
    },
  };
}

/** A count that took 1 ms is used again for this many milliseconds, so that counting takes at most a fiftieth of all time. */
const KEPT_TIMES = 50;

const keptCounts = perDatabase(() => new Map<string, { version: number; until: number; counts: PassportCounts }>());

/** How many passports are in each state. The counts are used again for a while. */
export function countPassports(reads: DashboardReads, source?: string): PassportCounts {
  const wanted = wantedByPolicy(reads.passportRules);
  const kept = keptCounts(reads);
  const name = JSON.stringify([source ?? null, wanted]);
  const version = changeCountOf(reads.db);
  const before = kept.get(name);
  const now = reads.now();
  if (before !== undefined && (before.version === version || now < before.until)) return before.counts;
  const began = performance.now();
  const counts = inOneMoment(reads, () => countNow(reads, source, wanted));
  kept.set(name, { version, until: now + KEPT_TIMES * (performance.now() - began), counts });
  return counts;
}

function countNow(reads: DashboardReads, source: string | undefined, wanted: PassportStatus | null): PassportCounts {
  const counts: PassportCounts = {};
  for (const { standing, presence, count } of countByStanding(reads, countWithoutPassport(reads, source), source)) {
    const state = passportState(standing, presence, wanted);
    counts[state] = (counts[state] ?? 0) + count;
  }
  return Object.fromEntries(Object.entries(counts).filter(([, n]) => n > 0));
}

function countWithoutPassport(reads: DashboardReads, source: string | undefined): number {
  if (source === undefined) {
    const { product = 0, passport = 0 } = allTotals(reads);
    return product - passport;
  }
  reads.catalog.refresh();
  return reads.catalog.count({ kind: 'product', source, withoutPassport: true });
}
