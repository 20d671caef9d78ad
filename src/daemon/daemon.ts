import type { Mapper } from '../domain/mapping.ts';
import type { RunTrigger } from '../domain/ports/intake.ts';
import type { QueueName } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { SecretStore } from '../lib/logging/secrets.ts';
import { type Activity, createActivity } from '../observe/activity.ts';
import { createHealth, type Health } from '../observe/health.ts';
import { createMetrics, type Metrics } from '../observe/metrics.ts';
import type { StallTiming } from '../queue/backend.ts';
import { createDaemonAlerts } from './alerts.ts';
import { createBackups } from './backups/backups.ts';
import type { DaemonCare } from './care.ts';
import { createCare, requestLeftRuns } from './create-care.ts';
import { type CurrentState, createCurrentState } from './current-state.ts';
import { createFigures } from './figures.ts';
import { loadRuntimeConfig } from './load.ts';
import { logSettled } from './log-settled.ts';
import { createReload } from './reload/reload.ts';
import { createTokenWatch, reportReload } from './reload/reload-report.ts';
import { openRuntime, type Runtime } from './runtime.ts';
import { createScheduler } from './scheduler.ts';
import { createDueRuns } from './schedules/due-runs.ts';
import { schedulesOf, warnIfIdle } from './schedules/schedules-of.ts';
import { createSourcePauses } from './schedules/source-pauses.ts';
import { watchExports } from './schedules/watch-exports.ts';
import { announced, warnOfGuard } from './sources/announced-pull.ts';
import type { RuntimeConfig } from './sources/open-source.ts';
import { createPullQueue } from './sources/pull-queue.ts';
import { createAuthorizationWatch } from './watches/authorization-watch.ts';

/** A server through which people and programs look at the daemon. */
export interface WebServer {
  /** Where it listens, as `http://127.0.0.1:4280`. */
  url: string;
  /**
   * Takes the token, the users and the allowed hosts of a config that was read again. Sessions of users that have changed
   * have ended; an address or a port that has changed needs a restart.
   *
   * @throws Fault `config.invalid` when the token is gone; then the former credentials stay
   */
  renew(web: NonNullable<RuntimeConfig['web']>): Promise<void>;
  close(): Promise<void>;
}

/** What the web server shows of a daemon, and the requests that it passes on to the daemon. */
export interface WebContext extends CurrentState {
  runtime: Runtime;
  care: DaemonCare;
  health: Health;
  metrics: Metrics;
  activity: Activity;
  /** The sources that are being pulled at the moment. */
  running(): string[];
  /** Queues that a person has paused; null while the queue is out of reach. */
  pausedQueues(): Promise<QueueName[] | null>;
  /** Starts a run of a source, as its schedule does. */
  startRun(source: string, trigger: RunTrigger): Promise<void>;
  /** Asks the API again if it refuses the key, the plan or a scope, because a person may have corrected that before. */
  askRefused(): Promise<void>;
  startedAt: number;
  version: string;
  clock: Clock;
  log: Logger;
}

/** Opens the web server of the config's `web` section. */
export type OpenWeb = (context: WebContext, web: NonNullable<RuntimeConfig['web']>) => Promise<WebServer>;

/** Serves commands that run beside the daemon. */
export interface AdminServer {
  /** Takes no new commands, interrupts the running ones, and sends each watcher its last frame. */
  close(): Promise<void>;
}

export interface AdminContext {
  runtime: Runtime;
  clock: Clock;
  log: Logger;
  version: string;
  /** Takes secrets out of text (I7). */
  scrub: (text: string) => string;
  /** Asks the API again if it refuses the key, the plan or a scope, because a person may have corrected that before a command. */
  askRefused: () => Promise<void>;
}

/** Opens the admin channel, through which commands ask the daemon for work on its ledger. */
export type OpenAdmin = (context: AdminContext) => Promise<AdminServer>;

