// Every metric of dpp-sync: the registry and docs/metrics.md are made of this table.
//
// Conventions of Prometheus: base units, `_total` at the end of counters alone, `_timestamp_seconds` for a moment. A moment that
// never was is 0, so that its age is large. A value that does not apply is NaN, so that no comparison with it holds.

type MetricType = 'counter' | 'gauge' | 'histogram';

export interface MetricDefinition {
  type: MetricType;
  help: string;
  labels: readonly string[];
  /** Upper bounds of the buckets of a histogram. */
  buckets?: readonly number[];
}

const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** By the name without `dpp_sync_`. */
export const METRICS = {
  build_info: gauge('Always 1. The label says which version runs.', ['version']),
  items: gauge('Items in the ledger by the state of their delivery. Passports are one of the kinds.', [
    'source',
    'kind',
    'state',
  ]),
  passports: gauge('Passports of the products in the ledger by what people see of them.', ['source', 'state']),
  quarantined_records: gauge('Records that could not be mapped or validated.', ['source', 'stream']),
  missing_items: gauge('Items that their source no longer has, until a person or the config decides.', [
    'source',
    'kind',
  ]),
  oldest_due_age_seconds: gauge('How long the oldest delivery has been due that was not sent yet. 0 without one.', [
    'source',
  ]),
  guard_held: gauge('1 for a stream whose last export the guard takes for broken, 0 for the others.', [
    'source',
    'stream',
  ]),
  running: gauge('1 while a source is being pulled, 0 otherwise.', ['source']),
  last_run_records: gauge(
    'The account of the last run of each stream. read = unchanged + changed + quarantined + excluded.',
    ['source', 'stream', 'result'],
  ),
  last_run_result: gauge('1 for the result of the last run that ended, 0 for the others.', ['source', 'result']),
  last_run_ended_timestamp_seconds: gauge('When the last run ended. 0 before the first.', ['source']),
  last_complete_run_timestamp_seconds: gauge('When the last complete run ended. 0 before the first.', ['source']),
  next_run_timestamp_seconds: gauge('When the source is due next. NaN without a schedule.', ['source']),
  runs_total: counter('Runs that ended.', ['source', 'result']),
  records_total: counter('Records that were read from a source, and of them those that were new or changed.', [
    'source',
    'stream',
    'result',
  ]),
  requests_total: counter('Requests to the API by what their answer means.', ['operation', 'outcome']),
  request_duration_seconds: histogram('Time until the API answered a write.', ['operation']),
  deliveries_settled_total: counter('Attempts that were settled, by the state that the delivery took.', [
    'operation',
    'state',
  ]),
  api_state: gauge('1 for the state that the API is in as far as we know, 0 for the others.', ['state']),
  api_scope_refused: gauge('1 for a scope that the API refuses to the key, 0 for the others.', ['scope']),
  api_wait_until_timestamp_seconds: gauge(
    'End of the wait beyond a minute that the API asks for, or the next question where it names no end. NaN without a wait.',
    [],
  ),
  api_throttled_total: counter('Requests that the API answered with 429.', []),
  api_learnt_rate_per_second: gauge('Requests a second that are sent at most. NaN while no limit is known.', []),
  queue_jobs: gauge('Jobs in the queues. Absent while the queue is out of reach.', ['queue', 'state']),
  ledger_bytes: gauge('Size of the files of the ledger: the database and its log.', ['file']),
  ledger_free_bytes: gauge('Free room on the disk of the ledger. NaN where the system does not say.', []),
  last_backup_timestamp_seconds: gauge(
    'When the last scheduled backup was made. 0 before the first, NaN without scheduled backups.',
    [],
  ),
  alerts_firing: gauge('Alerts of dpp-sync that fire, by condition.', ['condition']),
  alert_notices_total: counter('Notices of alerts that were handed to a channel, and tries that failed.', [
    'channel',
    'result',
  ]),
  config_loaded_timestamp_seconds: gauge('When the config in use was loaded.', []),
  config_refused: gauge('1 while the config file has errors and the config loaded before it is used, else 0.', []),
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
