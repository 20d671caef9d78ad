import type { SuspendedWork, WorkOf } from '../domain/ports/due.ts';
import type { DeliveryLedger } from '../domain/ports/ledger/delivery-ledger.ts';
import type { Consumer, Queues } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { ApiHealth } from './admission/api-health.ts';
import type { Claims } from './claims.ts';
import type { DeliveryPath } from './delivery-path.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { FailedJobs } from './failed-jobs.ts';
import type { FirstContact } from './first-contact.ts';
import { createJobIntake } from './job-intake.ts';
import { createSideWork } from './side-work.ts';
import { createTroubleLog } from './trouble-log.ts';
import type { UnconfirmedResolver } from './unconfirmed/unconfirmed-resolver.ts';

export interface EngineOptions {
  ledger: Pick<DeliveryLedger, 'nextDueAt' | 'hasSuspended' | 'countSending'>;
  queues: Queues;
  dispatcher: Dispatcher;
  path: DeliveryPath;
  claims: Pick<Claims, 'trouble'>;
  unconfirmed: Pick<UnconfirmedResolver, 'resolve'>;
  contact: Pick<FirstContact, 'advance' | 'isAtRest'>;
  health: Pick<ApiHealth, 'authorization'>;
  /** The work that is suspended while the API refuses a scope. */
  suspended: () => SuspendedWork;
  /** Null in a process that does not show failed jobs. */
  failedJobs: FailedJobs | null;
  /** Makes the admission check again which deliveries may be sent. */
  wakeAdmission: () => void;
  clock: Clock;
  log: Logger;
  /** Called at intervals for work that has to continue beside the engine. */
  eachRound: () => Promise<void>;
}

/** The state of the engine. */
export interface EngineStatus {
  /** The number of deliveries that are enqueued, received or in flight. */
  outstanding: number;
  /** When the next delivery becomes due, without suspended ones; 0 means at once, null that none is scheduled. */
  nextDueAt: number | null;
  /** True while creates are suspended until a list of the platform was read. */
  isListing: boolean;
  /** What stops the engine, such as an unreachable queue or a full disk; null if nothing does. */
  trouble: Error | null;
}

/** Moves deliveries from the ledger through the queue to the API, and their outcomes back. */
export interface Engine {
  start(): Promise<void>;
  /** Call it when something may have become due. */
  wake(): void;
  /** @param of the deliveries to report on; undefined for all deliveries */
  status(of?: WorkOf): Promise<EngineStatus>;
  /** Receives nothing new, waits for the requests in flight, and stops. */
  stop(): Promise<void>;
}

/** The number of `deliver` jobs that are processed at once. */
const JOBS_MAX = 8;
/** The failed jobs and lost jobs are compared with the ledger at least this often. */
const RECONCILE_MS = 1000;
/** Work that failed for a passing reason is tried again after this time. */
const AGAIN_MS = 1000;

export function createEngine(options: EngineOptions): Engine {
  const { ledger, queues, dispatcher, path, claims, health, suspended, failedJobs, clock, log } = options;
  const abort = new AbortController();
  const troubleLog = createTroubleLog(log, clock);
  const intake = createJobIntake({ queues, dispatcher, failedJobs, clock, log, abort: abort.signal, onChanged: wake });
  let consumer: Consumer | null = null;
  let running: Promise<void> = Promise.resolve();
  let alarm = new AbortController();
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
      await dispatcher.fillAtOnce();
      if ((await dispatcher.fill()) > 0) intake.enqueued();
    }
    await intake.noticeLostQueue();
    if (clock.ticks() < reconcileAt) return;
    reconcileAt = clock.ticks() + RECONCILE_MS;
    // The engine enqueues nothing while every due delivery is enqueued, so `touch` checks that the queue can be
    // reached.
    await queues.touch();
    await options.eachRound();
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
      const current = new AbortController();
      alarm = current;
      try {
        const begunAt = clock.now();
        await round();
        trouble = null;
        troubleLog.update(unconfirmed.trouble() ?? path.trouble());
        await clock.sleep(await restMs(begunAt), current.signal);
      } catch (error) {
        // The queue or the disk may come back. All deliveries stay due in the ledger.
        trouble = error instanceof Error ? error : new Error(messageOf(error));
        troubleLog.update(trouble);
        await clock.sleep(AGAIN_MS, abort.signal);
      }
    }
  }

  function wake(): void {
    alarm.abort('woken');
    options.wakeAdmission();
  }

  return {
    wake,
    async start() {
      // Jobs of an earlier process are dropped. Their deliveries are enqueued again from the ledger if they are still
      // due.
      await queues.clearWaiting('deliver');
      path.start();
      consumer = await queues.consume('deliver', { concurrency: JOBS_MAX }, (job) => intake.process(job));
      running = loop();
    },
    async status(of) {
      // `isListing` is read before the due time. If a list releases creates between the two reads, the due time
      // includes them.
      const isListing = !(await options.contact.isAtRest()) && (of === undefined || (await ledger.hasSuspended(of)));
      const nextDueAt = await ledger.nextDueAt({ suspended: suspended(), of });
      // If nothing is due, an earlier failed claim is not reported any more.
      const unclaimed = nextDueAt === null ? null : claims.trouble();
      const present =
        trouble ?? intake.trouble() ?? unconfirmed.trouble() ?? contact.trouble() ?? path.trouble() ?? unclaimed;
      const outstanding = of === undefined ? dispatcher.outstanding() : await ledger.countSending(of);
      return { outstanding, nextDueAt, isListing, trouble: present };
    },
    async stop() {
      abort.abort();
      const sent = path.stop();
      wake();
      dispatcher.stop();
      await running;
      await unconfirmed.ended();
      await contact.ended();
      await consumer?.close();
      await sent;
      dispatcher.stop();
    },
  };
}
