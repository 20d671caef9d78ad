// The parts of a process that works on a ledger: a daemon, or a command such as `sync`.
//
// `openRuntime` opens, in this order: the mappings, the client of the API, the ledger with its lock, the queues, the traces. Then
// it connects the parts that bring records from the sources to the platform: the pulls read them, the mapping makes items, and the
// delivery sends them (`delivery-path.ts`). `close` ends the work in progress, and closes the ledger last. `daemon.ts` shows what a
// daemon does with these parts.
import type { ApiClient } from '../api/api-client.ts';
import { createDelivery, type Delivery } from '../delivery/create-delivery.ts';
import type { RequestGate } from '../delivery/rate/request-gate.ts';
import type { Alerts } from '../domain/ports/alerts.ts';
import type { ReloadStatus } from '../domain/ports/ledger/care-ledger.ts';
import type { Ledger } from '../domain/ports/ledger/ledger.ts';
import type { LedgerViews } from '../domain/ports/ledger/ledger-views.ts';
import { REQUESTS_MAX, type Target } from '../domain/ports/target.ts';
import type { Clock } from '../lib/clock.ts';
import { closeInOrder, type Fault } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { SecretStore } from '../lib/logging/secrets.ts';
import { type ActivityCounter, createActivity } from '../observe/activity.ts';
import { createEventBus, type EventBus } from '../observe/event-bus.ts';
import type { Traces } from '../observe/traces/create-traces.ts';
import type { OperationRuntime, Reloaded } from '../operations/runtime.ts';
import { createMapping, type Mapping } from '../pipeline/map-queue.ts';
import type { StallTiming } from '../queue/backend.ts';
import type { BullmqQueues } from '../queue/bullmq-queues.ts';
import { createQueues } from '../queue/create-queues.ts';
import type { Backups } from './backups/backups.ts';
import { createCaseRuns } from './cases/case-runs.ts';
import { openClient, openGate } from './open-client.ts';
import { type OpenedLedger, openLedger } from './open-ledger.ts';
import { apiTroubles, queuePrefix, readsWithTroubles } from './open-reads.ts';
import { createPlans } from './plan/create-plans.ts';
import { createHeldRuns, type HeldRuns, hasBounds, policyWaits, usePolicy } from './plan/held-runs.ts';
import type { PlannedSync } from './plan/planned-sync.ts';
import { createReplaceSettings, type ReplaceSettings } from './reload/replace-settings.ts';
import { createReplays, type Replays } from './replays.ts';
import { createMappers, type Mappers } from './sources/mappers.ts';
import type { RuntimeConfig } from './sources/open-source.ts';
import { createPulls, type Pulls } from './sources/pulls.ts';
import { createApiWaitWatch, createOutageWatch, createPauseWatch } from './watches.ts';
import { createWorkers, type Workers } from './workers.ts';

export interface RuntimeOptions {
  config: RuntimeConfig;
  /** The command that opens the ledger. Other processes name it in their fault `ledger.held`. */
  command: string;
  /** True if people look at the queue: deliveries that need a person are then shown as failed jobs. */
  showFailedJobs: boolean;
  secrets: SecretStore;
  clock: Clock;
  log: Logger;
  version: string;
  /** Reports how a ledger of an older version is upgraded. Without it, the log reports it. */
  reportUpgrade?: (fields: object, message: string) => void;
  /**
   * Called before a run or a replay reads mappings. A daemon uses it to replace all settings together. Without it, only
   * the files of the mappings are read again at that time.
   */
  beforeMapping?: ((of: 'run' | 'replay') => Promise<void>) | undefined;
  /** For tests, which cannot wait half a minute until a worker counts as dead. */
  queueTiming?: StallTiming | undefined;
  /** For benchmarks, in which all compared programs have the same number of connections. */
  connections?: number | undefined;
  /** True to read the ledger in a separate thread, so that no answer takes time of the thread that syncs. */
  readsApart?: boolean | undefined;
  /** Numbers in [0, 1). */
  random?: () => number;
}

