import type { PageContext } from '../../server/page-context.ts';
import type { Route } from '../../server/route.ts';
import { statusPage } from './status-page.ts';

/** What the page names of the deliveries that need a person. */
const STUCK_SHOWN = 20;

/** How the daemon stands. */
export function overviewRoutes(context: PageContext): Route[] {
  const { runtime, health, clock, version, startedAt } = context;
  return [
    {
      method: 'GET',
      path: '/',
      role: 'viewer',
      async handle() {
        const state = runtime.api.authorization();
        const lost = runtime.ledgerLost();
        const trouble = lost === null ? (await runtime.engine.status()).trouble : null;
        const body = statusPage({
          health: await health.check(),
          standing: await context.standing(),
          running: context.running(),
          pausedQueues: await context.pausedQueues(),
          trouble: trouble?.message ?? null,
          lost: lost?.message ?? null,
          stuck: runtime.views.stuck(STUCK_SHOWN),
          refusal: state.open ? null : state.reason.message,
          refusedScopes: Array.from(runtime.api.refused(), ([scope, { message }]) => ({ scope, message })),
          baseUrl: runtime.config.target.baseUrl,
          version,
          startedAt,
          now: clock.now(),
        });
        return { type: 'page', title: 'Overview', at: '/', body };
      },
    },
  ];
}
