// The life of a daemon, from its start to its end. `delivery-path.ts` shows the way of a delivery inside it.
//
//   open     `openRuntime` takes the lock of the ledger, marks as unconfirmed what the last process was sending, and opens the
//            queues. The parts that only a daemon has come after that: reloads, backups, alerts, runs, schedules.
//   start    The workers begin to map and deliver what is due. Then runs can begin, the servers answer, and the schedules count.
//            Runs that the last daemon has left are due at once. Last, the files of the config and the exports are watched.
//   run      Each part has a loop of its own: the engine delivers, the scheduler makes runs due, the `pull` queue starts them, and
//            the other parts look at intervals. The event bus reports what happens to the metrics, the log and the alerts.
//   reload   All settings are replaced between two units of work, or none.
//   stop     The parts that bring new work stop first, then those that do the work. Requests in flight are finished, and everything
//            else stays due in the ledger, which is closed last.
//   loss     A daemon that may not write to its ledger any more stops like that too, and its process ends with the fault.

import { fault, isLedgerFault } from '../domain/faults.ts';
import type { Mapper } from '../domain/mapping.ts';
import type { RunTrigger } from '../domain/ports/intake.ts';
import type { Clock } from '../lib/clock.ts';
import { Fault, messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { SecretStore } from '../lib/logging/secrets.ts';
import { describeNpmNode } from '../lib/package.ts';
import type { StallTiming } from '../queue/backend.ts';
import { createDaemonAlerts } from './alerts.ts';
import { createAuthorizationWatch } from './authorization-watch.ts';
import { createBackups } from './backups/backups.ts';
import type { AdminServer, OpenAdmin, OpenWeb, WebServer } from './daemon-servers.ts';
import { reloadRuntimeConfig } from './load.ts';
import { observeDaemon } from './observe-daemon.ts';
import type { ConfigEffects } from './plan/effects.ts';
import { createReload, createTokenWatch } from './reload/reload.ts';
import { type DaemonCare, openRuntime, type Runtime } from './runtime.ts';
import { createScheduler } from './scheduler.ts';
import { createDueRuns, requestLeftRuns, schedulesOf, warnIfIdle, watchExports } from './schedules/due-runs.ts';
import { createSourcePauses } from './schedules/run-times.ts';
import { createSentLog } from './sent-log.ts';
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

export interface RunDaemonOptions extends DaemonOptions {
  /**
   * Aborted by the first SIGTERM, SIGINT or SIGHUP. A second one may end the process at any instant; no work is lost
   * then.
   */
  signal: AbortSignal;
  /** How long requests in flight may take to end. */
  drainMs?: number;
  /** Called once the daemon works. */
  onReady?: (daemon: Daemon) => void;
}

/**
 * An orchestrator usually kills a process half a minute after the request to stop. The daemon stops waiting before
 * that.
 */
export const DRAIN_MS = 25_000;
/** How often the daemon checks that it has not lost its ledger. */
const LOOK_MS = 1000;
const PROBE_MS = 60_000;

/**
 * Runs the daemon until it has to stop.
 *
 * @returns 0 when all requests in flight have ended; 1 if some have not ended within the limit. The caller then ends
 *   the process, which is safe: a request without an answer is unconfirmed at the next start, and is looked up.
 * @throws Fault when it cannot be started, when it has lost its ledger, or when it can no longer see changes of files
 */
export async function runDaemon(options: RunDaemonOptions): Promise<0 | 1> {
  const { config, signal, clock, log, version, drainMs = DRAIN_MS, onReady } = options;
  const daemon = await createDaemon(options);
  const { voided } = daemon.runtime;
  const sources = config.sources.length;
  log.info({ version, pid: process.pid, url: daemon.url, sources, voided }, `The daemon works on ${config.file}.`);
  const npmNode = describeNpmNode(process.execPath, process.versions.node);
  if (npmNode !== null) log.info({ node: process.execPath }, npmNode);
  onReady?.(daemon);
  const reason = await untilStopped(daemon, signal, clock);
  const lost = daemon.runtime.ledgerLost();

  if (lost) log.error({ error: lost.message }, 'Stopping: this process may no longer write to the ledger.');
  else if (reason) log.error({ error: reason.message }, 'Stopping: a watch of files has failed.');
  else log.info({ drainMs }, 'Stopping: requests in flight are finished, everything else stays due in the ledger.');
  const timer = new AbortController();
  const late = clock.sleep(drainMs, timer.signal).then(() => 'late' as const);
  const ending = daemon.stop().then(
    () => 'stopped' as const,
    (error: unknown) => {
      // If the ledger is lost, a failed write has the same cause and is not reported separately.
      if (!lost || !isLedgerFault(error)) throw error;
      return 'stopped' as const;
    },
  );
  const outcome = await Promise.race([ending, late]);
  timer.abort();
  if (reason) throw reason;
  if (outcome === 'late') {
    log.warn({ drainMs }, 'Some work did not end in time. The next start looks up the requests that have no answer.');
    return 1;
  }
  log.info({}, 'Stopped.');
  return 0;
}

/** Resolves when the daemon has to stop, with the fault if there is one. */
async function untilStopped(daemon: Daemon, signal: AbortSignal, clock: Clock): Promise<Fault | null> {
  while (!signal.aborted) {
    const reason = daemon.fault();
    if (reason) return reason;
    await clock.sleep(LOOK_MS, signal);
  }
  return null;
}

/**
 * Opens and starts a daemon. It continues the work in the ledger at once, in whatever way the previous process has ended.
 *
 * @throws Fault when another process has the ledger, the mappings are wrong, the queue is out of reach or the port is taken
 */
export async function createDaemon(options: DaemonOptions) {
  const { secrets, clock, log, version, queueTiming, probeMs = PROBE_MS } = options;
  // A copy, because a reload changes the object in use and must not change the caller's object.
  const config = { ...options.config, target: { ...options.config.target } };
  const opened = await openRuntime({
    config,
    secrets,
    clock,
    log,
    version,
    queueTiming,
    command: 'start',
    showFailedJobs: true,
    readsApart: true,
    beforeMapping: (of) => (of === 'replay' ? reload.lookStrictly() : reload.look()),
  });
  const { ledger, ledgerId, queues, api, target, engine, reads, bus, mappers } = opened;
  const { emit } = bus;
  const notes = await leftNotes(opened);
  const startedAt = clock.now();
  const scrub = (text: string) => secrets.scrub(text);
  const token = createTokenWatch(config);
  const pausedUntil = createSourcePauses(config);
  const load = options.load ?? (() => reloadRuntimeConfig(config, secrets));
  /** Ends the watches of files and exports, and the trial of a config. */
  const watching = new AbortController();
  const tools = { secrets, clock, log, version };
  const weigh = async (next: RuntimeConfig): Promise<ConfigEffects> => {
    const { effectsOfConfig } = await import('./plan/effects.ts');
    return effectsOfConfig(next, { tools, reads }, watching.signal);
  };
  const reload = createReload({ config, mappers, ledger, emit, load, replace, weigh, clock, log });
  const backups = createBackups({ config, ledgerId, ledger, last: notes.backup, emit, clock, log });
  const care: DaemonCare = {
    lastReload: reload.last,
    reload: reload.reload,
    onReload: reload.onReplaced,
    backups,
    pausedUntil: (source) => pausedUntil(source, clock.now()),
  };
  const alerts = createDaemonAlerts({
    runtime: opened,
    care,
    note: notes.alerts,
    clock,
    log,
  });
  const pull = announced(opened, { queues, emit, reads, log, scrub });
  const runtime: Runtime = { ...opened, care, alerts, pull };

  const dueRuns = createDueRuns({ ledger, note: notes.dueRuns, clock, log });
  const pulls = createPullQueue({
    queues,
    hasSource: (source) => config.sources.some(({ id }) => id === source),
    pull: dueRuns.until(pull),
    hasPull: opened.hasPull,
    leftOut: dueRuns.leftOut,
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
  const onReopen = () => engine.wake();
  const refusals = createAuthorizationWatch({ api, target, onReopen, emit, clock, log, intervalMs: probeMs });
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
  const sentLog = createSentLog({ log, clock });
  bus.subscribe((event) => sentLog.observe(event));

  /** Resolves when the watches have ended. A watch that fails ends the daemon, because changes would be missed unseen. */
  let following: Promise<unknown> = Promise.resolve();
  let watchFault: Fault | null = null;
  let server: WebServer | null = null;
  let admin: AdminServer | null = null;
  let stopping: Promise<void> | null = null;

  async function start(): Promise<void> {
    // The daemon was started with a valid config, so the result of an earlier reload does not count any more.
    await ledger.noteDaemon('reload', null);
    await token.isNew();
    await runtime.startWorkers();
    await pulls.start();
    refusals.start();
    const shown = { ...observation, startedAt, version, log };
    const asking = { runtime, askRefused: () => refusals.askNow(), clock };
    if (config.web !== null) server = await options.openWeb({ ...shown, ...asking, care }, config.web);
    admin = await options.openAdmin({ ...asking, log, version, daemon: shown });
    scheduler.start();
    backups.start();
    alerts.start();
    await requestLeftRuns(config, { scheduler, dueRuns, held: runtime.held, reads, log });
    warnIfIdle(config, log);
    const pulling = () => runtime.pulling();
    const exports = { config, ledger, note: notes.watched, dueRuns, scheduler, pulling, clock, log };
    const watches = [reload.follow(watching.signal), watchExports(exports, watching.signal)];
    following = Promise.all(watches).catch((error: unknown) => {
      const of = 'Changes of the config and of exports can no longer be seen';
      watchFault = error instanceof Fault ? error : fault('internal', `${of}: ${messageOf(error)}`);
    });
  }

  /** What a reload replaces, once the new config is valid. */
  async function replace(next: RuntimeConfig, compiled: ReadonlyMap<string, Mapper>) {
    const { isNewKey, after } = await opened.replaceSettings(next, compiled);
    scheduler.replace(schedulesOf(config));
    backups.renew();
    if (isNewKey) refusals.askNow().catch(() => undefined);
    const isNewToken = await renewWeb();
    return { after, secrets: [...(isNewKey ? ['target.apiKey'] : []), ...(isNewToken ? ['web.token'] : [])] };
  }

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

  async function stopAll(): Promise<void> {
    watching.abort();
    await following;
    await Promise.all([scheduler.stop(), backups.stop()]);
    await alerts.stop();
    await server?.close();
    await refusals.stop();
    // Commands are interrupted together with the runs, because a command may wait for a run, and a run for a command.
    await Promise.all([pulls.stop(), admin?.close()]);
    await runtime.close();
    sentLog.stop();
  }

  function stop(): Promise<void> {
    stopping ??= stopAll();
    return stopping;
  }

  try {
    await start();
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
    url: (server as WebServer | null)?.url ?? null,
    reload: reload.reload,
    /** Why the daemon cannot go on; null while it can. */
    fault: (): Fault | null => runtime.ledgerLost() ?? watchFault,
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

/** The notes that the last daemon has left in the ledger. */
async function leftNotes({ reads, close }: Pick<Runtime, 'reads' | 'close'>) {
  try {
    return {
      backup: await reads.daemonNote('backup'),
      dueRuns: await reads.daemonNote('dueRuns'),
      alerts: await reads.daemonNote('alerts'),
      watched: await reads.daemonNote('watched'),
    };
  } catch (error) {
    await close();
    throw error;
  }
}
