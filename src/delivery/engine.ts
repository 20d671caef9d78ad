import type { SuspendedWork, WorkOf } from '../domain/ports/due.ts';
import type { Ledger } from '../domain/ports/ledger.ts';
import type { Consumer, Queues } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging.ts';
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
  ledger: Pick<Ledger, 'nextDueAt' | 'hasSuspended' | 'countSending'>;
  queues: Queues;
  dispatcher: Dispatcher;
  path: DeliveryPath;
  claims: Pick<Claims, 'trouble'>;
  unconfirmed: Pick<UnconfirmedResolver, 'resolve'>;
  contact: Pick<FirstContact, 'advance' | 'isAtRest'>;
  health: Pick<ApiHealth, 'authorization'>;
  /** What cannot go on while the API refuses a scope. */
  suspended: () => SuspendedWork;
  /** Null where nobody looks at the queue's failed jobs. */
  failedJobs: FailedJobs | null;
  /** Wakes the admission: it looks again at what may be sent. */
  wakeAdmission: () => void;
  clock: Clock;
  log: Logger;
  /** Work that has to go on as long as the engine does: called now and then. */
  eachRound: () => Promise<void>;
}

/** Where the engine stands. */
export interface EngineStatus {
  /** Deliveries that are enqueued, received or in flight. */
  outstanding: number;
  /** When something becomes due next that is not suspended; 0 means now, null means nothing is scheduled. */
  nextDueAt: number | null;
  /** Whether creates are suspended until a list of the platform was read, which goes on by itself. */
  isListing: boolean;
  /** What keeps the engine from going on, where something does: the queue is out of reach, the ledger's disk is full. */
  trouble: Error | null;
}

/** Drives deliveries from the ledger through the queue to the API and back. */
export interface Engine {
  start(): Promise<void>;
  /** Something may have become due. */
  wake(): void;
  /** @param of whose deliveries count; all of them without it */
  status(of?: WorkOf): Promise<EngineStatus>;
  /** Receives nothing new, waits for what is under way, and stops. */
  stop(): Promise<void>;
}

/** How many jobs of the `deliver` queue are processed at once. */
const JOBS_MAX = 8;
/** What is not urgent follows the ledger within this time: the failed jobs, jobs that were lost. */
const RECONCILE_MS = 1000;
/** How soon something that failed for a passing reason is tried again. */
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

  // Beside everything else: to read a large catalogue takes its time, and must keep nothing from being sent.
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
      log.error({ error: error.message }, 'The lists of the platform cannot be stored for now; trying again.'),
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
    // With every due delivery enqueued, nothing else would show that the queue takes no more jobs and hands out none.
    await queues.touch();
    await options.eachRound();
    await failedJobs?.reconcile();
  }

  /**
   * How long until there is something to do, unless somebody wakes the engine. What was due when the round began was
   * enqueued, or cannot go on by itself.
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
        // The queue or the disk may come back: what is due stays due in the ledger.
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
      // What an earlier process enqueued is enqueued again from the ledger, where it is still due.
      await queues.clearWaiting('deliver');
      path.start();
      consumer = await queues.consume('deliver', { concurrency: JOBS_MAX }, (job) => intake.process(job));
      running = loop();
    },
    async status(of) {
      // First, for what is released afterwards is due then.
      const isListing = !(await options.contact.isAtRest()) && (of === undefined || (await ledger.hasSuspended(of)));
      const nextDueAt = await ledger.nextDueAt({ suspended: suspended(), of });
      // What could not be claimed is no trouble any more once nothing is due.
      const unclaimed = nextDueAt === null ? null : claims.trouble();
      const present = trouble ?? unconfirmed.trouble() ?? contact.trouble() ?? path.trouble() ?? unclaimed;
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