export interface DaemonOptions {
  config: RuntimeConfig;
  secrets: SecretStore;
  clock: Clock;
  log: Logger;
  version: string;
  /** Not called where the config has no `web` section. */
  openWeb: OpenWeb;
  openAdmin: OpenAdmin;
  /** Reads the config again for a reload. By default it reads the file. */
  load?: (() => Promise<RuntimeConfig>) | undefined;
  /** Time between two requests to an API that refuses dpp-sync. */
  probeMs?: number;
  /** For tests, as `RuntimeOptions` says. */
  queueTiming?: StallTiming | undefined;
}

/** The daemon: schedules, workers and web server of one process. */
export interface Daemon {
  runtime: Runtime;
  observation: CurrentState;
  /** Where the web server listens; null where there is none. */
  url: string | null;
  reload: DaemonCare['reload'];
  /** Starts a run of a source, as its schedule does. */
  startRun(source: string, trigger: RunTrigger): Promise<void>;
  /**
   * Takes on no new work, interrupts runs between two pages, waits for the requests in flight and closes everything.
   * Deliveries that were not sent stay due in the ledger.
   */
  stop(): Promise<void>;
}

const PROBE_MS = 60_000;

/**
 * Starts a daemon. It continues the work in the ledger at once, however the process before it ended.
 *
 * @throws Fault when another process has the ledger, the mappings are wrong, the queue is out of reach or the port is taken
 */
