import type { Mapper } from '../domain/mapping.ts';
import type { DaemonNotes } from '../domain/ports/daemon-notes.ts';
import type { RunTrigger } from '../domain/ports/intake.ts';
import type { RunView } from '../domain/ports/ledger/ledger-views.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { SecretStore } from '../lib/logging/secrets.ts';
import type { StallTiming } from '../queue/backend.ts';
import { createDaemonAlerts } from './alerts.ts';
import { createAuthorizationWatch } from './authorization-watch.ts';
import { createBackups } from './backups/backups.ts';
import type { DaemonCare } from './care.ts';
import type { AdminServer, OpenAdmin, OpenWeb, WebServer } from './daemon-servers.ts';
import { reloadRuntimeConfig } from './load.ts';
import { createSentLog, observeDaemon } from './observe-daemon.ts';
import { createReload, createTokenWatch, type Reload, reportReload } from './reload/reload.ts';
import { openRuntime, type Runtime } from './runtime.ts';
import { createScheduler, type Schedule, type Scheduler } from './scheduler.ts';
import { createDueRuns, type DueRuns } from './schedules/due-runs.ts';
import { createSourcePauses } from './schedules/source-pauses.ts';
import { watchExports } from './schedules/watch-exports.ts';
import { announced } from './sources/announced-pull.ts';
import type { RuntimeConfig } from './sources/open-source.ts';
import { createPullQueue } from './sources/pull-queue.ts';

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

const PROBE_MS = 60_000;

/**
 * Starts a daemon: the schedules, workers and web server of one process. It continues the work in the ledger at once, in whatever way the previous process has ended.
 *
 * @throws Fault when another process has the ledger, the mappings are wrong, the queue is out of reach or the port is taken
 */
