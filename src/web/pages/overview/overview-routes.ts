import { operationSentence } from '../../../daemon/api-faults.ts';
import { compareLatency, DAY_MS, lastDay } from '../../../domain/activity.ts';
import { scopeOf } from '../../../domain/delivery/operation.ts';
import type { Cause } from '../../../domain/ports/ledger/dashboard-views.ts';
import type { HealthReport } from '../../../observe/health.ts';
import { secondsLeft } from '../../../observe/standing.ts';
import { SHOWN_DAYS } from '../../../operations/history.ts';
import { get, type PageContext, type Person, type Route } from '../../server/route.ts';
import { entriesOf } from '../attention/cause-entries.ts';
import { overviewPage } from './overview-page.ts';
import type { Down, OverviewView } from './overview-view.ts';

/** The page shows at most this many causes, those that hold the most passports. */
const CAUSES_SHOWN = 8;
/** The page shows at most this many deliveries that need a person. */
const STUCK_SHOWN = 5;

/** The route of the first page. */
export function overviewRoutes(context: PageContext): Route[] {
  return [
    get('/', 'viewer', async ({ person }) => {
      return { type: 'page', title: 'Overview', body: overviewPage(await overviewOf(context, person)), at: '/' };
    }),
  ];
}

async function overviewOf(context: PageContext, person: Person): Promise<OverviewView> {
  const { runtime, health, clock, version, startedAt } = context;
  const { activity } = context;
  const authorization = runtime.api.authorization();
  const lost = runtime.ledgerLost();
  const refusals = runtime.api.shownRefusals();
  const refusedScopes = runtime.api.refusedScopes(refusals);
  const reload = context.care.lastReload();
  const [trouble, report, standing, pausedQueues, ofLedger, left] = await Promise.all([
    lost === null ? runtime.engine.status().then((status) => status.trouble) : null,
    health.check(),
    context.standing(),
    context.pausedQueues(),
    // A lost ledger cannot be read any more, but the page still has to show that it is lost.
    lost === null ? readLedger(context) : NOT_READ,
    lost === null ? context.left() : null,
  ]);
  const troubles: Troubles = {
    trouble: trouble?.message ?? null,
    lost: lost?.message ?? null,
    configRefusedAt: reload === null || reload.ok ? null : reload.at,
    refusedOperations: Array.from(refusals)
      .filter(([access]) => !refusedScopes.has(scopeOf(access)))
      .map(([access, { message }]) => operationSentence(access, message)),
  };
  return {
    ...troubles,
    ...ofLedger,
    down: downNow(context, report, troubles),
    health: report,
    standing,
    running: context.running(),
    pauses: pausesOf(context),
    pausedQueues,
    refusal: authorization.open ? null : authorization.reason.message,
    refusedScopes: Array.from(refusedScopes, ([scope, { message }]) => ({ scope, message })),
    rate: {
      now: activity.requestsPerSecond(),
      allowed: runtime.api.learntRate(),
    },
    left,
    secondsLeft:
      left === null
        ? null
        : secondsLeft(left, {
            perSecond: activity.deliveredPerSecond(),
            api: report.api,
            queue: report.queue,
            pausedQueues,
          }),
    passportsWanted: runtime.config.passports !== null,
    operates: person.role === 'operator',
    baseUrl: runtime.config.target.baseUrl,
    version,
    startedAt,
    now: clock.now(),
  };
}

/** The members of the page that only the ledger knows. */
type OfLedger = Pick<
  OverviewView,
  | 'passportBlocker'
  | 'unproven'
  | 'unmapped'
  | 'causes'
  | 'causeCount'
  | 'inQuarantine'
  | 'stuck'
  | 'productsInQuarantine'
  | 'refused'
  | 'latency'
>;

const NOT_READ: OfLedger = {
  passportBlocker: null,
  unproven: [],
  unmapped: [],
  causes: null,
  causeCount: 0,
  inQuarantine: null,
  stuck: [],
  productsInQuarantine: 0,
  refused: null,
  latency: null,
};

