import type { ApiClient } from '../api/api-client.ts';
import { wireFormsOf } from '../api/wire-forms.ts';
import type { ApiHealth } from '../delivery/admission/api-health.ts';
import { createDelivery, type Delivery } from '../delivery/create-delivery.ts';
import type { Engine } from '../delivery/engine.ts';
import type { Passports } from '../delivery/passports.ts';
import type { PlatformRequests } from '../delivery/platform-requests.ts';
import type { RequestGate } from '../delivery/rate/request-gate.ts';
import type { Recheck } from '../delivery/recheck.ts';
import type { PassportRules } from '../domain/passport.ts';
import type { Alerts } from '../domain/ports/alerts.ts';
import type { Ledger } from '../domain/ports/ledger/ledger.ts';
import type { Reads } from '../domain/ports/ledger/reads.ts';
import type { FormReplay, FormReplayOutcome } from '../domain/ports/replay.ts';
import { REQUESTS_MAX, type Target } from '../domain/ports/target.ts';
import { createLedgerReader } from '../ledger/reader/ledger-reader.ts';
import { openSqliteLedger, type SqliteLedger } from '../ledger/sqlite-ledger.ts';
import type { Clock } from '../lib/clock.ts';
import { closeInOrder } from '../lib/close-in-order.ts';
import type { Fault } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { SecretStore } from '../lib/logging/secrets.ts';
import { createEventBus, type EventBus } from '../observe/event-bus.ts';
import { createMapping, type Mapping } from '../pipeline/create-mapping.ts';
import type { MapQueue } from '../pipeline/map-queue.ts';
import { type ReplayReport, type ReplayRequest, replayForm } from '../pipeline/replay.ts';
import type { StallTiming } from '../queue/backend.ts';
import type { BullmqQueues } from '../queue/bullmq-queues.ts';
import { createQueues } from '../queue/create-queues.ts';
import type { DaemonCare } from './care.ts';
import { openClient, openGate } from './open-client.ts';
import { openTraces } from './open-traces.ts';
import { passportRulesOf } from './passport-rules.ts';
import { createReplaceSettings, type ReplaceSettings } from './reload/replace-settings.ts';
import { createReplayNow, replayDelivery } from './replays.ts';
import { createMappers, type Mappers, withValuesByHand } from './sources/mappers.ts';
import type { RuntimeConfig } from './sources/open-source.ts';
import { createPulls, type Pulls } from './sources/pulls.ts';
import { queuePrefix } from './views/open-views.ts';
import { createApiWaitWatch, createOutageWatch, createPauseWatch } from './watches.ts';

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

/**
 * All parts of one process that works on a ledger. A pull and a correction start the workers when there is something to
 * map.
 */
