import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ApiWait } from '../domain/api-wait.ts';
import { ITEM_KINDS } from '../domain/item.ts';
import { type ItemState, type MissingCounts, PASSPORT_STATES, type RunView } from '../domain/ports/ledger-views.ts';
import type { ProgressEvent } from '../domain/ports/progress.ts';
import { QUEUE_NAMES, type QueueCounts, type QueueName } from '../domain/ports/queues.ts';
import { SCOPES, type Scope } from '../domain/scope.ts';
import type { LedgerStanding } from './causes.ts';
import { API_STANDINGS, type ApiStanding } from './health.ts';

/** The current state, asked for at each scrape. */
export interface Standing extends LedgerStanding {
  /** Items that are missing from their sources, until a person decides. */
  missing: MissingCounts;
  /** Null while the queue is out of reach. */
  queues: Record<QueueName, QueueCounts> | null;
  api: ApiStanding;
  /** The wait beyond a minute that the API has asked for, or null. */
  apiWait: ApiWait | null;
  /** Scopes that the API refuses to the key. */
  refusedScopes: readonly Scope[];
  sources: {
    source: string;
    lastRun: RunView | null;
    /** When the last complete run ended, in milliseconds since the epoch. */
    completeAt: number | null;
    nextRunAt: number | null;
  }[];
}

/** Counts the engine's events, and shows them to Prometheus together with the state of the ledger. */
export interface Metrics {
  /** Give it to an event bus. */
  observe(event: ProgressEvent): void;
  /** In Prometheus' text format. */
  text(standing: Standing): Promise<string>;
  contentType: string;
}

const ITEM_STATES: readonly ItemState[] = [
  'superseded',
  'waiting',
  'due',
  'sending',
  'in_doubt',
  'delivered',
  'blocked',
  'rejected',
  'parked',
];
const QUEUE_STATES = ['waiting', 'active', 'failed'] as const satisfies (keyof QueueCounts)[];
const RUN_RESULTS = ['complete', 'failed', 'interrupted'] as const;
const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * Labels take values from closed sets and the config's source and stream names alone: never an item's key, which would grow
 * without bound (I9), and never text from outside, which could contain a secret (I7).
 */
export function createMetrics(options: { version: string }): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const { gauge } = instrumentsOf(registry);
  gauge('build_info', 'Always 1; the label says which version runs.', ['version']).set({ version: options.version }, 1);
  const observe = createEventMetrics(registry);
  const showStanding = createStandingGauges(registry);
  return {
    contentType: registry.contentType,
    observe,
    async text(standing) {
      showStanding(standing);
      return registry.metrics();
    },
  };
}

function instrumentsOf(registry: Registry) {
  const registers = [registry];
  return {
    gauge: (name: string, help: string, labelNames: string[] = []) =>
      new Gauge({ name: `dpp_sync_${name}`, help, labelNames, registers }),
    counter: (name: string, help: string, labelNames: string[]) =>
      new Counter({ name: `dpp_sync_${name}_total`, help, labelNames, registers }),
  };
}

/** What is counted as it happens. */
function createEventMetrics(registry: Registry): Metrics['observe'] {
  const { counter } = instrumentsOf(registry);
  const requests = counter('requests', 'Requests to the API, by what their answer means.', ['operation', 'outcome']);
  const settled = counter('deliveries_settled', 'Attempts that were settled, by the state that the delivery took.', [
    'operation',
    'state',
  ]);
  const duration = new Histogram({
    name: 'dpp_sync_request_duration_seconds',
    help: 'Time until the API answered a write.',
    labelNames: ['operation'],
    buckets: SECONDS,
    registers: [registry],
  });
  const records = counter(
    'records',
    'Records that were read from a source, and of them those that were new or changed.',
    ['source', 'stream', 'result'],
  );
  const runs = counter('runs', 'Runs that ended.', ['source', 'result']);
  /** The rows that each stream had read at its last event, since an event reports the sum. */
  const readBefore = new Map<string, Map<string, number>>();

  function observePage({ source, stream, read, changed }: ProgressEvent & { type: 'page' }): void {
    const streams = readBefore.get(source) ?? new Map<string, number>();
    records.inc({ source, stream, result: 'read' }, Math.max(0, read - (streams.get(stream) ?? 0)));
    records.inc({ source, stream, result: 'changed' }, changed);
    readBefore.set(source, streams.set(stream, read));
  }

  return (event) => {
    if (event.type === 'request') requests.inc({ operation: event.operation, outcome: event.outcome });
    else if (event.type === 'page') observePage(event);
    else if (event.type === 'run_ended') {
      readBefore.delete(event.source);
      runs.inc({ source: event.source, result: event.result });
    } else if (event.type === 'settled') {
      settled.inc({ operation: event.operation, state: event.state });
      if (event.latencyMs !== null) duration.observe({ operation: event.operation }, event.latencyMs / 1000);
    }
  };
}