export async function createDaemon(options: DaemonOptions) {
  const { secrets, clock, log, version, queueTiming, probeMs = PROBE_MS } = options;
  // A copy, because a reload changes the object in use and must not change the caller's object.
  const config = { ...options.config, target: { ...options.config.target } };
  const shared = { config, secrets, clock, log, version, queueTiming };
  const opened = await openRuntime({
    ...shared,
    command: 'start',
    showFailedJobs: true,
    readsApart: true,
    beforeMapping: (of) => (of === 'replay' ? reload.lookStrictly() : reload.look()),
  });
  const { ledger, queues, api, target, engine, reads, bus } = opened;
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
  const backups = createBackups({
    config,
    ledgerId: opened.ledgerId,
    ledger,
    last: await reads.daemonNote('backup'),
    emit: bus.emit,
    clock,
    log,
  });
  const care = createCare({ reload, backups, listeners, pausedUntil, clock });
  const alerts = await createDaemonAlerts({ runtime: opened, care, clock, log });
  const pull = announced(opened, { queues, emit: bus.emit, reads, log, scrub });
  const runtime: Runtime = { ...opened, care, alerts, pull };
  const startedAt = clock.now();
  let stopping: Promise<void> | null = null;

  const { dueRuns, pulls, scheduler } = createDaemonRuns({
    runtime,
    due: await reads.daemonNote('dueRuns'),
    pausedUntil,
    scrub,
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
    const shown = { ...observation, startedAt, version, log };
    if (config.web !== null) {
      server = await options.openWeb({ ...shown, runtime, care, askRefused, clock }, config.web);
    }
    admin = await options.openAdmin({ runtime, clock, log, version, askRefused, daemon: shown });
    scheduler.start();
    backups.start();
    alerts.start();
    const runs = await reads.sourceRuns(config.sources.map(({ id }) => id));
    requestLeftRuns(config, {
      scheduler,
      dueRuns,
      lastRun: (source) => runs.find((one) => one.source === source)?.lastRun ?? undefined,
      log,
    });
    warnIfIdle(config, log);
    following = reload.follow(watching.signal);
    watchingExports = watchExports(
      { config, ledger, reads, dueRuns, scheduler, pulling: () => runtime.pulling(), clock, log },
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
    /** The address of the web server; null if there is none. */
    url: server?.url ?? null,
    reload: reload.reload,
    /** Starts a run of a source, as its schedule does. */
    startRun: (source: string, trigger: RunTrigger) => pulls.startRun(source, trigger),
    /**
     * Begins no new work, interrupts runs between two pages, waits for the requests in flight and closes everything.
     * Deliveries that were not sent stay due in the ledger.
     */
    stop,
  };
}

export type Daemon = Awaited<ReturnType<typeof createDaemon>>;

/** The runs of a daemon: when they are due, and the queue that starts them. */
function createDaemonRuns(options: {
  runtime: Runtime;
  /** The runs that the last daemon has left. */
  due: DaemonNotes['dueRuns'] | null;
  pausedUntil: (source: string, at: number) => number | null;
  scrub: (text: string) => string;
  clock: Clock;
  log: Logger;
}) {
  const { runtime, due, pausedUntil, scrub, clock, log } = options;
  const { config, ledger, queues } = runtime;
  const dueRuns = createDueRuns({ ledger, note: due, clock, log });
  const pulls = createPullQueue({
    queues,
    hasSource: (source) => config.sources.some(({ id }) => id === source),
    pull: dueRuns.until(runtime.pull),
    hasPull: (source) => runtime.hasPull(source),
    leftOut: (source) => dueRuns.leftOut(source),
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
  return { dueRuns, pulls, scheduler };
}

/** Combines reloads, backups and pauses into one object that the dashboard, the admin API and the metrics read. */
function createCare(options: {
  reload: Reload;
  backups: DaemonCare['backups'];
  listeners: Set<(config: RuntimeConfig) => void>;
  pausedUntil: (source: string, at: number) => number | null;
  clock: Clock;
}): DaemonCare {
  const { reload, backups, listeners, pausedUntil, clock } = options;
  return {
    lastReload: () => reload.last(),
    reload: (cause) => reload.reload(cause),
    onReload(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    backups,
    pausedUntil: (source) => pausedUntil(source, clock.now()),
  };
}

/**
 * Makes runs due that the previous process has not completed: runs that were due and did not begin, runs that were
 * interrupted, and runs whose time passed while no daemon ran. A source that has never run is first pulled at its next
 * scheduled time.
 */
function requestLeftRuns(
  { sources }: RuntimeConfig,
  options: {
    scheduler: Scheduler;
    dueRuns: DueRuns;
    lastRun: (source: string) => RunView | undefined;
    log: Logger;
  },
): void {
  const { scheduler, dueRuns, lastRun, log } = options;
  const due = dueRuns.sources();
  for (const { id, schedule } of sources) {
    const last = lastRun(id);
    const isScheduled = schedule !== null && last !== undefined;
    let why: string;
    if (due.includes(id)) why = 'was due when the last daemon ended, and starts now';
    else if (isScheduled && wasCutShort(last)) why = 'was interrupted, and is repeated';
    else if (isScheduled && scheduler.missed(id, last.startedAt))
      why = 'was missed while no daemon ran, and starts now';
    else continue;
    log.info({ source: id, ...(last === undefined ? {} : { run: last.id }) }, `A run of ${id} ${why}.`);
    scheduler.request(id);
  }
}

/** True for a run that was interrupted, or whose process was killed. */
function wasCutShort({ result }: RunView): boolean {
  return result === null || result === 'interrupted';
}

/** The schedules of a config. */
function schedulesOf({ sources }: Pick<RuntimeConfig, 'sources'>): Schedule[] {
  return sources.flatMap(({ id: source, schedule: cron, timezone }) =>
    cron === null ? [] : [{ source, cron, timezone }],
  );
}

/** Warns if this daemon has no schedules, and no dashboard in which a person could start a run. */
export function warnIfIdle({ sources, web }: Pick<RuntimeConfig, 'sources' | 'web'>, log: Logger): void {
  if (web !== null || sources.some(({ schedule, watch }) => schedule !== null || watch)) return;
  log.warn(
    {},
    'No source has a `schedule` or `watch: true`, and the config has no `web`: this daemon sends due deliveries, and starts no run automatically. `dpp-sync sync` starts a run in this daemon.',
  );
}