export interface Runtime extends Pick<Pulls, 'pull' | 'pulling' | 'hasPull' | 'correct' | 'stopRun'> {
  config: RuntimeConfig;
  ledger: Ledger;
  /** A random id that never changes for this ledger. */
  ledgerId: string;
  /** The reader of the ledger: in a daemon a separate thread, which starts at the first question. */
  reads: Reads;
  /** Counts for the metrics, which another separate thread reads. */
  counting: Pick<Reads, 'sourceCounts'>;
  target: Target;
  /** Requests that people make beside the deliveries. */
  platform: PlatformRequests;
  secrets: SecretStore;
  /** Whether the API can be reached, and which requests it accepts. */
  api: ApiHealth;
  queues: BullmqQueues;
  bus: EventBus;
  mappers: Mappers;
  engine: Engine;
  mapQueue: MapQueue;
  passports: Passports;
  recheck: Recheck;
  /**
   * Of the lists whose last read failed, the one that has failed for the longest time. Deliveries wait for it. Null if
   * there is none.
   */
  unreadable: Delivery['unreadable'];
  /** Why this process may not write to the ledger any more and has to end; null while it may. */
  ledgerLost(): Fault | null;
  /** Reloads, backups and pauses of a daemon; null in the process of another command. */
  care: DaemonCare | null;
  /** Null in a process that is not a daemon. */
  alerts: Alerts | null;
  /** How many deliveries were being sent when the last process ended. */
  voided: number;
  startWorkers: Workers['start'];
  stopWorkers: Workers['stop'];
  /** Replaces the settings, for a reload of the config. */
  replaceSettings: ReplaceSettings['replace'];
  replay(request: ReplayRequest): Promise<ReplayReport>;
  /** Reloads changed settings, as before a replay. Only a daemon reloads settings. */
  lookAtConfig(): Promise<void>;
  /** Sends the items again that the platform has in another form than the profile now has. */
  replayForm(request: Omit<FormReplay, 'after'>): Promise<FormReplayOutcome>;
  /** The fault of a queue that a person has paused; null if no queue is paused. */
  paused(): Fault | null;
  /** True while a record waits for the mapping or is being mapped. */
  mapping(): boolean;
  /** The sources of the config whose stored records wait to be mapped. */
  pendingSources: Mapping['pendingSources'];
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
  const mappers = createMappers({ sources: () => config.sources, baseDir: config.folder, profile: config.profile });
  await mappers.refreshAll();
  const gate = openGate(config, options);
  const client = openClient(config, { secrets, clock, log, version, pacing: gate, connections });
  const rules = passportRulesOf(config);
  const { target } = client;
  const ledger = openSqliteLedger({
    file: config.ledger,
    target: config.target.baseUrl,
    profile: config.profile,
    passportRules: rules,
    guardOf: (source) => config.sources.find(({ id }) => id === source)?.guard ?? null,
    contactRules: { firstContact: config.target.firstContact, bom: config.target.bom },
    clock,
    command: options.command,
    forms: wireFormsOf(config.profile),
    encode: target.encode.bind(target),
    encodeImport: target.encodeImport.bind(target),
    report: options.reportUpgrade ?? ((fields, message) => log.info(fields, message)),
  });
  try {
    return await runtimeOn({ mappers, client, gate, ledger, rules }, { ...options, connections });
  } catch (error) {
    await ledger.close();
    throw error;
  }
}

interface Opened {
  mappers: Mappers;
  rules: PassportRules;
  client: ApiClient;
  gate: RequestGate;
  ledger: SqliteLedger;
}

