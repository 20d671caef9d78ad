import { isQueueFault } from '../domain/faults.ts';
import type { SuspendedWork, WorkOf } from '../domain/ports/deliveries.ts';
import type { DeliveryLedger } from '../domain/ports/ledger/delivery-ledger.ts';
import type { Consumer, Queues } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import { Fault, messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { ApiHealth } from './admission/api-health.ts';
import type { Claims, DeliveryPath } from './delivery-path.ts';
import type { DeliveryWindow, Wakes } from './delivery-window.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { FailedJobs } from './failed-jobs.ts';
import type { FirstContact } from './first-contact.ts';
import type { Passports } from './passports.ts';
import type { Recheck } from './recheck.ts';
import type { UnconfirmedResolver } from './unconfirmed/unconfirmed-resolver.ts';

interface EngineOptions {
  ledger: DeliveryLedger;
  queues: Queues;
  window: DeliveryWindow;
  dispatcher: Dispatcher;
  path: DeliveryPath;
  claims: Claims;
  unconfirmed: UnconfirmedResolver;
  contact: FirstContact;
  health: ApiHealth;
  /** The work that is suspended while the API refuses a scope. */
  suspended: () => SuspendedWork;
  /** Null in a process that does not show failed jobs. */
  failedJobs: FailedJobs | null;
  wakes: Wakes;
  clock: Clock;
  log: Logger;
  recheck: Recheck;
  passports: Passports;
  /** Called at intervals for work that has to continue beside the engine. */
  eachRound: () => Promise<void>;
  /** True while a source is read or mapped, so that more deliveries may be staged soon. */
  isStaging: () => boolean;
}

/** The state of the engine. */
interface EngineStatus {
  /** The number of deliveries in the window. */
  outstanding: number;
  /** When the next delivery becomes due, without suspended ones; 0 means at once, null that none is scheduled. */
  nextDueAt: number | null;
  /** True while creates are suspended until a list of the platform was read. */
  isListing: boolean;
  /** What stops the engine, such as an unreachable queue or a full disk; null if nothing does. */
  trouble: Error | null;
}

/** The number of `deliver` jobs that are processed at once. */
const JOBS_MAX = 8;
/** The failed jobs and lost jobs are compared with the ledger at least this often. */
const RECONCILE_MS = 1000;
/** Work that failed for a passing reason is tried again after this time. */
const AGAIN_MS = 1000;

/** Moves deliveries from the ledger through the queue to the API, and their outcomes back. */
export function createEngine(options: EngineOptions) {
  const { ledger, queues, window, dispatcher, path, claims, recheck, passports } = options;
  const { health, suspended, failedJobs, wakes, clock, log } = options;
  const abort = new AbortController();
  const troubleLog = createTroubleLog(log, clock);
  let consumer: Consumer | null = null;
  let running: Promise<void> = Promise.resolve();
  let trouble: Error | null = null;
  let reconcileAt = Number.NEGATIVE_INFINITY;

  // These two tasks run beside the rounds of the engine: reading a large catalogue takes long and must not hold up the
  // deliveries.
  const sideWork = { clock, again: AGAIN_MS, abort: abort.signal, onMoved: wake };
  const unconfirmed = createSideWork({
    ...sideWork,
    work: async (signal) => (await options.unconfirmed.resolve(signal)) > 0,
    onTrouble: () => undefined,
  });
  const contact = createSideWork({
    ...sideWork,
    work: (signal) => options.contact.advance(signal),
    onTrouble: (error) =>
      log.error({ error: error.message }, 'The lists of the platform cannot be stored for now; dpp-sync tries again.'),
  });

  async function round(): Promise<void> {
    if (health.authorization().open) {
      unconfirmed.begin();
      contact.begin();
      await path.takeUp();
    }
    if (await dispatcher.noticeLostJobs()) wake();
    if (clock.ticks() < reconcileAt) return;
    reconcileAt = clock.ticks() + RECONCILE_MS;
    // The engine enqueues nothing while every due delivery is enqueued, so `touch` checks that the queue can be
    // reached.
    await queues.touch();
    await options.eachRound();
    if ((await recheck.stageNext()) > 0) wake();
    const isAtRest = !options.isStaging() && window.size() === 0;
    if ((await passports.evaluateAtRest(isAtRest)) > 0) wake();
    await failedJobs?.reconcile();
  }

  /**
   * How long the engine may rest if nobody wakes it. Deliveries that were due when the round began were enqueued, or
   * cannot be sent now.
   */
  async function restMs(begunAt: number): Promise<number> {
    const next = await ledger.nextDueAt({ after: begunAt, suspended: suspended() });
    const dueIn = next === null ? RECONCILE_MS : Math.max(0, next - clock.now());
    return Math.min(dueIn, Math.max(1, reconcileAt - clock.ticks()));
  }

  async function loop(): Promise<void> {
    while (!abort.signal.aborted) {
      wakes.engine.look();
      try {
        const begunAt = clock.now();
        await round();
        trouble = null;
        troubleLog.update(unconfirmed.trouble() ?? path.trouble());
        await wakes.engine.rest(await restMs(begunAt));
      } catch (error) {
        // The queue or the disk may come back. All deliveries stay due in the ledger.
        trouble = error instanceof Error ? error : new Error(messageOf(error));
        troubleLog.update(trouble);
        await clock.sleep(AGAIN_MS, abort.signal);
      }
    }
  }

  /** Call it when something may have become due. */
  function wake(): void {
    wakes.engine.wake();
    wakes.admission.wake();
  }

  return {
    wake,
    /** The number of deliveries in each stage. See the window. */
    stages: (left: number) => window.stages(left),
    async start() {
      // Jobs of an earlier process are dropped. Their deliveries are enqueued again from the ledger if they are still
      // due.
      await queues.clearWaiting('deliver');
      path.start();
      consumer = await queues.consume('deliver', { concurrency: JOBS_MAX }, path.receive);
      running = loop();
    },
    /** @param of the deliveries to report on; undefined for all deliveries */
    async status(of?: WorkOf): Promise<EngineStatus> {
      // `isListing` is read before the due time. If a list releases creates between the two reads, the due time
      // includes them.
      const isListing = !(await options.contact.isAtRest()) && (of === undefined || (await ledger.hasSuspended(of)));
      const nextDueAt = await ledger.nextDueAt({ suspended: suspended(), of });
      // If nothing is due, an earlier failed claim is not reported any more.
      const unclaimed = nextDueAt === null ? null : claims.trouble();
      const present =
        trouble ?? dispatcher.trouble() ?? unconfirmed.trouble() ?? contact.trouble() ?? path.trouble() ?? unclaimed;
      const outstanding = of === undefined ? window.size() : await ledger.countSending(of);
      return { outstanding, nextDueAt, isListing, trouble: present };
    },
    /** Receives nothing new, waits for the requests in flight, and stops. */
    async stop() {
      abort.abort();
      const sent = path.stop();
      wake();
      window.stop();
      await running;
      await unconfirmed.ended();
      await contact.ended();
      await consumer?.close();
      await sent;
      window.stop();
    },
  };
}

export type Engine = ReturnType<typeof createEngine>;

/** Work beside the deliveries, one run at a time. An error is kept as trouble, and the run is repeated later. */
function createSideWork(options: {
  /** Resolves to true if deliveries may have become due. */
  work: (abort: AbortSignal) => Promise<boolean>;
  onMoved: () => void;
  onTrouble: (error: Error) => void;
  /** The wait after a failed run, in milliseconds. */
  again: number;
  clock: Clock;
  abort: AbortSignal;
}) {
  const { work, onMoved, onTrouble, again, clock, abort } = options;
  let running: Promise<void> | null = null;
  let trouble: Error | null = null;

  async function run(): Promise<void> {
    try {
      const moved = await work(abort);
      trouble = null;
      if (moved) onMoved();
    } catch (error) {
      trouble = error instanceof Error ? error : new Error(messageOf(error));
      onTrouble(trouble);
      await clock.sleep(again, abort);
    } finally {
      running = null;
    }
  }

  return {
    /** Begins a run unless one is running. */
    begin() {
      running ??= run();
    },
    /** Why the last run failed; null if it succeeded. */
    trouble: (): Error | null => trouble,
    /** Resolves when no run is running. */
    async ended() {
      await running;
    },
  };
}

/** If a trouble returns within this time, neither the trouble nor its end is logged again. */
const NEWS_AFTER_MS = 60_000;

/** Logs a trouble that stops deliveries, once when it begins and once when it ends. */
function createTroubleLog(log: Logger, clock: Clock): { update(trouble: Error | null): void } {
  let known: string | null = null;
  let last: { kind: string; at: number } | null = null;
  let isNews = true;
  return {
    update(trouble) {
      const kind = trouble instanceof Fault ? trouble.code : (trouble?.message ?? null);
      if (kind === known) return;
      known = kind;
      if (kind !== null) {
        isNews = kind !== last?.kind || clock.ticks() - last.at >= NEWS_AFTER_MS;
        if (isNews) last = { kind, at: clock.ticks() };
      }
      if (trouble === null) log[isNews ? 'info' : 'debug']({}, 'Deliveries continue.');
      // The queue itself logs why it cannot be reached.
      else if (!isQueueFault(trouble)) {
        const cure = trouble instanceof Fault && trouble.suggestion ? ` ${trouble.suggestion}` : '';
        log[isNews ? 'error' : 'debug'](
          { error: trouble.message },
          `Deliveries cannot continue for now: ${trouble.message}${cure}`,
        );
      }
    },
  };
}
