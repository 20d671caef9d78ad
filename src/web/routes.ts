import { apiRoutes } from './api/api-routes.ts';
import { BOARD_SCRIPT, BROWSER_SCRIPT } from './live/browser-scripts.ts';
import { attentionRoutes } from './pages/attention/attention-routes.ts';
import { auditRoutes } from './pages/audit/audit-routes.ts';
import { historyRoutes } from './pages/history/history-routes.ts';
import { itemsRoutes } from './pages/items/items-routes.ts';
import { overviewRoutes } from './pages/overview/overview-routes.ts';
import { passportsRoutes } from './pages/passports/passports-routes.ts';
import { queuesRoutes } from './pages/queues/queues-routes.ts';
import { runsRoutes } from './pages/runs/runs-routes.ts';
import { settingsRoutes } from './pages/settings/settings-routes.ts';
import { taskRoutes } from './pages/tasks/task-routes.ts';
import { get, type PageContext, type Route, type WebAnswer } from './server/route.ts';
import { BOARD_STYLESHEET, STYLESHEET } from './stylesheet.ts';

/** All pages and endpoints, besides logging in and out and the board of the queues. */
export function routesOf(context: PageContext): Route[] {
  return [
    ...systemRoutes(context),
    ...overviewRoutes(context),
    ...historyRoutes(context),
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

/** The routes that also answer while the ledger is lost. */
const ALWAYS = { withoutLedger: true } as const;

/** The routes for health, metrics, and the files that pages load. */
function systemRoutes(context: PageContext): Route[] {
  const { health, metrics } = context;
  const asset = (path: string, contentType: string, text: string) =>
    get(path, 'open', async () => ({ type: 'text', contentType, text }), ALWAYS);
  async function wellness(): Promise<WebAnswer> {
    const report = await health.check();
    const well = report.status === 'ok' || report.status === 'degraded';
    return { type: 'json', status: well ? 200 : 503, value: report };
  }
  async function figures(): Promise<WebAnswer> {
    return { type: 'text', contentType: metrics.contentType, text: await metrics.text() };
  }
  return [
    get('/healthz', 'open', wellness, ALWAYS),
    // The name under which Kubernetes asks whether a pod can work.
    get('/readyz', 'open', wellness, ALWAYS),
    // The answer depends on nothing but the event loop. A full disk, a Redis or a platform that is away recovers
    // without a restart of this process.
    get('/livez', 'open', async () => ({ type: 'json', value: { status: 'alive' } }), ALWAYS),
    get('/metrics', 'viewer', figures, ALWAYS),
    asset('/assets/style.css', 'text/css; charset=utf-8', STYLESHEET),
    asset('/assets/live.js', 'text/javascript; charset=utf-8', BROWSER_SCRIPT),
    asset('/assets/board.js', 'text/javascript; charset=utf-8', BOARD_SCRIPT),
    asset('/assets/board.css', 'text/css; charset=utf-8', BOARD_STYLESHEET),
  ];
}
