import type { WireForms } from '../../domain/delivery/wire-form.ts';
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/item.ts';
import { undecidedCounts } from '../../domain/missing-items.ts';
import { type PassportRules, wantedByPolicy } from '../../domain/passport.ts';
import type { DashboardViews } from '../../domain/ports/ledger/dashboard-views.ts';
import type { LedgerCounts, LedgerViews } from '../../domain/ports/ledger/ledger-views.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { changeCountOf, type Sqlite } from '../store/database.ts';
import { createItemCounts, createItemTotals, createSourceCounts, type ItemTotals } from '../views/counts.ts';
import { createViews } from '../views/views.ts';
import { type Catalog, createCatalog } from './catalog.ts';
import { createCauseMembers, createCauses, createFailedRuns, createQuarantinedRows } from './causes.ts';
import { createStoredDeliverySteps } from './delivery-steps.ts';
import { createItemDetail } from './item-detail.ts';
import { createItemLists } from './item-lists.ts';
import { createPeopleViews, createRunLists } from './lists.ts';
import { createPassportCounts, createPassportLists, createPassportPhases } from './passport-lists.ts';
import { createPassportWaits, createWhy } from './why.ts';

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
 * @param rules read at each call, because a reload of the config may change them
 */
export function createDashboard(
  db: Sqlite,
  rules: PassportRules,
  forms: WireForms,
  clock: Pick<Clock, 'ticks'> = systemClock,
): Dashboard {
  const catalog = createCatalog(db);
  const failedRuns = createFailedRuns(db);
  const phases = createPassportPhases(db, catalog);
  const totals = createTotals(db, catalog);
  const counts = createPassportCounts(db, { catalog, totals }, () => clock.ticks());
  const itemCounts = createItemCounts(db, totals);
  const runs = createRunLists(db);
  const ofLedger = createViews(db, rules, forms);
  const passportWaits = createPassportWaits(db, rules, {
    views: ofLedger,
    deliveries: createStoredDeliverySteps(db, ofLedger),
  });
  const incomplete = {
    phases: () => phases('incomplete', wantedByPolicy(rules)),
    count: (source: string | undefined) => counts(source, wantedByPolicy(rules)).incomplete ?? 0,
  };
  const views: DashboardViews = {
    sourceCounts: createSourceCounts(db, rules),
    counts: ({ sources, watched }) => ({
      items: itemCounts(),
      passports: counts(undefined, wantedByPolicy(rules)),
      quarantined: ofLedger.quarantinedCount(sources),
      guarded: ofLedger.guardedReads(sources),
      ...missingOf(ofLedger, watched),
      suspended: ofLedger.suspended(sources),
      refused: ofLedger.refused(sources),
      otherForms: ofLedger.otherForms(),
      paddedKeys: ofLedger.paddedKeys(sources),
    }),
    ...createItemLists(db, rules, { catalog, incomplete }),
    ...createItemDetail(db, rules, forms),
    why: createWhy(db, rules, ofLedger),
    ...createQuarantinedRows(db),
    ...createCauses(db, failedRuns, () => clock.ticks()),
    ...createCauseMembers(db, { failedRuns, run: (id) => runs.run(id) }),
    ...createPassportLists(db, rules, { catalog, phases, counts, waitOf: (key) => passportWaits.waitOf(key) }),
    ...runs,
    ...createPeopleViews(db),
  };
  return { views: inOneMoment(db, views), warm: () => catalog.warm() };
}

/** An empty list of sources would select all sources. */
function missingOf(views: LedgerViews, watched: readonly string[]): Pick<LedgerCounts, 'missing' | 'missingOutcomes'> {
  const missingOutcomes = watched.length === 0 ? [] : views.missingOutcomes(watched);
  return { missing: undecidedCounts(missingOutcomes), missingOutcomes };
}

/**
 * The totals of all sources, from the catalog if it has read all items. They are kept while the ledger does not change.
 */
function createTotals(db: Sqlite, catalog: Catalog): () => ReturnType<ItemTotals> {
  const counted = createItemTotals(db);
  let last: { version: unknown; totals: ReturnType<ItemTotals> } | null = null;
  return () => {
    const version = changeCountOf(db);
    if (last !== null && last.version === version) return last.totals;
    const ofKind = (kind: SubjectKind) => [kind, catalog.count({ kind })];
    const totals = catalog.hasAll() ? Object.fromEntries(SUBJECT_KINDS.map(ofKind)) : counted([]);
    last = { version, totals };
    return totals;
  };
}

/** Each view reads in one transaction, so that all its data is of the same moment. */
function inOneMoment(db: Sqlite, views: DashboardViews): DashboardViews {
  const entries = Object.entries(views).map(([name, view]) => [
    name,
    db.transaction(view as (...args: unknown[]) => unknown),
  ]);
  return Object.fromEntries(entries) as unknown as DashboardViews;
}

/** The views without `warm`, for a command that asks a single question. */
export function createDashboardViews(db: Sqlite, rules: PassportRules, forms: WireForms): DashboardViews {
  return createDashboard(db, rules, forms).views;
}