/** What is shown as it is at the moment of the scrape. */
function createStandingGauges(registry: Registry): (standing: Standing) => void {
  const { gauge } = instrumentsOf(registry);
  const items = gauge('items', 'Items in the ledger by the state that they are in.', ['kind', 'state']);
  const passports = gauge('passports', 'Passports of the products in the ledger by state.', ['state']);
  const quarantined = gauge('quarantined_records', 'Records that could not be mapped or validated.');
  const missing = gauge('missing_items', 'Items that their sources no longer have, until a person decides.', ['kind']);
  const guardHeld = gauge(
    'guard_held',
    '1 for a stream whose last export the guard takes for broken, 0 for the others.',
    ['source', 'stream'],
  );
  const queueJobs = gauge('queue_jobs', 'Jobs in the queues; absent while the queue is out of reach.', [
    'queue',
    'state',
  ]);
  const api = gauge('api_state', '1 for the state that the API is in as far as we know, 0 for the others.', ['state']);
  const apiWait = gauge(
    'api_wait_until_timestamp_seconds',
    'End of the wait beyond a minute that the API asks for, or its next question where it names no end; absent without one.',
  );
  const refused = gauge('api_scope_refused', '1 for a scope that the API refuses to the key, 0 for the others.', [
    'scope',
  ]);
  const lastRecords = gauge('last_run_records', 'The account of the last run of each stream.', [
    'source',
    'stream',
    'result',
  ]);
  const lastResult = gauge('last_run_result', '1 for the result of the last run that ended, 0 for the others.', [
    'source',
    'result',
  ]);
  const lastEnded = gauge('last_run_ended_timestamp_seconds', 'When the last run ended.', ['source']);
  const lastComplete = gauge('last_complete_run_timestamp_seconds', 'When the last complete run ended.', ['source']);
  const nextRun = gauge('next_run_timestamp_seconds', 'When the source is due next.', ['source']);

  function showSource({ source, lastRun, completeAt, nextRunAt }: Standing['sources'][number]): void {
    if (nextRunAt !== null) nextRun.set({ source }, nextRunAt / 1000);
    if (completeAt !== null) lastComplete.set({ source }, completeAt / 1000);
    // While a run goes on, the account of the one before it stays.
    if (lastRun === null || lastRun.endedAt === null) return;
    lastEnded.set({ source }, lastRun.endedAt / 1000);
    for (const result of RUN_RESULTS) lastResult.set({ source, result }, lastRun.result === result ? 1 : 0);
    for (const { stream, ...account } of lastRun.streams) {
      for (const result of ['read', 'unchanged', 'changed', 'quarantined', 'excluded', 'missing'] as const) {
        lastRecords.set({ source, stream, result }, account[result]);
      }
    }
  }

  return (standing) => {
    for (const kind of ITEM_KINDS) {
      for (const state of ITEM_STATES) items.set({ kind, state }, standing.items[kind][state] ?? 0);
    }
    for (const state of PASSPORT_STATES) passports.set({ state }, standing.passports[state] ?? 0);
    quarantined.set(standing.quarantined);
    for (const kind of ITEM_KINDS) missing.set({ kind }, standing.missing[kind] ?? 0);
    queueJobs.reset();
    for (const queue of standing.queues === null ? [] : QUEUE_NAMES) {
      for (const state of QUEUE_STATES) queueJobs.set({ queue, state }, standing.queues?.[queue][state] ?? 0);
    }
    for (const state of API_STANDINGS) api.set({ state }, standing.api === state ? 1 : 0);
    apiWait.reset();
    if (standing.apiWait !== null) {
      const { until, askAgainAt } = standing.apiWait;
      apiWait.set((until ?? askAgainAt) / 1000);
    }
    for (const scope of SCOPES) refused.set({ scope }, standing.refusedScopes.includes(scope) ? 1 : 0);
    standing.sources.forEach(showSource);
    for (const { source, lastRun } of standing.sources)
      for (const { stream } of lastRun?.streams ?? []) guardHeld.set({ source, stream }, 0);
    for (const { source, stream } of standing.guarded) guardHeld.set({ source, stream }, 1);
  };
}