/** All parts of one process that works on a ledger. A pull and a correction start the workers when there is something to map. */
export interface Runtime
  extends Pick<OpenedLedger, 'reads' | 'counting' | 'voided'>,
    Pick<Delivery, 'engine' | 'passports' | 'recheck' | 'platform' | 'unreadable' | 'proving' | 'holdWrites'>,
    Pick<Pulls, 'pull' | 'pulling' | 'hasPull' | 'correct' | 'stopRun'>,
    Pick<Replays, 'replay' | 'replayForm'> {
  config: RuntimeConfig;
  ledger: Ledger;
  /** A random id that never changes for this ledger. */
  ledgerId: string;
  target: Target;
  secrets: SecretStore;
  /** Whether the API can be reached, and which requests it accepts. */
  api: Delivery['health'];
  queues: BullmqQueues;
  bus: EventBus;
  /** What the process has done. */
  activity: ActivityCounter;
  mappers: Mappers;
  /** The runs that exceed the bounds of their sources. */
  held: HeldRuns;
  mapping: Mapping;
  /** Why this process may not write to the ledger any more and has to end; null while it may. */
  ledgerLost(): Fault | null;
  /** Reloads, backups and pauses of a daemon; null in the process of another command. */
  care: DaemonCare | null;
  /** Null in a process that is not a daemon. */
  alerts: Alerts | null;
  startWorkers: Workers['start'];
  stopWorkers: Workers['stop'];
  /** Replaces the settings, for a reload of the config. */
  replaceSettings: ReplaceSettings['replace'];
  /** Reloads changed settings, as before a replay. Only a daemon reloads settings. */
  lookAtConfig(): Promise<void>;
  /** The fault of a queue that a person has paused; null if no queue is paused. */
  paused(): Fault | null;
  /**
   * Prepares to apply exactly the plan of a file. No other run of its sources begins until they were pulled or the plan is closed.
   *
   * @param waitMs how long the run before it may wait, as in `pull`
   */
  preparePlanned(file: string, abort: AbortSignal, waitMs: number): Promise<PlannedSync>;
  plan: OperationRuntime['plan'];
  testCases: OperationRuntime['testCases'];
  /** Waits for the work in progress, and closes everything. */
  close(): Promise<void>;
}

/**
 * Opens ledger, queue and API client for one process. Sends nothing before there is work.
 *
 * @throws Fault when the ledger is locked, the config's mappings are wrong, or the queue is out of reach
 */
export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { config, secrets, clock, log, version, connections = REQUESTS_MAX } = options;
  const mappers = createMappers({ sources: () => config.sources, file: config.file, profile: config.profile });
  await mappers.refreshAll();
  const gate = openGate(config, options);
  const client = openClient(config, { secrets, clock, log, version, pacing: gate, connections });
  const opened = await openLedger({
    config,
    target: client.target,
    mappers,
    clock,
    command: options.command,
    readsApart: options.readsApart === true,
    keepsPolicy: true,
    report: options.reportUpgrade ?? ((fields, message) => log.info(fields, message)),
  });
  let queues: BullmqQueues | null = null;
  try {
    const { id, views } = opened.ledger;
    const url = config.queue.kind === 'embedded' ? 'embedded' : config.queue.url;
    queues = await createQueues({ url, prefix: queuePrefix(id), log, clock, timing: options.queueTiming });
    const traces = await openTraces(config, { ledger: id, views, version, clock, log });
    return connect({ mappers, client, gate, opened, queues, traces }, { ...options, connections });
  } catch (error) {
    await closeInOrder([async () => queues?.close(), () => opened.close()]);
    throw error;
  }
}

interface Opened {
  mappers: Mappers;
  client: ApiClient;
  gate: RequestGate;
  opened: OpenedLedger;
  queues: BullmqQueues;
  traces: Traces | null;
}

