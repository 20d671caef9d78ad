import { createApiClient } from '../api/api-client.ts';
import type { ApiHealth } from '../delivery/admission/api-health.ts';
import { createDelivery, type Delivery } from '../delivery/create-delivery.ts';
import type { Engine } from '../delivery/engine.ts';
import type { Passports } from '../delivery/passports.ts';
import type { PlatformRequests } from '../delivery/platform-requests.ts';
import type { Recheck } from '../delivery/recheck.ts';
import { fault } from '../domain/faults.ts';
import type { RunTrigger } from '../domain/ports/intake.ts';
import type { Ledger } from '../domain/ports/ledger.ts';
import type { LedgerViews } from '../domain/ports/ledger-views.ts';
import { REQUESTS_MAX, type Target } from '../domain/ports/target.ts';
import { pausedFault } from '../domain/queue-paused.ts';
import { openSqliteLedger } from '../ledger/sqlite-ledger.ts';
import type { Clock } from '../lib/clock.ts';
import { closeInOrder } from '../lib/close-in-order.ts';
import type { Fault } from '../lib/errors.ts';
import { createKeyedLock } from '../lib/keyed-lock.ts';
import type { Logger } from '../lib/logging.ts';
import type { SecretStore } from '../lib/secrets.ts';
import { createEventBus, type EventBus } from '../observe/event-bus.ts';
import { createMapQueue, type MapQueue } from '../pipeline/map-queue.ts';
import { createStoredRecordMapper } from '../pipeline/map-stored.ts';
import { createPageJobs } from '../pipeline/page-jobs.ts';
import { type PullResult, pull } from '../pipeline/pull.ts';
import { type ReplayReport, type ReplayRequest, replay } from '../pipeline/replay.ts';
import type { StallTiming } from '../queue/backend.ts';
import type { BullmqQueues } from '../queue/bullmq-queues.ts';
import { createQueues } from '../queue/create-queues.ts';
import { queuePrefix } from './open-views.ts';
import { passportRulesOf } from './passport-rules.ts';
import { replayDelivery } from './replay-delivery.ts';
import { createMappers, type Mappers } from './sources/mappers.ts';
import type { ConfiguredSource, RuntimeConfig } from './sources/open-source.ts';
import { openToPull } from './sources/open-to-pull.ts';
import { createApiWaitWatch } from './watches/api-wait-watch.ts';
import { createOutageWatch } from './watches/outage-watch.ts';

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
  /** Reports how a ledger of an older version is upgraded. Without it the log reports it. */
  reportUpgrade?: (fields: object, message: string) => void;
  /** For tests, which cannot wait half a minute until a worker counts as dead. */
  queueTiming?: StallTiming | undefined;
  /** For benchmarks, in which all programs have the same number of connections. */
  connections?: number | undefined;
  /** Numbers in [0, 1). */
  random?: () => number;
}

/** All parts of one process that works on a ledger. */
export interface Runtime {
  config: RuntimeConfig;
  ledger: Ledger;
  views: LedgerViews;
  target: Target;
  /** Requests of people beside the deliveries. */
  platform: PlatformRequests;
  secrets: SecretStore;
  /** Whether the API is there, and what it takes. */
  api: ApiHealth;
  queues: BullmqQueues;
  bus: EventBus;
  mappers: Mappers;
  engine: Engine;
  mapQueue: MapQueue;
  passports: Passports;
  recheck: Recheck;
  /**
   * The list that could not be read for the longest time, and that unconfirmed deliveries wait for; null if every list
   * was read the last time.
   */
  unreadable: Delivery['unreadable'];
  /** Why this process may not write to the ledger any more and has to end; null while it may. */
  ledgerLost(): Fault | null;
  /** How many deliveries were being sent when the last process ended. */
  voided: number;
  /** Opens the queue, and begins to map and deliver. Further calls do nothing. */
  startWorkers(): Promise<void>;
  /** Begins nothing new, and waits for the work in progress. Further calls do nothing. */
  stopWorkers(): Promise<void>;
  /**
   * Pulls one source after its earlier runs have ended, because two readers of one source would change the same cursor.
   * Starts the workers when there is something to map.
   *
   * @throws Fault `interrupted` if it is aborted before it has begun, or the reason why the run before it waits
   * @param waitMs how long this run and the one before it may wait for a ledger that cannot be written, or for a `map`
   *   queue that takes no jobs; for ever without it
   */
  pull(source: string, trigger: RunTrigger, abort: AbortSignal, waitMs?: number): Promise<PullResult>;
  /** The sources that are being pulled. */
  pulling(): string[];
  replay(request: ReplayRequest): Promise<ReplayReport>;
  /** The fault of a queue that a person has paused; null if no queue is paused. */
  paused(): Fault | null;
  /** True while a record waits for the mapping or is being mapped. */
  mapping(): boolean;
  /** Waits for the work in progress, and closes everything. */
  close(): Promise<void>;
}