/** Connects all parts of a process that works on an opened ledger. */
async function runtimeOn(
  { mappers, client, gate, ledger: opened, rules }: Opened,
  options: RuntimeOptions & { connections: number },
): Promise<Runtime> {
  const { config, secrets, clock, log, queueTiming, connections, random = Math.random, beforeMapping } = options;
  const { profile } = config;
  const { target } = client;
  const ledger = await withValuesByHand(opened, mappers);
  const { views } = ledger;
  const bus = createEventBus({ log });
  const { emit } = bus;
  const readerData = {
    file: config.ledger,
    ledgerId: ledger.id,
    forms: wireFormsOf(profile),
    passportRules: () => rules,
  };
  const reader = options.readsApart === true ? createLedgerReader(readerData) : null;
  const reads = reader?.reads ?? ledger.reads;
  // Counts have a separate reader, because counting a million items takes long and a page must not wait for it.
  const counting = createLedgerReader({ ...readerData, warms: false });
  const { voided } = await ledger.recover(profile.settlingDelayMs.reset);
  await ledger.defineLookups(mappers.lookups(), { isAll: true });
  const url = config.queue.kind === 'embedded' ? 'embedded' : config.queue.url;
  const queues = await createQueues({ url, prefix: queuePrefix(ledger.id), log, clock, timing: queueTiming });

  const mapperOf = (source: string) => mappers.of(source);
  const traces = await openTraces(config, { ledger: ledger.id, views, version: options.version, clock, log });
  if (traces !== null) bus.subscribe((event) => traces.observe(event));
  const onPageStored = traces?.pageStored;
  const mapping = createMapping({ queues, ledger, mapperOf, emit: emitAndWake, clock, onPageStored });
  const { mapQueue } = mapping;
  const pauseWatch = createPauseWatch(queues);

  const replayNow = createReplayNow({
    config,
    mappers,
    ledger,
    beforeMapping: beforeMapping && (() => beforeMapping('replay')),
    onReplayed: () => delivery.engine.wake(),
  });

  function emitAndWake(event: Parameters<typeof emit>[0]): void {
    emit(event);
    if (event.type === 'mapped') delivery.itemsMapped();
  }

  const delivery = createDelivery({
    ledger,
    queues,
    target,
    reader: client.reader,
    profile,
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
    failedJobs: options.showFailedJobs ? { reads: ledger.reads, replay: (id) => replayDelivery(id, replayNow) } : null,
    isStaging: () => pulls.pulling().length > 0 || mapping.busy(),
    async eachRound() {
      await pauseWatch.look();
      outageWatch.look();
      await apiWaitWatch.look();
      await mapping.look();
    },
  });
  const { engine, passports, recheck, platform, health: api } = delivery;
  const workers = createWorkers(mapping, engine);
  const pulls = createPulls({
    config,
    ledger,
    emit,
    clock,
    log,
    mapQueue: workers.mapQueue,
    beforeRun: async () => beforeMapping?.('run'),
    mapperOf: async (source) => (beforeMapping && mappers.of(source)) ?? (await mappers.refresh(source)),
    onEnd: () => passports.markDirty(),
  });
  const outageWatch = createOutageWatch({ api, clock, emit, log });
  const openedAt = clock.ticks();
  const settings = createReplaceSettings({
    config,
    rules,
    mappers,
    ledger,
    delivery,
    client,
    pulls,
    log,
    mapQueue: workers.mapQueue,
  });
  const hasAnswered = () => api.hasAnsweredSince(openedAt);
  const apiWaitWatch = createApiWaitWatch({ api, ledger, noted: views.apiWait(), hasAnswered, emit, log });

  return {
    config,
    ledger,
    ledgerId: ledger.id,
    reads,
    counting: counting.reads,
    target,
    platform,
    secrets,
    api,
    queues,
    bus,
    mappers,
    engine,
    mapQueue,
    passports,
    recheck,
    unreadable: delivery.unreadable,
    ledgerLost: () => ledger.lost(),
    care: null,
    alerts: null,
    voided,
    startWorkers: () => workers.start(),
    stopWorkers: () => workers.stop(),
    replaceSettings: (next, compiled) => settings.replace(next, compiled),
    ...pulls,
    replay: replayNow,
    lookAtConfig: async () => beforeMapping?.('replay'),
    async replayForm(request) {
      const outcome = await replayForm(request, ledger);
      delivery.engine.wake();
      return outcome;
    },
    paused: () => pauseWatch.fault(),
    mapping: () => mapping.busy(),
    pendingSources: () => mapping.pendingSources(),

    async close() {
      await closeInOrder([
        async () => settings.stop(),
        () => workers.stop(),
        // Stores the API's wait, so that other processes can show why work is left after this process has ended.
        () => apiWaitWatch.look(),
        () => queues.close(),
        () => target.close(),
        async () => traces?.close(),
        // The readers close before the ledger, because the log is removed when the last connection is closed.
        async () => reader?.close(),
        () => counting.close(),
        () => ledger.close(),
      ]);
    },
  };
}

/** The workers of the queues that map and deliver. */
function createWorkers({ mapQueue, pendingSources }: Mapping, engine: Engine) {
  let started: Promise<void> | null = null;
  let stopped: Promise<void> | null = null;

  async function startAll(): Promise<void> {
    await mapQueue.start();
    await engine.start();
  }

  const start = (): Promise<void> => {
    started ??= startAll();
    return started;
  };

  return {
    /** Opens the queue, and begins to map and deliver. Further calls do nothing. */
    start,
    /** Begins nothing new, and waits for the work in progress. Further calls do nothing. */
    stop(): Promise<void> {
      // `stop` ignores a failed start, because the caller of `start` has reported it.
      stopped ??= Promise.allSettled([started]).then(() => closeInOrder([() => mapQueue.stop(), () => engine.stop()]));
      return stopped;
    },
    /** The `map` queue for a pull. Its workers are started when there is something to map. */
    mapQueue: {
      room: mapQueue.room,
      async mapPage(...page: Parameters<MapQueue['mapPage']>) {
        await start();
        return await mapQueue.mapPage(...page);
      },
      async mapStored(source: string) {
        if (!pendingSources().includes(source)) return;
        await start();
        await mapQueue.mapStored(source);
      },
    },
  };
}

export type Workers = ReturnType<typeof createWorkers>;