/** Connects all parts of a process that has opened its ledger and its queues. */
function connect(
  { mappers, client, gate, opened, queues, traces }: Opened,
  options: RuntimeOptions & { connections: number },
): Runtime {
  const { config, secrets, clock, log, connections, random = Math.random, beforeMapping } = options;
  const { ledger, rules, reads, counting, voided } = opened;
  const { target } = client;
  const openedAt = clock.ticks();
  const bus = createEventBus({ log });
  const { emit } = bus;
  const activity = createActivity({ ledger, countPassports: () => reads.passportCounts({}), clock, log });
  const mapping = createMapping({
    queues,
    ledger,
    mapperOf: mappers.of,
    emit,
    clock,
    onPageStored: traces?.pageStored,
  });
  const replays = createReplays({
    config,
    mappers,
    ledger,
    beforeMapping: beforeMapping && (() => beforeMapping('replay')),
    onReplayed: () => delivery.engine.wake(),
  });
  const delivery = createDelivery({
    ledger,
    queues,
    target,
    reader: client.reader,
    profile: config.profile,
    clock,
    random,
    emit,
    log,
    scrub: (text) => secrets.scrub(text),
    connections,
    gate,
    // The deliveries read with the ledger's own connection: they may not wait for the questions of people.
    reads: ledger.reads,
    assumesEmpty: config.target.firstContact === 'assume-empty',
    ownPublishKey: config.target.publishKey !== null,
    failedJobs: options.showFailedJobs ? { reads: ledger.reads, replay: (id) => replays.replayDelivery(id) } : null,
    isStaging: () => pulls.pulling().length > 0 || mapping.busy(),
    eachRound,
  });
  const { engine, passports, recheck, platform, health: api } = delivery;
  const workers = createWorkers(mapping, engine);
  const { mapQueue } = workers;
  const held = createHeldRuns({ ledgerFile: config.ledger, ledger, note: ledger.views.daemonNote('held') });
  const tools = { secrets, clock, log, version: options.version };
  const plans = createPlans({ config, tools, api });
  const caseRuns = createCaseRuns({ config, mappers, secrets });
  const pulls = createPulls({
    config,
    ledger,
    emit,
    clock,
    log,
    mapQueue,
    beforeRun: async () => beforeMapping?.('run'),
    mapperOf: async (source) => (beforeMapping && mappers.of(source)) ?? (await mappers.refresh(source)),
    onEnd: () => passports.markDirty(),
    gate: {
      isBounded: () => hasBounds(config),
      async open(run, abort) {
        if (!hasBounds(config)) return run.open();
        const { openBounded } = await import('./plan/run-gate.ts');
        const newPolicy = policyWaits({ config, rules });
        return openBounded(run, { config, held, reads, mappers, newPolicy, tools }, abort);
      },
      async completed(source) {
        await usePolicy({ config, rules, ledger });
        await held.end(source);
      },
    },
  });
  const settings = createReplaceSettings({ config, rules, mappers, ledger, delivery, client, pulls, log, mapQueue });
  const pauseWatch = createPauseWatch(queues);
  const outageWatch = createOutageWatch({ api, clock, emit, log });
  const hasAnswered = () => api.hasAnsweredSince(openedAt);
  const apiWaitWatch = createApiWaitWatch({ api, ledger, noted: ledger.views.apiWait(), hasAnswered, emit, log });

  bus.subscribe((event) => activity.observe(event));
  if (traces !== null) bus.subscribe((event) => traces.observe(event));
  bus.subscribe(({ type }) => {
    if (type === 'mapped') delivery.itemsMapped();
  });

  /** What the engine does in its rounds beside the deliveries. */
  async function eachRound(): Promise<void> {
    activity.look();
    await pauseWatch.look();
    outageWatch.look();
    await apiWaitWatch.look();
    await mapping.look();
  }

  async function close(): Promise<void> {
    await closeInOrder([
      async () => settings.stop(),
      () => plans.stop(),
      () => caseRuns.stop(),
      () => workers.stop(),
      // Stores the API's wait, so that other processes can show why work is left after this process has ended.
      () => apiWaitWatch.look(),
      () => activity.end(),
      () => queues.close(),
      () => target.close(),
      async () => traces?.close(),
      () => opened.close(),
    ]);
  }

  return {
    config,
    ledger,
    ledgerId: ledger.id,
    reads: {
      ...readsWithTroubles(reads, () => apiTroubles(api, clock)),
      activity: async (span) => activity.upToNow(await reads.activity(span), span),
    },
    counting,
    voided,
    target,
    secrets,
    queues,
    bus,
    activity,
    mappers,
    held,
    mapping,
    engine,
    passports,
    recheck,
    platform,
    api,
    unreadable: delivery.unreadable,
    proving: delivery.proving,
    holdWrites: delivery.holdWrites,
    ...pulls,
    ...replays,
    ledgerLost: () => ledger.lost(),
    care: null,
    alerts: null,
    startWorkers: workers.start,
    stopWorkers: workers.stop,
    replaceSettings: (next, compiled) => settings.replace(next, compiled),
    lookAtConfig: async () => beforeMapping?.('replay'),
    paused: pauseWatch.fault,
    async preparePlanned(file, abort, waitMs) {
      const { preparePlanned } = await import('./plan/planned-sync.ts');
      await beforeMapping?.('run');
      const holdRuns = (sources: readonly string[]) => pulls.holdRuns(sources, { abort, waitMs });
      return preparePlanned(file, { config, tools, holdRuns }, abort);
    },
    plan: plans.plan,
    testCases: caseRuns.test,
    close,
  };
}

