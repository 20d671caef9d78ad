import type { ApiWait } from '../../domain/delivery/api-wait.ts';
import type { LedgerCounts } from '../../domain/ports/ledger/ledger-views.ts';
import { QUEUE_NAMES, type QueueCounts, type QueueName } from '../../domain/ports/queues.ts';
import type { Clock } from '../../lib/clock.ts';
import { type Kept, kept, keptAnswer } from '../../lib/collections/kept.ts';
import type { ApiStanding } from '../../observe/health.ts';
import type { Standing } from '../../observe/standing.ts';
import type { Runtime } from '../runtime.ts';
import { failedRunsOf, standingOf, watchedOf } from './standing.ts';

const COUNTS_KEPT_MS = 2000;

/** Reads the current state of ledger, queue and API. */
export function createCurrentState(options: {
  runtime: Runtime;
  nextRun: (source: string) => number | null;
  clock: Clock;
}) {
  const { runtime, nextRun, clock } = options;
  const { views, api, queues, config } = runtime;
  const ids = () => config.sources.map(({ id }) => id);
  const countedHere = kept(
    () => ({ items: views.itemCounts(), ...standingOf(views, config, ids()), otherForms: views.otherForms() }),
    COUNTS_KEPT_MS,
    clock,
  );
  const countedApart = keptAnswer(
    () => runtime.dashboard.counts({ sources: ids(), watched: watchedOf(config, ids()) }),
    COUNTS_KEPT_MS,
    clock,
  );

  function standingOfApi(): ApiStanding {
    const state = api.authorization();
    if (!state.open) return `denied_${state.by}`;
    if (api.unreachableSince() !== null) return 'unreachable';
    if (api.longWait() !== null) return 'throttled';
    return api.refused().size === 0 ? 'ok' : 'denied_scope';
  }

  return {
    api: standingOfApi,
    /** The wait beyond a minute that the API has asked for, or null. */
    apiWait: (): ApiWait | null => api.longWait(),
    async standing(): Promise<Standing> {
      const { value, renewableInMs } = await counts();
      return {
        ...value,
        renewableInMs,
        failedRuns: failedRunsOf(views, ids()),
        queues: await queueCounts(),
        api: standingOfApi(),
        apiWait: api.longWait(),
        refusedScopes: [...api.refusedScopes().keys()],
        sources: config.sources.map(({ id: source }) => {
          const [lastRun = null] = views.runs({ source, limit: 1 });
          return { source, lastRun, completeAt: views.completeAt(source), nextRunAt: nextRun(source) };
        }),
      };
    },
  };

  /**
   * Counts in the reading thread, so that a large ledger does not delay the deliveries. Only a daemon with a dashboard
   * has the reading thread.
   */
  async function counts(): Promise<Kept<LedgerCounts>> {
    if (config.web === null) return countedHere();
    try {
      return await countedApart();
    } catch {
      // The thread does not answer, but `status` needs the counts, so this thread counts.
      return countedHere();
    }
  }

  async function queueCounts(): Promise<Record<QueueName, QueueCounts> | null> {
    try {
      const entries = await Promise.all(QUEUE_NAMES.map(async (name) => [name, await queues.counts(name)] as const));
      return Object.fromEntries(entries) as Record<QueueName, QueueCounts>;
    } catch {
      // The null in the answer shows that the queue is out of reach. The engine logs the cause.
      return null;
    }
  }
}
