import type { WebContext } from '../../daemon/daemon-servers.ts';
import type { Asked, DashboardViews } from '../../domain/ports/ledger/dashboard-views.ts';
import type { PeopleLedger } from '../../domain/ports/ledger/people-ledger.ts';
import type { Tasks } from '../tasks/tasks.ts';

/** The parts of the daemon that routes use. */
export interface PageContext extends WebContext {
  /** The views of the ledger for pages, which another thread reads. */
  dashboard: Asked<DashboardViews>;
  /** The work that people have started. */
  tasks: Tasks;
  /** Stores notes, values of lookup tables, and the audit log. */
  people: PeopleLedger;
}