/**
 * Opens the traces that a config asks for. Null if the config asks for none; then no package of OpenTelemetry is
 * loaded.
 *
 * @throws Fault `config.invalid` if the secret of a header is gone
 */
export async function openTraces(
  { observe: { traces } }: RuntimeConfig,
  options: {
    ledger: string;
    /** Reads in this thread, because each page asks. */
    views: Pick<LedgerViews, 'item' | 'run'>;
    version: string;
    clock: Clock;
    log: Logger;
  },
): Promise<Traces | null> {
  if (traces === null) return null;
  const { ledger, views, version, clock, log } = options;
  const headers = await Promise.all(
    Object.entries(traces.headers).map(async ([name, value]) => [name, await value.read()] as const),
  );
  const { createTraces } = await import('../observe/traces/create-traces.ts');
  return createTraces({
    endpoint: traces.endpoint,
    headers: Object.fromEntries(headers),
    sampleRatio: traces.sampleRatio,
    version,
    ledger,
    revisionOf(kind, key) {
      if (kind !== 'product' && kind !== 'material' && kind !== 'bom_item') return null;
      const item = views.item(kind, key);
      // An item that the page has not changed has no open delivery.
      return item === null || item.state === 'delivered' || item.state === 'superseded' ? null : item.revision;
    },
    runBeganAt: (run) => views.run(run)?.startedAt ?? null,
    now: () => clock.now(),
    log,
  });
}

/** The cause of a reload. */
export type ReloadCause = 'file' | 'signal' | 'person';

/**
 * The work that only a daemon does besides runs and deliveries: it replaces its settings, makes backups of its ledger,
 * and observes the pauses of its sources. The dashboard, the admin API, the metrics and the alerts show this work.
 */
export interface DaemonCare {
  /** The last reload; null before the first one. */
  lastReload(): ReloadStatus | null;
  /**
   * Reads the config and all files that it names again. Replaces either all settings or none.
   *
   * @param accept true to use the config that waits for a person
   */
  reload(cause: ReloadCause, accept?: boolean): Promise<Reloaded>;
  /** Calls the listener after each reload that replaced settings. */
  onReload(listener: () => void): void;
  backups: Backups;
  /** The end of the present pause of a source, in milliseconds since the epoch, or Infinity; null if the source is not paused. */
  pausedUntil(source: string): number | null;
}
