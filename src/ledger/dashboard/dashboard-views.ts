import { type PassportRules, wantedByPolicy } from '../../domain/passport.ts';
import type { DashboardViews } from '../../domain/ports/dashboard-views.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import type { Sqlite } from '../store/database.ts';
import { createSourceCounts } from '../views/source-counts.ts';
import { createViews } from '../views/views.ts';
import { createCatalog } from './catalog.ts';
import { createCauseMembers } from './cause-members.ts';
import { createCauses } from './causes.ts';
import { createFailedRuns } from './failed-runs.ts';
import { createItemDetail } from './item-detail.ts';
import { createItemLists } from './item-lists.ts';
import { createPassportCounts } from './passport-counts.ts';
import { createPassportLists } from './passport-lists.ts';
import { createPassportPhases } from './passport-phases.ts';
import { createPeopleViews } from './people-views.ts';
import { createRunLists } from './run-lists.ts';
import { createStuckGroups } from './stuck-groups.ts';
import { createWhy } from './why/why.ts';

/** The dashboard's views, and what prepares them. */
export interface Dashboard {
  views: DashboardViews;
  /**
   * Reads for some milliseconds what the lists need in memory; true while there is more to read. Call it while nobody waits for an
   * answer. Without it the first list takes seconds with a million items.
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
  clock: Pick<Clock, 'ticks'> = systemClock,
): Dashboard {
  const catalog = createCatalog(db);
  const groups = createStuckGroups(db);
  const failedRuns = createFailedRuns(db);
  const phases = createPassportPhases(db, catalog);
  const counts = createPassportCounts(db, catalog, () => clock.ticks());
  const runs = createRunLists(db);
  const incomplete = {
    phases: () => phases('incomplete', wantedByPolicy(rules)),
    count: (source: string | undefined) => counts(source, wantedByPolicy(rules)).incomplete ?? 0,
  };
  const views: DashboardViews = {
    sourceCounts: createSourceCounts(db, rules),
    ...createItemLists(db, rules, { catalog, groups, incomplete }),
    ...createItemDetail(db, rules),
    why: createWhy(db, rules, createViews(db, rules)),
    ...createCauses(db, { groups, failedRuns }),
    ...createCauseMembers(db, { groups, failedRuns, run: (id) => runs.run(id) }),
    ...createPassportLists(db, rules, { catalog, phases, counts }),
    ...runs,
    ...createPeopleViews(db),
  };
  let isListed = false;
  const asked = () => {
    isListed = true;
  };
  return {
    views: { ...inOneMoment(db, views, asked), sourceCounts: (...args) => views.sourceCounts(...args) },
    // A thread that only counts for the metrics needs no catalog.
    warm: () => isListed && catalog.warm(),
  };
}

/** Each view reads in one transaction, so that all that it reads is of the same moment. */
function inOneMoment(db: Sqlite, views: DashboardViews, asked: () => void): DashboardViews {
  const entries = Object.entries(views).map(([name, view]) => {
    const ask = db.transaction(view as (...args: unknown[]) => unknown);
    return [
      name,
      (...args: unknown[]) => {
        asked();
        return ask(...args);
      },
    ];
  });
  return Object.fromEntries(entries) as unknown as DashboardViews;
}

/** The views alone, for a command that asks a single question. */
export function createDashboardViews(db: Sqlite, rules: PassportRules): DashboardViews {
  return createDashboard(db, rules).views;
}
