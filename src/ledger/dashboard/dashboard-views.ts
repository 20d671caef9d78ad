import { fault } from '../../domain/faults.ts';
import type { PassportRules } from '../../domain/passport.ts';
import type { DashboardViews } from '../../domain/ports/dashboard-views.ts';
import type { Sqlite } from '../store/database.ts';
import { createSourceCounts } from '../views/source-counts.ts';
import { createViews } from '../views/views.ts';
import { createWhy } from './why/why.ts';

function missing(): never {
  throw fault('internal', 'This version does not have this view yet.');
}

/** The views of the dashboard over a connection that only reads. */
export function createDashboardViews(db: Sqlite, rules: PassportRules): DashboardViews {
  const views = createViews(db, rules);
  return {
    sourceCounts: createSourceCounts(db, rules),
    items: missing,
    itemDetail: missing,
    why: createWhy(db, rules, views),
    causes: missing,
    cause: missing,
    causeMembers: missing,
    passports: missing,
    passportCounts: () => views.passportCounts(),
    runs: missing,
    run(id) {
      const run = views.run(id);
      return run === null ? null : { ...run, askedBy: null };
    },
    actions: missing,
    lookupValues: missing,
  };
}
