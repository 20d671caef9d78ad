import type { WireForms } from '../../domain/delivery/wire-form.ts';
import { undecidedCounts } from '../../domain/missing-items.ts';
import type { PassportRules } from '../../domain/passport.ts';
import type { DashboardViews } from '../../domain/ports/ledger/dashboard-views.ts';
import type { LedgerCounts } from '../../domain/ports/ledger/ledger-views.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import type { Sqlite } from '../store/database.ts';
import { itemCounts, sourceCounts } from '../views/counts.ts';
import { inOneMoment, type ViewReads } from '../views/view-reads.ts';
import { createViews } from '../views/views.ts';
import { allTotals, createCatalog, type DashboardReads } from './catalog.ts';
import { causeMembers, findCause, listCauses, quarantinedRows, searchQuarantined } from './causes.ts';
import { itemDetail } from './item-detail.ts';
import { listItemRows } from './item-lists.ts';
import { listActions, listLookupValues, listRuns, runsOf } from './lists.ts';
import { countPassports, countPassportsBy, listPassports } from './passport-lists.ts';
import { why } from './why.ts';

/** The dashboard's views, and the function that prepares them. */
export interface Dashboard {
  views: DashboardViews;
  /**
   * Reads for some milliseconds what the lists need in memory; true while there is more to read. Call it while nobody waits for an
   * answer. Without it, the first list takes seconds with a million items.
   */
  warm(): boolean;
}

/**
 * The views of the dashboard over a connection that only reads.
 *
 * @param passportRules read at each call, because a reload of the config may change them
 */
export function createDashboard(
  db: Sqlite,
  passportRules: PassportRules,
  wireForms: WireForms,
  clock: Pick<Clock, 'ticks'> = systemClock,
): Dashboard {
  const ofLedger: ViewReads = { db, passportRules, wireForms };
  const catalog = createCatalog(ofLedger);
  const reads: DashboardReads = { ...ofLedger, catalog, now: () => clock.ticks() };
  const views: DashboardViews = {
    sourceCounts: (now) => sourceCounts(reads, now),
    counts: (of) => counts(reads, of),
    items: (filter, page) => listItemRows(reads, filter, page),
    itemDetail: (kind, key) => itemDetail(reads, kind, key),
    why: (product) => why(reads, product),
    quarantinedRows: (records) => quarantinedRows(reads, records),
    searchQuarantined: (filter) => searchQuarantined(reads, filter),
    causes: (filter) => listCauses(reads, filter),
    cause: (id) => findCause(reads, id),
    causeMembers: (id, page) => causeMembers(reads, id, page),
    passports: (filter, page) => listPassports(reads, filter, page),
    passportCounts: (filter) => countPassportsBy(reads, filter),
    runs: (filter, page) => listRuns(reads, filter, page),
    run: (id) => runsOf(reads, [id])[0] ?? null,
    actions: (page) => listActions(reads, page),
    lookupValues: () => listLookupValues(reads),
  };
  return { views: eachInOneMoment(reads, views), warm: () => catalog.warm() };
}

/** Counts for the first page. */
function counts(
  reads: DashboardReads,
  { sources, watched }: { sources: readonly string[]; watched: readonly string[] },
): LedgerCounts {
  const views = createViews(reads);
  // An empty list of sources would select all sources.
  const missingOutcomes = watched.length === 0 ? [] : views.missingOutcomes(watched);
  return {
    items: itemCounts(reads, [], () => allTotals(reads)),
    passports: countPassports(reads),
    quarantined: views.quarantinedCount(sources),
    guarded: views.guardedReads(sources),
    missing: undecidedCounts(missingOutcomes),
    missingOutcomes,
    suspended: views.suspended(sources),
    refused: views.refused(sources),
    otherForms: views.otherForms(),
    paddedKeys: views.paddedKeys(sources),
  };
}

/** Each view reads in one transaction, so that all its data is of the same moment. */
function eachInOneMoment(reads: DashboardReads, views: DashboardViews): DashboardViews {
  const entries = Object.entries(views) as [string, (...args: unknown[]) => unknown][];
  const wrapped = entries.map(([name, view]) => [
    name,
    (...args: unknown[]) => inOneMoment(reads, () => view(...args)),
  ]);
  return Object.fromEntries(wrapped) as unknown as DashboardViews;
}

/** The views without `warm`, for a command that asks a single question. */
export function createDashboardViews(db: Sqlite, passportRules: PassportRules, wireForms: WireForms): DashboardViews {
  return createDashboard(db, passportRules, wireForms).views;
}
