import { storedReason } from '../../domain/delivery/reason.ts';
import { type PassportRules, wantedByPolicy } from '../../domain/passport.ts';
import type { DashboardViews, PassportFilter, PassportRow } from '../../domain/ports/ledger/dashboard-views.ts';
import type { PassportState } from '../../domain/ports/ledger/ledger-views.ts';
import type { JsonValue } from '../../lib/json.ts';
import { isOpen } from '../deliveries/delivery-states.ts';
import { blockersOf, commonBlockers, type EvaluatedProduct } from '../passports/completeness.ts';
import { parseJsonOrNull } from '../store/context.ts';
import type { Sqlite } from '../store/database.ts';
import type { Catalog } from './catalog/catalog.ts';
import { countIds, type Phase, pageOfIds, phaseOfIds } from './id-list.ts';
import type { createPassportCounts } from './passport-counts.ts';
import { IS_PRESENT, type PassportPhases } from './passport-phases.ts';
import { passportState, STANDING, standingOf } from './standing.ts';
import type { PassportWaits } from './why/passport-waits.ts';

const BLOCKERS_MAX = 5;
const NONE: ReadonlySet<number> = new Set();

interface StoredPassport extends EvaluatedProduct {
  naturalKey: string | null;
  name: string | null;
  source: string;
  remoteId: string | null;
  isPresent: 0 | 1;
  standing: number | null;
  reason: string | null;
  since: number | null;
}

/** Lists of passports, one for each product. */
export function createPassportLists(
  db: Sqlite,
  rules: PassportRules,
  parts: {
    catalog: Catalog;
    phases: PassportPhases;
    counts: ReturnType<typeof createPassportCounts>;
    waitOf: PassportWaits['waitOf'];
  },
): Pick<DashboardViews, 'passports' | 'passportCounts'> {
  const { catalog, phases, counts, waitOf } = parts;
  const reads = { db, passportRules: rules };
  const columns = `p.id, p.key, p.appeared_at AS appearedAt, p.natural_key AS naturalKey, p.desired ->> '$.name' AS name, p.source,
    p.remote_id AS remoteId, ${IS_PRESENT} AS isPresent, iif(q.id IS NULL, NULL, ${STANDING}) AS standing,
    iif(${isOpen('q')}, q.reason, NULL) AS reason,
    coalesce(q.settled_at, q.sent_at, q.staged_at, p.appeared_at) AS since`;
  const rowsOf = db.prepare<[string], StoredPassport>(
    `SELECT ${columns} FROM json_each(?) e CROSS JOIN items p ON p.id = e.value
     LEFT JOIN items q ON q.kind = 'passport' AND q.key = p.key WHERE p.kind = 'product' ORDER BY e.key`,
  );

  /** The state of each product's passport, by the product's id. */
  function stateOf({ standing, isPresent }: Pick<StoredPassport, 'standing' | 'isPresent'>) {
    const stands = standing === null ? null : standingOf(standing);
    return passportState(stands, isPresent === 1 ? 'present' : 'gone', wantedByPolicy(rules));
  }

  /** The blockers of a passport. If it has none, the text of `why` about what the passport waits for. */
  function reasonsOf(row: StoredPassport, state: PassportState, common: () => string[]): string[] {
    const isMoving = row.standing !== null && standingOf(row.standing).delivery === 'moves';
    if (state !== 'incomplete' && !isMoving) return [];
    const blockers = state === 'incomplete' ? [...common(), ...blockersOf(reads, row, BLOCKERS_MAX)] : [];
    if (blockers.length > 0 || row.reason !== null) return blockers;
    const wait = waitOf(row.key);
    return wait === null ? [] : [wait];
  }

  function passportRow(row: StoredPassport, common: () => string[]): PassportRow {
    const { key, naturalKey, name, source, remoteId, reason, since } = row;
    const state = stateOf(row);
    const blockers = reasonsOf(row, state, common);
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

  function phasesOf({ search, state, source }: PassportFilter): Phase[] {
    const of = { kind: 'product', source } as const;
    if (search !== undefined) return [phaseOfIds((afterId) => catalog.search(search, afterId, of))];
    if (state !== undefined) return phases(state, wantedByPolicy(rules));
    return [phaseOfIds((afterId) => catalog.ids(afterId, of))];
  }

  /** The conditions of a filter that its phases do not already fulfil; null if there are none. */
  function conditionOf({ search, state, source }: PassportFilter) {
    const inState = search === undefined ? undefined : state;
    const ofSource = search === undefined && state !== undefined ? source : undefined;
    if (ofSource === undefined && inState === undefined) return null;
    return (ids: readonly number[]): ReadonlySet<number> => {
      const fitting = ids.filter((id) => ofSource === undefined || catalog.mark(id)?.source === ofSource);
      if (inState === undefined) return new Set(fitting);
      const rows = rowsOf.all(JSON.stringify(fitting));
      return new Set(rows.filter((row) => stateOf(row) === inState).map(({ id }) => id));
    };
  }

  function totalOf(filter: PassportFilter) {
    const { search, state, source } = filter;
    if (search !== undefined) return countIds(phasesOf(filter), conditionOf(filter));
    const found = counts(source, wantedByPolicy(rules));
    const all = Object.values(found).reduce((sum, n) => sum + n, 0);
    return { count: state === undefined ? all : (found[state] ?? 0), atLeast: false };
  }

  return {
    passports(filter, page) {
      catalog.refresh();
      const { ids, next } = pageOfIds(phasesOf(filter), page, conditionOf(filter));
      let common: string[] | null = null;
      const commonOnce = () => (common ??= commonBlockers(reads, BLOCKERS_MAX));
      const rows = rowsOf.all(JSON.stringify(ids)).map((row) => passportRow(row, commonOnce));
      return { rows, next, total: totalOf(filter) };
    },

    passportCounts(filter) {
      const { search, state, source } = filter;
      if (search === undefined) {
        const found = counts(source, wantedByPolicy(rules));
        return state === undefined ? found : { [state]: found[state] ?? 0 };
      }
      catalog.refresh();
      const found: ReturnType<typeof counts> = {};
      countIds(phasesOf(filter), (ids) => {
        for (const row of rowsOf.all(JSON.stringify(ids))) {
          const of = stateOf(row);
          if (state === undefined || of === state) found[of] = (found[of] ?? 0) + 1;
        }
        return NONE;
      });
      return found;
    },
  };
}
