import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { Runtime } from './runtime.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';
import { createDueRuns, type DueRuns } from './schedules/due-runs.ts';
import { schedulesOf } from './schedules/schedules-of.ts';
import { createPullQueue, type PullQueue } from './sources/pull-queue.ts';

/** The runs of a daemon: when they are due, and the queue that starts them. */
export interface DaemonRuns {
  dueRuns: DueRuns;
  pulls: PullQueue;
  scheduler: Scheduler;
}

export function createDaemonRuns(options: {
  runtime: Runtime;
  pausedUntil: (source: string, at: number) => number | null;
  scrub: (text: string) => string;
  clock: Clock;
  log: Logger;
}): DaemonRuns {
  const { runtime, pausedUntil, scrub, clock, log } = options;
  const { config, ledger, views, queues } = runtime;
  const dueRuns = createDueRuns({ ledger, views, clock, log });
  const pulls = createPullQueue({
    queues,
    hasSource: (source) => config.sources.some(({ id }) => id === source),
    pull: dueRuns.until(runtime.pull),
    hasPull: (source) => runtime.hasPull(source),
    leftOut: (source) => dueRuns.leftOut(source),
    clock,
    log,
    scrub,
  });
  const scheduler = createScheduler({
    schedules: schedulesOf(config),
    async startRun(source, why) {
      await dueRuns.add(source);
      await pulls.startRun(source, why);
    },
    pausedUntil,
    onDue: (source) => void dueRuns.add(source),
    clock,
    log,
  });
  return { dueRuns, pulls, scheduler };
}
