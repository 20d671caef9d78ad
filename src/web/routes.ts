import { apiRoutes } from './api/api-routes.ts';
import { attentionRoutes } from './pages/attention/attention-routes.ts';
import { auditRoutes } from './pages/audit/audit-routes.ts';
import { itemsRoutes } from './pages/items/items-routes.ts';
import { overviewRoutes } from './pages/overview/overview-routes.ts';
import { passportsRoutes } from './pages/passports/passports-routes.ts';
import { queuesRoutes } from './pages/queues/queues-routes.ts';
import { runsRoutes } from './pages/runs/runs-routes.ts';
import { settingsRoutes } from './pages/settings/settings-routes.ts';
import { systemRoutes } from './pages/system-routes.ts';
import { taskRoutes } from './pages/tasks/task-routes.ts';
import type { PageContext } from './server/page-context.ts';
import type { Route } from './server/route.ts';

/** All pages and endpoints, besides logging in and out and the board of the queues. */
export function routesOf(context: PageContext): Route[] {
  return [
    ...systemRoutes(context),
    ...overviewRoutes(context),
    ...runsRoutes(context),
    ...itemsRoutes(context),
    ...passportsRoutes(context),
    ...attentionRoutes(context),
    ...queuesRoutes(context),
    ...settingsRoutes(context),
    ...taskRoutes(context),
    ...auditRoutes(context),
    ...apiRoutes({ ...context, platform: context.runtime.platform }),
  ];
}
