import type { Mapper } from '../domain/mapping.ts';
import type { RunTrigger } from '../domain/ports/intake.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { SecretStore } from '../lib/logging/secrets.ts';
import type { StallTiming } from '../queue/backend.ts';
import { createDaemonAlerts } from './alerts.ts';
import { createBackups } from './backups/backups.ts';
import type { DaemonCare } from './care.ts';
import { createCare, requestLeftRuns } from './create-care.ts';
import { createDaemonRuns } from './daemon-runs.ts';
import type { AdminServer, OpenAdmin, OpenWeb, WebServer } from './daemon-servers.ts';
import { reloadRuntimeConfig } from './load.ts';
import { observeDaemon } from './observe-daemon.ts';
import { createReload } from './reload/reload.ts';
import { createTokenWatch, reportReload } from './reload/reload-report.ts';
import { openRuntime, type Runtime } from './runtime.ts';
import { schedulesOf, warnIfIdle } from './schedules/schedules-of.ts';
import { createSourcePauses } from './schedules/source-pauses.ts';
import { watchExports } from './schedules/watch-exports.ts';
import { createSentLog } from './sent-log.ts';
import { announced } from './sources/announced-pull.ts';
import type { RuntimeConfig } from './sources/open-source.ts';
import type { CurrentState } from './views/current-state.ts';
import { createAuthorizationWatch } from './watches/authorization-watch.ts';

export interface DaemonOptions {
  config: RuntimeConfig;
  secrets: SecretStore;
  clock: Clock;
  log: Logger;
  version: string;
  /** Not called if the config has no `web` section. */
  openWeb: OpenWeb;
  openAdmin: OpenAdmin;
  /** Reads the config again for a reload. By default it reads the file. */
  load?: (() => Promise<RuntimeConfig>) | undefined;
  /** Time between two requests to an API that refuses dpp-sync. */
  probeMs?: number;
  /** For tests; see `RuntimeOptions`. */
  queueTiming?: StallTiming | undefined;
}

/** The daemon: schedules, workers and web server of one process. */
export interface Daemon {
  runtime: Runtime;
  observation: CurrentState;
  /** The address of the web server; null if there is none. */
  url: string | null;
  reload: DaemonCare['reload'];
  /** Starts a run of a source, as its schedule does. */
  startRun(source: string, trigger: RunTrigger): Promise<void>;
  /**
   * Begins no new work, interrupts runs between two pages, waits for the requests in flight and closes everything.
   * Deliveries that were not sent stay due in the ledger.
   */
  stop(): Promise<void>;
}

const PROBE_MS = 60_000;

/**
 * Starts a daemon. It continues the work in the ledger at once, in whatever way the previous process has ended.
 *
 * @throws Fault when another process has the ledger, the mappings are wrong, the queue is out of reach or the port is taken
 */
export async function createDaemon(options: DaemonOptions): Promise<Daemon> {
  const { secrets, clock, log, version, queueTiming, probeMs = PROBE_MS } = options;
  // A copy, because a reload changes the object in use and must not change the caller's object.
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
  const sentLog = createSentLog({ log, clock });
  bus.subscribe((event) => sentLog.observe(event));
  let server: WebServer | null = null;
  const token = createTokenWatch(config);
  const watching = new AbortController();
  const listeners = new Set<(config: RuntimeConfig) => void>();
  const pausedUntil = createSourcePauses(config);
  const reload = createReload({
    config,
    load: options.load ?? (() => reloadRuntimeConfig(config, secrets)),
    compile: (sources) => opened.mappers.compile(sources),
    mapperOf: (source) => opened.mappers.of(source),
    replace,
    report: reportReload({ ledger, emit: bus.emit, log }),
    clock,
    log,
  });
  const backups = createBackups({ config, ledgerId: opened.ledgerId, ledger, views, emit: bus.emit, clock, log });
  const care = createCare({ reload, backups, listeners, pausedUntil, clock });
  const alerts = createDaemonAlerts({ runtime: opened, care, clock, log });
  const pull = announced(opened, { queues, emit: bus.emit, views, log, scrub });
  const runtime: Runtime = { ...opened, care, alerts, pull };
  const startedAt = clock.now();
  let stopping: Promise<void> | null = null;

  const { dueRuns, pulls, scheduler } = createDaemonRuns({ runtime, pausedUntil, scrub, clock, log });
  const authorizationWatch = createAuthorizationWatch({
    api,
    target,
    onReopen: () => engine.wake(),
    emit: bus.emit,
    clock,
    log,
    intervalMs: probeMs,
  });
  const askRefused = () => authorizationWatch.askNow();
  const observation = observeDaemon({
    runtime,
    care,
    alerts,
    nextRun: (source) => scheduler.nextRun(source),
    isStopping: () => stopping !== null,
    version,
    clock,
    log,
  });
  let admin: AdminServer | null = null;
  let following: Promise<void> = Promise.resolve();
  let watchingExports: Promise<void> = Promise.resolve();

  /**
   * If a secret of the dashboard has disappeared since the config was read, the server continues with the former
   * secret.
   */
  async function renewWeb(): Promise<boolean> {
    try {
      const isNewToken = await token.isNew();
      if (config.web !== null) await server?.renew(config.web);
      return isNewToken;
    } catch (error) {
      log.error({ err: error }, `The dashboard keeps its former token and users: ${messageOf(error)}`);
      return false;
    }
  }

  async function replace(next: RuntimeConfig, mappers: ReadonlyMap<string, Mapper>) {
    const { isNewKey, after } = await opened.replaceSettings(next, mappers);
    scheduler.replace(schedulesOf(config));
    backups.renew();
    if (isNewKey) askRefused().catch(() => undefined);
    const isNewToken = await renewWeb();
    for (const listener of listeners) listener(config);
    return { after, secrets: [...(isNewKey ? ['target.apiKey'] : []), ...(isNewToken ? ['web.token'] : [])] };
  }

  async function stopAll(): Promise<void> {
    // First the parts that bring new work are stopped, then the parts that do the work. The ledger is closed last.
    watching.abort();
    await following;
    await Promise.all([scheduler.stop(), backups.stop(), watchingExports]);
    await alerts.stop();
    await server?.close();
    await authorizationWatch.stop();
    // Commands are interrupted together with the runs, because a command may wait for a run, and a run for a command.
    await Promise.all([pulls.stop(), admin?.close()]);
    await runtime.close();
    sentLog.stop();
  }
  const stop = (): Promise<void> => {
    stopping ??= stopAll();
    return stopping;
  };

  try {
    // The daemon was started with a valid config, so the result of an earlier reload does not count any more.
    await ledger.noteDaemon('reload', null);
    await token.isNew();
    await runtime.startWorkers();
    await pulls.start();
    authorizationWatch.start();
    if (config.web !== null) {
      const context = { ...observation, runtime, care, askRefused, startedAt, version, clock, log };
      server = await options.openWeb(context, config.web);
    }
    admin = await options.openAdmin({ runtime, clock, log, version, askRefused });
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
    await stop().catch((second: unknown) =>
      log.error({ err: second }, 'Connections and files of the daemon could not be closed.'),
    );
    throw error;
  }
  return {
    runtime,
    observation,
    url: server?.url ?? null,
    reload: (cause) => care.reload(cause),
    startRun: (source, trigger) => pulls.startRun(source, trigger),
    stop,
  };
}
