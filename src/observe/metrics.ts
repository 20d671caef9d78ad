import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { DELIVERY_STATES } from '../domain/delivery/delivery.ts';
import { OPERATIONS, SCOPES } from '../domain/delivery/operation.ts';
import { ITEM_KINDS, SUBJECT_KINDS } from '../domain/item.ts';
import { PASSPORT_STATES } from '../domain/passport.ts';
import { ALERT_CONDITIONS } from '../domain/ports/alerts.ts';
import { RUN_RESULTS } from '../domain/ports/intake.ts';
import type { ProgressEvent } from '../domain/ports/progress.ts';
import { QUEUE_NAMES, type QueueCounts } from '../domain/ports/queues.ts';
import { createRowsRead, hasFailed, isStillUnconfirmed } from './event-bus.ts';
import { API_STANDINGS } from './health.ts';
import type { Figures, Standing } from './standing.ts';

/**
 * Counts the engine's events, and shows them to Prometheus together with the state of the ledger.
 *
 * Labels only have values from closed sets, and the config's source and stream names: never an item's key, which would
 * grow without bound (I9), and never text from outside, which could contain a secret (I7).
 */
export function createMetrics(options: { version: string; figures: () => Promise<Figures> }) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  // These gauges have names of counters. `nodejs_active_handles` and similar metrics show the same by type.
  for (const what of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${what}_total`);
  const instruments = createInstruments(registry);
  instruments.gauge('build_info').set({ version: options.version }, 1);
  const events = createEventMetrics(instruments);
  const showFigures = createFigureGauges(instruments);
  return {
    contentType: registry.contentType,
    /** Subscribe this function to an event bus. */
    observe: (event: ProgressEvent) => events.observe(event),
    /** The metrics in the text format of Prometheus. */
    async text(): Promise<string> {
      const figures = await options.figures();
      events.begin(figures.streams);
      showFigures(figures);
      return registry.metrics();
    },
  };
}

const QUEUE_STATES = ['waiting', 'active', 'failed'] as const satisfies (keyof QueueCounts)[];
const ACCOUNT = ['read', 'unchanged', 'changed', 'quarantined', 'excluded', 'missing'] as const;

/**
 * The gauges that show the state when Prometheus reads the metrics. A source or stream that the config no longer has
 * loses its series.
 */
function createFigureGauges({ gauge, counter }: Instruments): (figures: Figures) => void {
  const showLedger = createLedgerGauges(gauge);
  const showSources = createSourceGauges(gauge);
  const showProcess = createProcessGauges(gauge);
  const showAlerts = createAlertMetrics(gauge, counter);
  return (figures) => {
    showLedger(figures);
    showSources(figures);
    showProcess(figures);
    showAlerts(figures);
  };
}

type MakeGauge = Instruments['gauge'];

/** The gauges for counts of the ledger by source. Every source with a stream has a series, with zeros at first. */
function createLedgerGauges(gauge: MakeGauge): (figures: Figures) => void {
  const items = gauge('items');
  const passports = gauge('passports');
  const quarantined = gauge('quarantined_records');
  const missing = gauge('missing_items');
  const oldestDue = gauge('oldest_due_age_seconds');
  const bytes = gauge('ledger_bytes');
  const free = gauge('ledger_free_bytes');
  return ({ now, streams, counts, ledgerBytes, ledgerFreeBytes }) => {
    for (const one of [items, passports, quarantined, missing, oldestDue]) one.reset();
    bytes.set({ file: 'database' }, ledgerBytes.database);
    bytes.set({ file: 'log' }, ledgerBytes.log);
    free.set(ledgerFreeBytes ?? Number.NaN);
    if (counts === null) return;
    for (const { source, stream } of streams) {
      for (const kind of SUBJECT_KINDS) for (const state of DELIVERY_STATES) items.set({ source, kind, state }, 0);
      for (const state of PASSPORT_STATES) passports.set({ source, state }, 0);
      for (const kind of ITEM_KINDS) missing.set({ source, kind }, 0);
      quarantined.set({ source, stream }, 0);
      oldestDue.set({ source }, 0);
    }
    for (const { count, ...labels } of counts.items) items.set(labels, count);
    for (const { count, ...labels } of counts.passports) passports.set(labels, count);
    for (const { count, ...labels } of counts.quarantined) quarantined.set(labels, count);
    for (const { count, ...labels } of counts.missing) missing.set(labels, count);
    for (const { source, at } of counts.dueSince) oldestDue.set({ source }, Math.max(0, now - at) / 1000);
  };
}

/** Runs, schedules and guards of the sources of the config. */
function createSourceGauges(gauge: MakeGauge): (figures: Figures) => void {
  const running = gauge('running');
  const guardHeld = gauge('guard_held');
  const runHeld = gauge('run_held');
  const lastRecords = gauge('last_run_records');
  const lastResult = gauge('last_run_result');
  const endedAt = gauge('last_run_ended_timestamp_seconds');
  const lastComplete = gauge('last_complete_run_timestamp_seconds');
  const nextRun = gauge('next_run_timestamp_seconds');

  /** While a run continues, the counts of the run before it are shown. */
  function showSource({ source, lastEnded, completeAt, nextRunAt }: Standing['sources'][number]): void {
    nextRun.set({ source }, secondsOf(nextRunAt, Number.NaN));
    lastComplete.set({ source }, secondsOf(completeAt, 0));
    endedAt.set({ source }, secondsOf(lastEnded?.endedAt ?? null, 0));
    for (const result of RUN_RESULTS) lastResult.set({ source, result }, lastEnded?.result === result ? 1 : 0);
    for (const { stream, ...account } of lastEnded?.streams ?? []) {
      for (const result of ACCOUNT) lastRecords.set({ source, stream, result }, account[result]);
    }
  }

  return (figures) => {
    for (const one of [running, guardHeld, runHeld, lastRecords, lastResult, endedAt, lastComplete, nextRun])
      one.reset();
    for (const { source, stream } of figures.streams) {
      guardHeld.set({ source, stream }, 0);
      for (const result of ACCOUNT) lastRecords.set({ source, stream, result }, 0);
    }
    if (figures.standing === null) return;
    const { sources, guarded, held } = figures.standing;
    for (const { source } of sources) {
      running.set({ source }, figures.running.includes(source) ? 1 : 0);
      runHeld.set({ source }, held.some((run) => run.source === source) ? 1 : 0);
    }
    sources.forEach(showSource);
    for (const { source, stream } of guarded) guardHeld.set({ source, stream }, 1);
  };
}

/** The gauges that belong to no source: the API, the queues, backups and the config. */
function createProcessGauges(gauge: MakeGauge): (figures: Figures) => void {
  const queueJobs = gauge('queue_jobs');
  const leftToSend = gauge('left_to_send');
  const api = gauge('api_state');
  const apiWait = gauge('api_wait_until_timestamp_seconds');
  const refused = gauge('api_scope_refused');
  const learntRate = gauge('api_learnt_rate_per_second');
  const backup = gauge('last_backup_timestamp_seconds');
  const configLoaded = gauge('config_loaded_timestamp_seconds');
  const configRefused = gauge('config_refused');
  return (figures) => {
    showQueues(queueJobs, figures);
    leftToSend.reset();
    for (const [state, count] of Object.entries({ ...figures.left })) leftToSend.set({ state }, count);
    for (const state of API_STANDINGS) api.set({ state }, figures.api === state ? 1 : 0);
    const wait = figures.apiWait;
    apiWait.set(secondsOf(wait === null ? null : (wait.until ?? wait.askAgainAt), Number.NaN));
    for (const scope of SCOPES) refused.set({ scope }, figures.refusedScopes.includes(scope) ? 1 : 0);
    learntRate.set(figures.learntRate ?? Number.NaN);
    backup.set(figures.backup === null ? Number.NaN : secondsOf(figures.backup.lastAt, 0));
    configLoaded.set(figures.config.loadedAt / 1000);
    configRefused.set(figures.config.refused ? 1 : 0);
  };
}

function createAlertMetrics(gauge: MakeGauge, counter: Instruments['counter']): (figures: Figures) => void {
  const firing = gauge('alerts_firing');
  const notices = counter('alert_notices_total');
  return ({ alerts, notices: sentNotices }) => {
    for (const condition of ALERT_CONDITIONS) {
      const count = alerts.filter((alert) => alert.firing && alert.condition === condition).length;
      firing.set({ condition }, count);
    }
    // The alerts count their notices themselves, so the counter is reset and set to their sums.
    notices.reset();
    for (const { channel, sent, failed } of sentNotices) {
      notices.inc({ channel, result: 'sent' }, sent);
      notices.inc({ channel, result: 'failed' }, failed);
    }
  };
}

function showQueues(queueJobs: Gauge, { queues }: Figures): void {
  queueJobs.reset();
  if (queues === null) return;
  for (const queue of QUEUE_NAMES) {
    for (const state of QUEUE_STATES) queueJobs.set({ queue, state }, queues[queue][state]);
  }
}

function secondsOf(at: number | null, without: number): number {
  return at === null ? without : at / 1000;
}

const OUTCOMES = [
  'accepted',
  'exists',
  'throttled',
  'unavailable',
  'ambiguous',
  'gated',
  'in_flight',
  'refused',
  'denied',
] as const;
/** The states that a delivery can have after an attempt. */
const SETTLED = ['delivered', 'due', 'in_doubt', 'blocked', 'rejected', 'parked'] as const;

/** The metrics that events change. */
function createEventMetrics({ counter, histogram }: Instruments) {
  const requests = counter('requests_total');
  const throttled = counter('api_throttled_total');
  const settled = counter('deliveries_settled_total');
  const failed = counter('deliveries_failed_total');
  const duration = histogram('request_duration_seconds');
  const records = counter('records_total');
  const runs = counter('runs_total');
  for (const operation of OPERATIONS) {
    for (const outcome of OUTCOMES) requests.inc({ operation, outcome }, 0);
    for (const state of SETTLED) settled.inc({ operation, state }, 0);
    failed.inc({ operation }, 0);
    duration.zero({ operation });
  }
  const rowsRead = createRowsRead();

  function observePage(page: ProgressEvent & { type: 'page' }): void {
    const { source, stream, changed } = page;
    records.inc({ source, stream, result: 'read' }, rowsRead.of(page));
    records.inc({ source, stream, result: 'changed' }, changed);
  }

  return {
    observe(event: ProgressEvent) {
      if (event.type === 'request') {
        requests.inc({ operation: event.operation, outcome: event.outcome });
        if (event.outcome === 'throttled') throttled.inc();
      } else if (event.type === 'page') observePage(event);
      else if (event.type === 'run_ended') {
        rowsRead.ended(event.source);
        runs.inc({ source: event.source, result: event.result });
      } else if (event.type === 'settled') {
        if (!isStillUnconfirmed(event)) settled.inc({ operation: event.operation, state: event.state });
        if (hasFailed(event)) failed.inc({ operation: event.operation });
        if (event.latencyMs !== null) duration.observe({ operation: event.operation }, event.latencyMs / 1000);
      }
    },
    /** Creates the series of each stream of the config, so that the first event is an increase from 0. */
    begin(streams: readonly { source: string; stream: string }[]) {
      for (const { source, stream } of streams) {
        for (const result of RUN_RESULTS) runs.inc({ source, result }, 0);
        for (const result of ['read', 'changed']) records.inc({ source, stream, result }, 0);
      }
    },
  };
}

// Every metric of dpp-sync: the registry and docs/metrics.md are made from this table.
//
// Conventions of Prometheus: base units, `_total` only at the end of counters, `_timestamp_seconds` for a time. The
// time of something that never happened is 0, so that its age is large. A value that does not apply is NaN, so that
// every comparison with it is false.

type MetricType = 'counter' | 'gauge' | 'histogram';

export interface MetricDefinition {
  type: MetricType;
  help: string;
  labels: readonly string[];
  /** Upper bounds of the buckets of a histogram. */
  buckets?: readonly number[];
}

const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** The metrics by their names without `dpp_sync_`. */
export const METRICS = {
  build_info: gauge('Always 1. The label says which version runs.', ['version']),
  items: gauge('Items in the ledger by the state of their delivery. Passports are one of the kinds.', [
    'source',
    'kind',
    'state',
  ]),
  passports: gauge('Passports of the products in the ledger, by the state that people see.', ['source', 'state']),
  quarantined_records: gauge('Records that could not be mapped or validated.', ['source', 'stream']),
  missing_items: gauge(
    'Items that are missing from their source, and about which neither a person nor the config has decided.',
    ['source', 'kind'],
  ),
  oldest_due_age_seconds: gauge(
    'The age of the oldest delivery that is due and not sent yet, since it became due. 0 if none is due.',
    ['source'],
  ),
  run_held: gauge(
    '1 for a source with a run that would do more than `approve` allows and waits for a person, 0 for other sources.',
    ['source'],
  ),
  guard_held: gauge('1 for a stream whose last export the guard treats as broken, 0 for other streams.', [
    'source',
    'stream',
  ]),
  running: gauge('1 while a source is being pulled, 0 otherwise.', ['source']),
  last_run_records: gauge(
    'Records of the last run of each stream, by what happened to them. read = unchanged + changed + quarantined + excluded.',
    ['source', 'stream', 'result'],
  ),
  last_run_result: gauge('1 for the result of the last run that ended, 0 for other results.', ['source', 'result']),
  last_run_ended_timestamp_seconds: gauge('When the last run ended. 0 before the first.', ['source']),
  last_complete_run_timestamp_seconds: gauge('When the last complete run ended. 0 before the first.', ['source']),
  next_run_timestamp_seconds: gauge('When the source is due next. NaN without a schedule.', ['source']),
  runs_total: counter('Runs that ended.', ['source', 'result']),
  records_total: counter(
    'Records that were read from a source (read), and how many of them were new or changed (changed).',
    ['source', 'stream', 'result'],
  ),
  requests_total: counter('Requests to the API by the outcome of their answer.', ['operation', 'outcome']),
  request_duration_seconds: histogram('Time until the API answered a write.', ['operation']),
  deliveries_settled_total: counter('Attempts that were settled, by the state that the delivery took.', [
    'operation',
    'state',
  ]),
  deliveries_failed_total: counter(
    'Deliveries that were rejected, blocked or given up. One that was sent again and failed for the same reason is not counted again.',
    ['operation'],
  ),
  api_state: gauge('1 for the present state of the API as dpp-sync knows it, 0 for other states.', ['state']),
  api_scope_refused: gauge('1 for a scope that the API refuses to the key, 0 for other scopes.', ['scope']),
  api_wait_until_timestamp_seconds: gauge(
    'The end of a wait of more than a minute that the API asks for. If the API names no end, the time at which dpp-sync asks again. NaN without such a wait.',
    [],
  ),
  api_throttled_total: counter('Requests that the API answered with 429.', []),
  api_learnt_rate_per_second: gauge(
    'The highest number of requests a second that dpp-sync sends. NaN while no limit is known.',
    [],
  ),
  left_to_send: gauge(
    'What is still to be sent: writes that are `due` or `sending`, publications that are `following` an initialisation or `requested` and not stored yet, deliveries that are `waiting` for other items or `unconfirmed`, and passports whose product is `incomplete`. Absent while the ledger cannot be read.',
    ['state'],
  ),
  queue_jobs: gauge('Jobs in the queues. Absent while the queue cannot be reached.', ['queue', 'state']),
  ledger_bytes: gauge('Size of the files of the ledger: the database and its log.', ['file']),
  ledger_free_bytes: gauge('Free bytes on the disk of the ledger. NaN if the system does not report them.', []),
  last_backup_timestamp_seconds: gauge(
    'When the last scheduled backup was made. 0 before the first, NaN without scheduled backups.',
    [],
  ),
  alerts_firing: gauge('Alerts of dpp-sync that fire, by condition.', ['condition']),
  alert_notices_total: counter('Notices of alerts that a channel accepted, and attempts that failed.', [
    'channel',
    'result',
  ]),
  config_loaded_timestamp_seconds: gauge('When the config in use was loaded.', []),
  config_refused: gauge('1 while the config file has errors and the former config is used, else 0.', []),
} as const satisfies Record<string, MetricDefinition>;

type Definition<Type extends MetricType> = Omit<MetricDefinition, 'type'> & { type: Type };

function gauge(help: string, labels: readonly string[]): Definition<'gauge'> {
  return { type: 'gauge', help, labels };
}

function counter(help: string, labels: readonly string[]): Definition<'counter'> {
  return { type: 'counter', help, labels };
}

function histogram(help: string, labels: readonly string[]): Definition<'histogram'> & { buckets: readonly number[] } {
  return { type: 'histogram', help, labels, buckets: SECONDS };
}

type NamesOf<Type extends MetricDefinition['type']> = {
  [Name in keyof typeof METRICS]: (typeof METRICS)[Name]['type'] extends Type ? Name : never;
}[keyof typeof METRICS];

/** The metrics of the table, registered at their first use. */
function createInstruments(registry: Registry) {
  const configOf = (name: keyof typeof METRICS) => {
    const { help, labels }: MetricDefinition = METRICS[name];
    return { name: `dpp_sync_${name}`, help, labelNames: [...labels], registers: [registry] };
  };
  return {
    gauge: (name: NamesOf<'gauge'>): Gauge => new Gauge(configOf(name)),
    counter: (name: NamesOf<'counter'>): Counter => new Counter(configOf(name)),
    histogram: (name: NamesOf<'histogram'>): Histogram =>
      new Histogram({ ...configOf(name), buckets: [...METRICS[name].buckets] }),
  };
}

type Instruments = ReturnType<typeof createInstruments>;
