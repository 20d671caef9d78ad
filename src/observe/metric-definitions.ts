import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

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
export function createInstruments(registry: Registry) {
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

export type Instruments = ReturnType<typeof createInstruments>;
