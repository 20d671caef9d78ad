import type { ApiWait } from '../../domain/delivery/outcome.ts';
import { QUEUE_NAMES, type QueueCounts, type QueueName } from '../../domain/ports/queues.ts';
import type { Clock } from '../../lib/clock.ts';
import { keptAnswer } from '../../lib/kept.ts';
import type { ApiStanding } from '../../observe/health.ts';
import { type Standing, type Surroundings, standingAsked } from '../../observe/standing.ts';
import type { Runtime } from '../runtime.ts';

const COUNTS_KEPT_MS = 2000;

/** Reads the current state of ledger, queue and API. */
export function createCurrentState(options: {
  runtime: Runtime;
  nextRun: (source: string) => number | null;
  clock: Clock;
}) {
  const { runtime, nextRun, clock } = options;
  const { reads, api, queues, config } = runtime;
  // Counts of a large ledger take long, and are asked for often.
  const counted = keptAnswer(() => reads.standing(standingAsked(config)), COUNTS_KEPT_MS, clock);

  function standingOfApi(): ApiStanding {
    const state = api.authorization();
    if (!state.open) return `denied_${state.by}`;
    if (api.unreachableSince() !== null) return 'unreachable';
    if (api.longWait() !== null) return 'throttled';
    return api.refused().size === 0 ? 'ok' : 'denied_scope';
  }

  async function surroundings(): Promise<Surroundings> {
    return {
      queues: await queueCounts(),
      api: standingOfApi(),
      apiWait: api.longWait(),
      refusedScopes: [...api.refusedScopes().keys()],
    };
  }

  return {
    surroundings,
    api: standingOfApi,
    /** The wait beyond a minute that the API has asked for, or null. */
    apiWait: (): ApiWait | null => api.longWait(),
    async standing(): Promise<Standing> {
      const { value, renewableInMs } = await counted();
      const runs = await reads.sourceRuns(config.sources.map(({ id }) => id));
      return {
        ...value,
        ...(await surroundings()),
        renewableInMs,
        failedRuns: runs.flatMap(({ failed }) => failed ?? []),
        sources: runs.map(({ source, lastRun, completeAt }) => {
          return { source, lastRun, completeAt, nextRunAt: nextRun(source) };
        }),
      };
    },
  };

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
