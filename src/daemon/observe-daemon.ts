import { statSync } from 'node:fs';
import type { ApiWait } from '../domain/delivery/outcome.ts';
import type { ProgressEvent } from '../domain/ports/progress.ts';
import { QUEUE_NAMES, type QueueCounts, type QueueName } from '../domain/ports/queues.ts';
import { freeBytesBeside } from '../ledger/file/file.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { RunningAlerts } from '../observe/alerts/create-alerts.ts';
import { type ApiStanding, createHealth } from '../observe/health.ts';
import { createMetrics } from '../observe/metrics.ts';
import {
  type Figures,
  type LeftToSend,
  leftToSend,
  type Standing,
  type Surroundings,
  standingAsked,
} from '../observe/standing.ts';
import type { DaemonCare, Runtime } from './runtime.ts';
import { warnOfGuard } from './sources/announced-pull.ts';

/** How long the counts of what is left to send are kept at least. */
const LEFT_KEPT_MS = 500;

/** Observes a daemon from now on: reads its state and its past work on request, and receives the events of its engine. */
export function observeDaemon(options: {
  runtime: Runtime;
  care: DaemonCare;
  alerts: RunningAlerts;
  nextRun: (source: string) => number | null;
  isStopping: () => boolean;
  version: string;
  clock: Clock;
  log: Logger;
}) {
  const { runtime, care, alerts, nextRun, isStopping, version, clock, log } = options;
  const { activity, bus, ledger, queues } = runtime;
  const state = createCurrentState({ runtime, nextRun, clock });
  // Counting takes long with a large ledger.
  const left = keptAnswer(() => leftToSend(runtime), LEFT_KEPT_MS, clock);
  const metrics = createMetrics({
    version,
    figures: createFigures({ runtime, state, left, care, alerts, clock, log }),
  });
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
    nextRun,
    learntRate: () => runtime.api.learntRate(),
    stages: async () => {
      const { due, sending } = (await left()).value;
      return runtime.engine.stages(due + sending);
    },
    left: async () => (await left()).value,
    ledgerLost: () => runtime.ledgerLost(),
    /** The sources that are being pulled at the moment. */
    running: () => runtime.pulling(),
    /** Queues that a person has paused; null while the queue is out of reach, which the health of the daemon shows. */
    pausedQueues: () => queues.paused().catch(() => null),
  };
}

export type Observed = ReturnType<typeof observeDaemon>;

/** Logs the result of each delivery, at the level `debug` only: a night may have a million results. */
function logSettled(log: Logger, event: ProgressEvent): void {
  if (event.type !== 'settled') return;
  const { kind, key, operation, state, status, latencyMs, reason } = event;
  const fields = {
    kind,
    key,
    operation,
    state,
    status,
    latencyMs,
    ...(reason === null ? {} : { reason: reason.code }),
  };
  const why = reason === null ? '' : `: ${reason.message}`;
  log.debug(fields, `The ${operation} of ${kind} ${key} is ${state}${why === '' ? '.' : why}`);
}

/** How long counts are kept. Prometheus usually asks every 15 seconds or less often. */
const COUNTS_KEPT_MS = 5000;
/** How long an answer waits for the counts. Prometheus waits for 10 seconds by default. */
const COUNT_WITHIN_MS = 4000;

interface FiguresOptions {
  runtime: Runtime;
  state: ReturnType<typeof createCurrentState>;
  left: () => Promise<{ value: LeftToSend }>;
  care: DaemonCare;
  alerts: RunningAlerts;
  clock: Clock;
  log: Logger;
}

/**
 * Reads the values that only the metrics show. Counts of the ledger are kept for a time, so that frequent requests do
 * not repeat the work.
 */
function createFigures({ runtime, state, left, care, alerts, clock, log }: FiguresOptions): () => Promise<Figures> {
  const { counting, api } = runtime;
  const counted = keptAnswer(() => counting.sourceCounts(clock.now()), COUNTS_KEPT_MS, clock);
  const counts = inTime(async () => (await counted()).value, { clock, log });
  const standing = inTime(() => state.standing(), { clock, log });
  const leftCounted = inTime(async () => (await left()).value, { clock, log });
  let loadedAt = clock.now();
  care.onReload(() => {
    loadedAt = clock.now();
  });

  return async () => {
    const { sources, ledger } = runtime.config;
    const { backups } = care;
    return {
      now: clock.now(),
      streams: sources.flatMap(({ id: source, streams }) => streams.map(({ name: stream }) => ({ source, stream }))),
      standing: await standing(),
      ...(await state.surroundings()),
      counts: await counts(),
      left: await leftCounted(),
      running: runtime.pulling(),
      learntRate: api.learntRate(),
      ledgerBytes: { database: bytesOf(ledger), log: bytesOf(`${ledger}-wal`) },
      ledgerFreeBytes: freeBytesBeside(ledger),
      backup: backups.configured ? { lastAt: backups.last()?.madeAt ?? null } : null,
      alerts: alerts.list().map(({ condition, source, firing }) => ({ condition, source, firing })),
      notices: alerts
        .channels()
        .map(({ id }) => ({ channel: id, ...(alerts.sent().get(id) ?? { sent: 0, failed: 0 }) })),
      config: { loadedAt, refused: care.lastReload()?.ok === false },
    };
  };
}