export async function createDaemon(options: DaemonOptions): Promise<Daemon> {
  const { secrets, clock, log, version, queueTiming, probeMs = PROBE_MS } = options;
  // A reload replaces what is in it, so the caller's object stays as it is.
  const config = { ...options.config, target: { ...options.config.target } };
  const shared = { config, secrets, clock, log, version, queueTiming };
  const opened = await openRuntime({
    ...shared,
    command: 'start',
    showFailedJobs: true,
    beforeMapping: (of) => (of === 'replay' ? reload.lookStrictly() : reload.look()),
  });
  const { ledger, queues, api, target, engine, views, bus } = opened;
  const scrub = (text: string) => secrets.scrub(text);
  let server: WebServer | null = null;
  const token = createTokenWatch(config);
  const watching = new AbortController();
  const listeners = new Set<(config: RuntimeConfig) => void>();
  const pausedUntil = createSourcePauses(config);
  const dueRuns = createDueRuns({ ledger, views, clock, log });
  const reload = createReload({
    config,
    load: options.load ?? (() => loadRuntimeConfig(config.file, secrets)),
    compile: (sources) => opened.mappers.compile(sources),
    mapperOf: (source) => opened.mappers.of(source),
    canRenewWeb: () => server === null || server.renew !== undefined,
    replace,
    report: reportReload({ ledger, emit: bus.emit, log }),
    clock,
    log,
  });
  const backups = createBackups({ config, ledgerId: opened.ledgerId, ledger, views, emit: bus.emit, clock, log });
  const care = createCare({ reload, backups, listeners, pausedUntil, clock });
  const alerts = createDaemonAlerts({ runtime: opened, care, clock, log });
  const runtime: Runtime = {
    ...opened,
    care,
    alerts,
    pull: announced(opened, { queues, emit: bus.emit, views, log, scrub }),
  };
  const startedAt = clock.now();
  let stopping: Promise<void> | null = null;

  const pulls = createPullQueue({
    queues,
    hasSource: (source) => config.sources.some(({ id }) => id === source),
    pull: dueRuns.until(runtime.pull),
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
  const authorizationWatch = createAuthorizationWatch({
    api,
    target,
    onReopen: () => engine.wake(),
    emit: bus.emit,
    clock,
    log,
    intervalMs: probeMs,
  });
  const observation = createCurrentState({ runtime, nextRun: (source) => scheduler.nextRun(source), clock });
  const figures = createFigures({ runtime, care, alerts, clock, log });
  const metrics = createMetrics({ version, figures });
  bus.subscribe((event) => metrics.observe(event));
  bus.subscribe((event) => logSettled(log, event));
  const activity = createActivity(clock);
  bus.subscribe((event) => activity.observe(event));
  bus.subscribe((event) => {
    if (event.type !== 'guard_held') return;
    const { type: _, ...held } = event;
    warnOfGuard(log, held);
  });
  const health = createHealth({
    touchLedger: () => ledger.touch(),
    ledgerLost: () => runtime.ledgerLost() !== null,
    askQueue: () => queues.touch(),
    api: () => observation.api(),
    apiWait: () => observation.apiWait(),
    reload: () => reload.last(),
    stopping: () => stopping !== null,
    clock,
  });
  const startRun: Daemon['startRun'] = (source, trigger) => pulls.startRun(source, trigger);
  let admin: AdminServer | null = null;
  let following: Promise<void> = Promise.resolve();
  let watchingExports: Promise<void> = Promise.resolve();

  /** A secret of the dashboard may be gone since the config was read: the server then goes on with the former one. */
  async function renewWeb(): Promise<boolean> {
    try {
      const isNewToken = await token.isNew();
      if (config.web !== null) await server?.renew?.(config.web);
      return isNewToken;
    } catch (error) {
      log.error({ err: error }, `The dashboard goes on with its former token and users: ${messageOf(error)}`);
      return false;
    }
  }

  async function replace(next: RuntimeConfig, mappers: ReadonlyMap<string, Mapper>) {
    const { isNewKey, after } = await opened.replaceSettings(next, mappers);
    scheduler.replace(schedulesOf(config));
    backups.renew();
    if (isNewKey) authorizationWatch.askNow().catch(() => undefined);
    const isNewToken = await renewWeb();
    for (const listener of listeners) listener(config);
    return { after, secrets: [...(isNewKey ? ['target.apiKey'] : []), ...(isNewToken ? ['web.token'] : [])] };
  }

  async function pausedQueues(): Promise<QueueName[] | null> {
    try {
      return await queues.paused();
    } catch {
      // The health of the daemon shows that the queue is out of reach.
      return null;
    }
  }

  async function stopAll(): Promise<void> {
    // First the parts that bring new work are stopped, then those that do it, and the ledger is closed last.
    watching.abort();
    await following;
    await Promise.all([scheduler.stop(), backups.stop(), watchingExports]);
    await alerts.stop();
    await server?.close();
    await authorizationWatch.stop();
    // Commands are interrupted together with the runs, since each may wait for a run of the other.
    await Promise.all([pulls.stop(), admin?.close()]);
    await runtime.close();
  }
  const stop = (): Promise<void> => {
    stopping ??= stopAll();
    return stopping;
  };

  try {
    // The config that this daemon was started with is valid.
    await ledger.noteDaemon('reload', null);
    await token.isNew();
    await runtime.startWorkers();
    await pulls.start();
    authorizationWatch.start();
    if (config.web !== null) {
      const context = {
        ...observation,
        runtime,
        care,
        health,
        metrics,
        activity,
        running: () => runtime.pulling(),
        pausedQueues,
      };
      const asks = { startRun, askRefused: () => authorizationWatch.askNow() };
      server = await options.openWeb({ ...context, ...asks, startedAt, version, clock, log }, config.web);
    }
    admin = await options.openAdmin({
      runtime,
      clock,
      log,
      version,
      scrub,
      askRefused: () => authorizationWatch.askNow(),
    });
    scheduler.start();
    backups.start();
    alerts.start();
    requestLeftRuns(config, { scheduler, dueRuns, lastRun: (source) => views.runs({ source, limit: 1 })[0], log });
    warnIfIdle(config, log);
    following = reload.follow(watching.signal);
    watchingExports = watchExports(
      { config, ledger, views, dueRuns, scheduler, pulling: () => runtime.pulling(), clock, log },
      watching.signal,
    );
  } catch (error) {
    await stop().catch((second: unknown) => log.error({ err: second }, 'What was opened could not be closed again.'));
    throw error;
  }
  return { runtime, observation, url: server?.url ?? null, reload: (cause) => care.reload(cause), startRun, stop };
}
