import type { WebContext } from '../../daemon/daemon-servers.ts';
import type { Asked, DashboardViews } from '../../domain/ports/ledger/dashboard-views.ts';
import type { PeopleLedger } from '../../domain/ports/ledger/people-ledger.ts';
import type { Tasks } from '../tasks/tasks.ts';

/** The parts of the daemon that routes use. */
export interface PageContext extends WebContext {
  /** The ledger as pages show it, read in another thread. */
  dashboard: Asked<DashboardViews>;
  /** Work that people start from a page. */
  tasks: Tasks;
  /** Notes, values of lookup tables, and the audit log. */
  people: PeopleLedger;
}