/** How often a run checks whether the earlier run of its source waits for the ledger. */
const REST_LOOK_MS = 200;

/**
 * Opens ledger, queue and API client for one process. Sends nothing before there is work.
 *
 * @throws Fault when the ledger is locked, the config's mappings are wrong, or the queue is out of reach
 */
export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { config, command, secrets, clock, log, version, queueTiming } = options;
  const { connections = REQUESTS_MAX, random = Math.random } = options;
  const { profile } = config;
  const bus = createEventBus({ log });
  const { emit } = bus;
  const mappers = createMappers({ sources: config.sources, baseDir: config.folder });
  await mappers.refreshAll();

  const { baseUrl, apiKey, publishKey, maxRate } = config.target;
  const keys = publishKey === null ? { apiKey } : { apiKey, publishKey };
  const { target, reader } = createApiClient({
    baseUrl,
    profile,
    ...keys,
    secrets,
    clock,
    log,
    version,
    connections,
  });
  const encode = target.encode.bind(target);
  const encodeImport = target.encodeImport.bind(target);
  const ledger = openSqliteLedger({
    file: config.ledger,
    target: baseUrl,
    profile,
    passportRules: passportRulesOf(config),
    contactRules: { firstContact: config.target.firstContact, bom: config.target.bom },
    clock,
    command,
    encode,
    encodeImport,
    report: options.reportUpgrade ?? ((fields, message) => log.info(fields, message)),
  });
  const { views } = ledger;

  try {
    const { voided } = await ledger.recover(profile.settlingDelayMs.reset);
    const url = config.queue.kind === 'embedded' ? 'embedded' : config.queue.url;
    const queues = await createQueues({ url, prefix: queuePrefix(ledger.id), log, clock, timing: queueTiming });

    const mapperOf = (source: string) => mappers.of(source);
    const mapQueue = createMapQueue({
      queues,
      pages: createPageJobs({ queues, ledger, emit: emitAndWake }),
      storedRecords: createStoredRecordMapper({ ledger, mapperOf, emit: emitAndWake }),
    });

    async function replayNow(request: ReplayRequest): Promise<ReplayReport> {
      await mappers.refreshAll();
      const report = await replay(request, { ledger, mapperOf });
      delivery.engine.wake();
      return report;
    }

    const pulling = new Set<string>();
    /** The runs that wait for the ledger or for the `map` queue, each with the reason. */
    const resting = new Map<string, { reason: Fault; since: number }>();
    const sourceLock = createKeyedLock();
    const mapping = (): boolean => mapQueue.busy() || views.pendingSources().length > 0;

    /**
     * The fault of a queue that a person has paused in a dashboard. The `pull` queue does not count, because its jobs
     * have not begun.
     */
    let paused: Fault | null = null;

    function emitAndWake(event: Parameters<typeof emit>[0]): void {
      emit(event);
      if (event.type === 'mapped') delivery.itemsMapped();
    }

    const delivery = createDelivery({
      ledger,
      queues,
      target,
      reader,
      profile,
      clock,
      random,
      emit,
      log,
      scrub: (text) => secrets.scrub(text),
      connections,
      maxRate,
      ownPublishKey: publishKey !== null,
      failedJobs: options.showFailedJobs ? { views, replay: (id) => replayDelivery(id, replayNow) } : null,
      isStaging: () => pulling.size > 0 || mapping(),
      async eachRound() {
        paused = pausedFault((await queues.paused()).filter((name) => name !== 'pull'));
        outageWatch.look();
        await apiWaitWatch.look();
        await mapQueue.watch(views.pendingSources());
      },
    });
    const { engine, passports, recheck, platform, health: api } = delivery;
    const outageWatch = createOutageWatch({ api, clock, emit, log });
    const openedAt = clock.ticks();
    const hasAnswered = () => api.hasAnsweredSince(openedAt);
    const apiWaitWatch = createApiWaitWatch({ api, ledger, views, hasAnswered, emit, log });

    function reportPause(source: string, reason: Fault | null): void {
      if (reason === null) resting.delete(source);
      else resting.set(source, { reason, since: clock.ticks() });
      if (reason === null) log.info({ source }, `The run of ${source} goes on.`);
      else log.error({ source, error: reason.message }, `The run of ${source} rests: ${reason.message}`);
    }

    let workers: Promise<void> | null = null;
    const startWorkers = (): Promise<void> => {
      workers ??= (async () => {
        await mapQueue.start();
        await engine.start();
      })();
      return workers;
    };
    /** The `map` queue for a pull. Its workers are started when there is something to map. */
    const startedMapQueue: Pick<MapQueue, 'mapPage' | 'mapStored' | 'room'> = {
      room: (abort) => mapQueue.room(abort),
      async mapPage(page, wait, abort) {
        await startWorkers();
        return await mapQueue.mapPage(page, wait, abort);
      },
      async mapStored(source) {
        if (!views.pendingSources().includes(source)) return;
        await startWorkers();
        await mapQueue.mapStored(source);
      },
    };
    let stopped: Promise<void> | null = null;
    const stopWorkers = (): Promise<void> => {
      // A failed start of the workers was reported by its own caller.
      stopped ??= Promise.allSettled([workers]).then(() => closeInOrder([() => mapQueue.stop(), () => engine.stop()]));
      return stopped;
    };

    /**
     * Waits for the earlier runs of a source, at most `waitMs` for one that waits itself. Returns a function that
     * releases the lock.
     */
    async function lockSource(id: string, abort: AbortSignal, waitMs: number): Promise<() => void> {
      const begin = clock.ticks();
      const atRest = new AbortController();
      const timer = setInterval(() => {
        const rest = resting.get(id);
        if (rest !== undefined && clock.ticks() - Math.max(begin, rest.since) >= waitMs) atRest.abort(rest.reason);
      }, REST_LOOK_MS);
      try {
        const release = await sourceLock.acquire(id, AbortSignal.any([abort, atRest.signal]));
        if (release !== null) return release;
      } finally {
        clearInterval(timer);
      }
      if (!abort.aborted) atRest.signal.throwIfAborted();
      throw fault('interrupted', `The run of ${id} was stopped before it began.`);
    }

    /** Pulls a source whose lock is taken. */
    async function pullLocked(
      source: ConfiguredSource,
      trigger: RunTrigger,
      abort: AbortSignal,
      waitMs: number,
    ): Promise<PullResult> {
      const { id, omit, guard, onMissing } = source;
      const wait = { clock, waitMs, onPause: (reason: Fault | null) => reportPause(id, reason) };
      const opening = { config, mappers, log, ledger, wait };
      const { mapper, records } = await openToPull({ source, trigger }, opening, abort);
      try {
        const request = { source: id, trigger, reader: records, mapper, omit, guard };
        const working = { ledger, emit, mapQueue: startedMapQueue, wait };
        return await pull({ ...request, ignoreMissing: onMissing === 'ignore' }, working, abort);
      } finally {
        await records.close();
      }
    }

    return {
      config,
      ledger,
      views,
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
      voided,
      startWorkers,
      stopWorkers,
      pulling: () => [...pulling],
      replay: replayNow,
      paused: () => paused,
      mapping,

      async pull(id, trigger, abort, waitMs = Number.POSITIVE_INFINITY) {
        const source = config.sources.find((one) => one.id === id);
        if (!source) throw fault('usage', `There is no source "${id}" in ${config.file}.`);
        const release = await lockSource(id, abort, waitMs);
        pulling.add(id);
        try {
          return await pullLocked(source, trigger, abort, waitMs);
        } finally {
          pulling.delete(id);
          resting.delete(id);
          passports.markDirty();
          release();
        }
      },

      async close() {
        await closeInOrder([
          stopWorkers,
          // Stores the API's wait, so that other processes can show why this one has left work undone.
          () => apiWaitWatch.look(),
          () => queues.close(),
          () => target.close(),
          () => ledger.close(),
        ]);
      },
    };
  } catch (error) {
    await ledger.close();
    throw error;
  }
}
