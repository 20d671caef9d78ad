import type { PageContext } from '../../server/page-context.ts';
import type { Person, Route } from '../../server/route.ts';
import { overviewPage } from './overview-page.ts';
import type { OverviewView } from './overview-view.ts';

/** How many of the largest causes the page names. */
const CAUSES_SHOWN = 8;
/** How many of the deliveries that need a person the page names. */
const STUCK_SHOWN = 5;

/** The first page. */
export function overviewRoutes(context: PageContext): Route[] {
  return [
    {
      method: 'GET',
      path: '/',
      role: 'viewer',
      async handle({ person }) {
        return { type: 'page', title: 'Overview', body: overviewPage(await overviewOf(context, person)), at: '/' };
      },
    },
  ];
}

async function overviewOf(context: PageContext, person: Person): Promise<OverviewView> {
  const { runtime, health, clock, version, startedAt, dashboard, log } = context;
  const { activity } = context;
  const authorization = runtime.api.authorization();
  const lost = runtime.ledgerLost();
  const reload = context.care.lastReload();
  // A lost ledger cannot be read any more, and the page has to say so.
  const causesRead =
    lost !== null
      ? null
      : dashboard.causes({}).catch((error: unknown) => {
          log.error({ err: error }, 'The causes of what is stuck could not be read.');
          return null;
        });
  const [trouble, report, standing, pausedQueues, causes] = await Promise.all([
    lost === null ? runtime.engine.status().then((status) => status.trouble) : null,
    health.check(),
    context.standing(),
    context.pausedQueues(),
    causesRead,
  ]);
  return {
    health: report,
    standing,
    running: context.running(),
    pausedQueues,
    trouble: trouble?.message ?? null,
    lost: lost?.message ?? null,
    configRefusedAt: reload === null || reload.ok ? null : reload.at,
    refusal: authorization.open ? null : authorization.reason.message,
    refusedScopes: Array.from(runtime.api.refused(), ([scope, { message }]) => ({ scope, message })),
    causes: causes?.slice(0, CAUSES_SHOWN) ?? null,
    stuck: lost === null ? runtime.views.stuck(STUCK_SHOWN) : [],
    causeCount: causes?.length ?? 0,
    rate: {
      now: activity.requestsPerSecond(),
      allowed: runtime.api.learntRate(),
      delivered: activity.deliveredPerSecond(),
    },
    spans: activity.spans(15),
    hours: activity.spans(60),
    passportsWanted: runtime.config.passports !== null,
    operates: person.role === 'operator',
    baseUrl: runtime.config.target.baseUrl,
    version,
    startedAt,
    now: clock.now(),
  };
}