/** Asks all questions together, because each wait for the thread that reads the ledger is long while a sync runs. */
async function readLedger({ runtime, reads, activity, clock, log }: PageContext): Promise<OfLedger> {
  const now = clock.now();
  const [blockers, unproven, unmapped, causes, stuck, productsInQuarantine, { hours }] = await Promise.all([
    reads.passportBlockers(),
    reads.unproven(),
    reads.unmappedSources(),
    reads.causes({}).catch((error: unknown) => {
      log.error({ err: error }, 'The causes of what is stuck could not be read.');
      return null;
    }),
    reads.stuck(STUCK_SHOWN),
    reads.productsInQuarantine(),
    reads.activity({ from: now - SHOWN_DAYS.hours * DAY_MS, to: now }),
  ]);
  const entries = causes === null ? null : entriesOf(causes);
  return {
    passportBlocker: blockers[0] ?? null,
    unproven,
    unmapped: runtime.config.sources.flatMap(({ id }) => (unmapped.includes(id) ? [id] : [])),
    causes: entries?.slice(0, CAUSES_SHOWN) ?? null,
    causeCount: entries?.length ?? 0,
    inQuarantine: causes === null ? null : quarantinedOf(causes),
    stuck,
    productsInQuarantine,
    refused: lastDay(hours, now).reduce((sum, { refused }) => sum + refused, 0),
    latency: compareLatency(activity.latencies(), hours, now),
  };
}

/** What is down, the worst first. */
function downNow(
  { runtime, clock }: PageContext,
  health: HealthReport,
  { lost, trouble, configRefusedAt, refusedOperations }: Troubles,
): OverviewView['down'] {
  const { api } = runtime;
  const timeOfTick = (tick: number | null): number | null =>
    tick === null ? null : clock.now() - (clock.ticks() - tick);
  const since = (part: 'ledger' | 'queue'): number | null => {
    const at = health.downSince?.[part];
    return at === undefined ? null : Date.parse(at);
  };
  const apiSince = { unreachable: timeOfTick(api.unreachableSince()), throttled: api.longWait()?.since ?? null };
  const ofApi = API_DOWN[health.api];
  const down = (what: string | null, at: number | null, stopsAll = true): Down[] =>
    what === null ? [] : [{ what: what.replace(/\.$/, ''), since: at, until: null, stopsAll }];
  return [
    ...down(lost === null ? null : 'The ledger was removed or replaced', null),
    ...down(lost === null && health.ledger !== 'ok' ? 'The ledger cannot be written' : null, since('ledger')),
    ...down(health.queue === 'ok' ? null : 'The queue is out of reach', since('queue')),
    ...down(
      ofApi,
      health.api === 'unreachable' || health.api === 'throttled' ? apiSince[health.api] : null,
      health.api !== 'denied_scope',
    ).map((one) => (health.api === 'throttled' ? { ...one, until: api.longWait()?.until ?? null } : one)),
    ...down(trouble, null),
    ...refusedOperations.flatMap((sentence) => down(sentence, null, false)),
    ...down(configRefusedAt === null ? null : 'The changed config is not in use', configRefusedAt, false),
  ];
}

/** The members of the page that say what does not work. */
type Troubles = Pick<OverviewView, 'lost' | 'trouble' | 'configRefusedAt' | 'refusedOperations'>;

const API_DOWN: Record<HealthReport['api'], string | null> = {
  ok: null,
  unreachable: 'The platform does not answer',
  throttled: 'The platform asks to wait',
  denied_key: 'The platform refuses the key',
  denied_plan: 'The platform refuses the plan',
  denied_scope: 'The platform refuses a scope of the key',
};

function quarantinedOf(causes: readonly Cause[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { type, source, count } of causes) {
    if (type === 'quarantine' && source !== null) counts.set(source, (counts.get(source) ?? 0) + count);
  }
  return counts;
}

function pausesOf({ runtime, care }: PageContext): Map<string, number> {
  return new Map(
    runtime.config.sources.flatMap(({ id }) => {
      const until = care.pausedUntil(id);
      return until === null ? [] : [[id, until]];
    }),
  );
}
