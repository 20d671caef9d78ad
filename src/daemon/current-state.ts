import type { ApiWait } from '../domain/api-wait.ts';
import type { PassportCounts } from '../domain/ports/ledger-views.ts';
import { QUEUE_NAMES, type QueueCounts, type QueueName } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import { kept } from '../lib/kept.ts';
import type { ApiStanding } from '../observe/health.ts';
import type { Standing } from '../observe/standing.ts';
import type { Runtime } from './runtime.ts';
import { standingBesidePassports } from './standing.ts';

const COUNTS_KEPT_MS = 2000;
/** How many of a source's last runs are searched for a complete one. */
const RUNS_LOOKED_AT = 50;

/** Reads the current state of ledger, queue and API. */
export interface CurrentState {
  api(): ApiStanding;
  /** The wait beyond a minute that the API has asked for, or null. */
  apiWait(): ApiWait | null;
  standing(): Promise<Standing>;
}

export function createCurrentState(options: {
  runtime: Runtime;
  nextRun: (source: string) => number | null;
  clock: Clock;
}): CurrentState {
  const { runtime, nextRun, clock } = options;
  const { views, api, queues, config } = runtime;
  const counted = kept(
    () => ({
      items: views.itemCounts(),
      ...standingBesidePassports(
        views,
        config,
        config.sources.map(({ id }) => id),
      ),
    }),
    COUNTS_KEPT_MS,
    clock,
  );

  const countedHere = kept(() => views.passportCounts(config.sources.map(({ id }) => id)), COUNTS_KEPT_MS, clock);

  function standingOfApi(): ApiStanding {
    const state = api.authorization();
    if (!state.open) return `denied_${state.by}`;
    if (api.unreachableSince() !== null) return 'unreachable';
    if (apiWait() !== null) return 'throttled';
    return api.refused().size === 0 ? 'ok' : 'denied_scope';
  }

  const apiWait = (): ApiWait | null => api.longWait();

  return {
    api: standingOfApi,
    apiWait,
    async standing() {
      return {
        ...counted(),
        passports: await passportCounts(),
        queues: await queueCounts(),
        api: standingOfApi(),
        apiWait: apiWait(),
        refusedScopes: [...api.refused().keys()],
        sources: config.sources.map(({ id: source }) => {
          const runs = views.runs({ source, limit: RUNS_LOOKED_AT });
          const completeAt = runs.find(({ result }) => result === 'complete')?.endedAt ?? null;
          return { source, lastRun: runs[0] ?? null, completeAt, nextRunAt: nextRun(source) };
        }),
      };
    },
  };

  /** The reading thread counts them, so that a large ledger does not hold up the deliveries. It runs where there are pages. */
  async function passportCounts(): Promise<PassportCounts> {
    if (config.web === null) return countedHere();
    try {
      return await runtime.dashboard.passportCounts({});
    } catch {
      // The thread is away; the figures have to be there all the same.
      return countedHere();
    }
  }

  async function queueCounts(): Promise<Record<QueueName, QueueCounts> | null> {
    try {
      const entries = await Promise.all(QUEUE_NAMES.map(async (name) => [name, await queues.counts(name)] as const));
      return Object.fromEntries(entries) as Record<QueueName, QueueCounts>;
    } catch {
      // The answer shows that the queue is out of reach; the engine logs the cause.
      return null;
    }
  }
}