/**
 * Reads the ledger for the metrics, which may not fail or come late because of it: null where it cannot be read, and the
 * answer before where this one takes long; null at first.
 */
function inTime<T>(
  read: () => Promise<T>,
  { clock, log }: Pick<FiguresOptions, 'clock' | 'log'>,
): () => Promise<T | null> {
  let last: T | null = null;
  let failed = false;

  async function tried(): Promise<T | null> {
    try {
      last = await read();
      failed = false;
    } catch (error) {
      last = null;
      // The metrics are read every few seconds, so a failure that lasts is logged once.
      if (!failed) log.warn({ error: messageOf(error) }, 'The ledger could not be counted for the metrics.');
      failed = true;
    }
    return last;
  }

  return async () => {
    const timer = new AbortController();
    const late = clock.sleep(COUNT_WITHIN_MS, timer.signal).then(() => last);
    try {
      return await Promise.race([tried(), late]);
    } finally {
      timer.abort();
    }
  };
}

function bytesOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

const STATE_KEPT_MS = 2000;

/** Reads the current state of ledger, queue and API. */
function createCurrentState(options: { runtime: Runtime; nextRun: (source: string) => number | null; clock: Clock }) {
  const { runtime, nextRun, clock } = options;
  const { reads, api, queues, config } = runtime;
  // Counts of a large ledger take long, and are asked for often.
  const counted = keptAnswer(() => reads.standing(standingAsked(config)), STATE_KEPT_MS, clock);

  function standingOfApi(): ApiStanding {
    const state = api.authorization();
    if (!state.open) return `denied_${state.by}`;
    if (api.unreachableSince() !== null) return 'unreachable';
    if (api.longWait() !== null) return 'throttled';
    return api.shownRefusals().size === 0 ? 'ok' : 'denied_scope';
  }

  async function surroundings(): Promise<Surroundings> {
    return {
      queues: await queueCounts(),
      api: standingOfApi(),
      apiWait: api.longWait(),
      refusedScopes: [...api.refusedScopes(api.shownRefusals()).keys()],
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
        sources: runs.map(({ source, lastRun, lastEnded, completeAt }) => {
          return { source, lastRun, lastEnded, completeAt, nextRunAt: nextRun(source) };
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

/** A value is kept for at least this many times as long as it took to compute. */
const SHARE = 20;
/**
 * An answer is kept for no longer than this. The time that it took includes waits, such as for the start of a
 * thread on a busy machine, which are no cost of the computation.
 */
const KEPT_MAX_MS = 30_000;

/** An answer that may have been computed some time ago. */
interface Kept<T> {
  value: T;
  /** In how many milliseconds a new answer can be computed; 0 if this answer was computed for this call. */
  renewableInMs: number;
}

/**
 * Keeps the answer of a function that may be slow, so that frequent calls never take more than a twentieth of the time,
 * even with a large ledger (I9), and keeps it for at most half a minute. Calls during a computation get its answer, which
 * may lack a change that happened after it began. A failure is not kept.
 *
 * @param keptMs the least time for which an answer is kept
 */
export function keptAnswer<T>(compute: () => Promise<T>, keptMs: number, clock: Clock): () => Promise<Kept<T>> {
  let last: { value: T; until: number } | null = null;
  let asking: Promise<{ value: T; until: number }> | null = null;

  async function ask(): Promise<{ value: T; until: number }> {
    const startedAt = clock.ticks();
    try {
      const value = await compute();
      const forMs = Math.min(KEPT_MAX_MS, Math.max(keptMs, shareMs(startedAt, clock)));
      last = { value, until: clock.ticks() + forMs };
      return last;
    } finally {
      asking = null;
    }
  }

  return async () => {
    const now = clock.ticks();
    if (last !== null && now < last.until) return { value: last.value, renewableInMs: last.until - now };
    if (asking === null) {
      asking = ask();
      return { value: (await asking).value, renewableInMs: 0 };
    }
    const { value, until } = await asking;
    return { value, renewableInMs: Math.max(1, until - clock.ticks()) };
  };
}

function shareMs(startedAt: number, clock: Clock): number {
  return (clock.ticks() - startedAt) * SHARE;
}
