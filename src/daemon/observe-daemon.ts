import type { QueueName } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logging/logging.ts';
import { type Activity, createActivity } from '../observe/activity.ts';
import type { RunningAlerts } from '../observe/alerts/create-alerts.ts';
import { createHealth, type Health } from '../observe/health.ts';
import { createMetrics, type Metrics } from '../observe/metrics.ts';
import type { DaemonCare } from './care.ts';
import { logSettled } from './log-settled.ts';
import type { Runtime } from './runtime.ts';
import { warnOfGuard } from './sources/announced-pull.ts';
import { type CurrentState, createCurrentState } from './views/current-state.ts';
import { createFigures } from './views/figures.ts';

/** Shows the state of a daemon and its past work. */
export interface Observed extends CurrentState {
  health: Health;
  metrics: Metrics;
  activity: Activity;
  /** The sources that are being pulled at the moment. */
  running(): string[];
  /** Queues that a person has paused; null while the queue is out of reach. */
  pausedQueues(): Promise<QueueName[] | null>;
}

/** Observes a daemon from now on: reads its state on request, and receives the events of its engine. */
export function observeDaemon(options: {
  runtime: Runtime;
  care: DaemonCare;
  alerts: RunningAlerts;
  nextRun: (source: string) => number | null;
  isStopping: () => boolean;
  version: string;
  clock: Clock;
  log: Logger;
}): Observed {
  const { runtime, care, alerts, nextRun, isStopping, version, clock, log } = options;
  const { bus, ledger, queues } = runtime;
  const state = createCurrentState({ runtime, nextRun, clock });
  const metrics = createMetrics({ version, figures: createFigures({ runtime, care, alerts, clock, log }) });
  const activity = createActivity(clock);
  const health = createHealth({
    touchLedger: () => ledger.touch(),
    ledgerLost: () => runtime.ledgerLost() !== null,
    askQueue: () => queues.touch(),
    api: () => state.api(),
    apiWait: () => state.apiWait(),
    reload: () => care.lastReload(),
    stopping: isStopping,
    clock,
  });
  // Each listener has its own subscription, because an error in a listener then does not affect the others.
  bus.subscribe((event) => metrics.observe(event));
  bus.subscribe((event) => activity.observe(event));
  bus.subscribe((event) => logSettled(log, event));
  bus.subscribe((event) => {
    if (event.type !== 'guard_held') return;
    const { type: _, ...held } = event;
    warnOfGuard(log, held);
  });
  return {
    ...state,
    health,
    metrics,
    activity,
    running: () => runtime.pulling(),
    // An error is not reported here: the health of the daemon shows that the queue is out of reach.
    pausedQueues: () => queues.paused().catch(() => null),
  };
}
