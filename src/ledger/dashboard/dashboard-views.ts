import type { WireForms } from '../../domain/delivery/wire-form.ts';
import type { PassportRules } from '../../domain/passport.ts';
import type { DashboardViews } from '../../domain/ports/ledger/dashboard-views.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { activityIn, passportDaysIn, presentRows, runDaysIn } from '../activity/activity.ts';
import type { Sqlite } from '../store/database.ts';
import { type ItemTotals, sourceCounts } from '../views/counts.ts';
import { quarantinedRows, searchQuarantined } from '../views/source-views.ts';
import type { ViewReads } from '../views/view-reads.ts';
import { allTotals, createCatalog, type DashboardReads } from './catalog.ts';
import { causeMembers, findCause, listCauses } from './causes.ts';
import { itemDetail } from './item-detail.ts';
import { listItemRows } from './item-lists.ts';
import { listActions, listLookupValues, listQuarantine, listRuns } from './lists.ts';
import { countPassportsBy, listPassports } from './passport-lists.ts';
import { goneEffects, goneRows } from './source-causes.ts';
import { why } from './why.ts';

/** The dashboard's views, and the function that prepares them. */
interface Dashboard {
  views: DashboardViews;
  /** How many items the ledger has, from what the lists have read. */
  totals: () => ItemTotals;
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
    items: (filter, page) => listItemRows(reads, filter, page),
    itemDetail: (kind, key) => itemDetail(reads, kind, key),
    why: (product) => why(reads, product),
    goneEffects: (source) => goneEffects(reads, source),
    goneRows: (asked) => goneRows(reads, asked),
    quarantine: (filter, page) => listQuarantine(reads, filter, page),
    quarantinedRows: (records) => quarantinedRows(reads, records),
    searchQuarantined: (filter) => searchQuarantined(reads, filter),
    causes: (filter, api) => listCauses(reads, filter, api),
    cause: (id, api) => findCause(reads, id, api),
    causeMembers: (id, page) => causeMembers(reads, id, page),
    passports: (filter, page) => listPassports(reads, filter, page),
    passportCounts: (filter) => countPassportsBy(reads, filter),
    activity: (span) => activityIn(reads, span),
    history: ({ passportsFrom, runsFrom, to }) => ({
      passportDays: passportDaysIn(reads, { from: passportsFrom, to }),
      runDays: runDaysIn(reads, { from: runsFrom, to }),
      rows: presentRows(reads),
    }),
    runs: (filter, page) => listRuns(reads, filter, page),
    actions: (page) => listActions(reads, page),
    lookupValues: () => listLookupValues(reads),
  };
  return { views, totals: () => allTotals(reads), warm: () => catalog.warm() };
}
