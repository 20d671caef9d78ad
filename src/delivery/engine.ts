import { isLedgerFault } from '../domain/faults.ts';
import type { SuspendedWork, WorkOf } from '../domain/ports/due.ts';
import type { Ledger } from '../domain/ports/ledger.ts';
import type { Consumer, JobResult, Queues, ReceivedJob } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging.ts';
import type { TargetGate } from './admission/target-gate.ts';
import type { Deliverer } from './deliverer.ts';
import { dueIdsOf, isStuckJob } from './delivery-jobs.ts';
import type { FailedJobs } from './failed-jobs.ts';
import type { Feeder } from './feeder.ts';
import type { FirstContact } from './first-contact.ts';
import { createInHand } from './in-hand.ts';
import { createTroubleLog } from './trouble-log.ts';
import type { UnconfirmedResolver } from './unconfirmed/unconfirmed-resolver.ts';

export interface EngineOptions {
  ledger: Ledger;
  queues: Queues;
  feeder: Feeder;
  deliverer: Deliverer;
  doubts: UnconfirmedResolver;
  contact: FirstContact;
  gate: TargetGate;
  /** What cannot go on while the API refuses a scope. */
  held: () => SuspendedWork;
  /** Null where nobody looks at the queue's failed jobs. */
  failedJobs: FailedJobs | null;
  clock: Clock;
  log: Logger;
  /** How many doorbells are heard at once. */
  concurrency: number;
  /** Takes secrets out of a text that is stored (I7). */
  scrub: (text: string) => string;
  /** Work that has to go on as long as the engine does: called now and then. */
  eachRound: () => Promise<void>;
}

/** Where the engine stands. */
export interface EngineStatus {
  /** Deliveries that have a doorbell in the queue, or an attempt under way. */
  outstanding: number;
  /** When something becomes due next that is not held; 0 means now, null means nothing is scheduled. */
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
  /** Hears nothing new, waits for what is under way, and stops. */
  stop(): Promise<void>;
}

/** What is not urgent follows the ledger within this time: the failed jobs, doorbells that were lost. */
const RECONCILE_MS = 1000;
/** How soon something that failed for a passing reason is tried again. */
const AGAIN_MS = 1000;
/** A doorbell that counts as active and that nobody hears for so long was evicted, or taken by a worker that died. */
const UNHEARD_MS = 5000;
/** How many attempts are under way at once. Most of them wait for their turn, so that there is always one to take it. */
const IN_HAND_MAX = 320;
/** The engine looks for more after so many attempts have ended, and once none is left. */
const LOOK_AFTER = 200;
const REASON_LENGTH_MAX = 300;

export function createEngine(options: EngineOptions): Engine {
  const { ledger, queues, feeder, deliverer, doubts, contact, gate, held, failedJobs, clock, log, scrub } = options;
  const abort = new AbortController();
  const troubleLog = createTroubleLog(log, clock);
  let consumer: Consumer | null = null;
  let running: Promise<void> = Promise.resolve();
  let alarm = new AbortController();
  let trouble: Error | null = null;
  /** Why the last attempt could not be made or put aside: the ledger cannot be written. */
  let unclaimed: Error | null = null;
  let ended = 0;
  let hearing = 0;
  let reconcileAt = Number.NEGATIVE_INFINITY;
  let resolving: Promise<void> | null = null;
  let contacting: Promise<void> | null = null;
  let doubtTrouble: Error | null = null;
  let contactTrouble: Error | null = null;
  /** When a doorbell was last rung or heard. */
  let movedAt = Number.NEGATIVE_INFINITY;

  async function hear(bell: ReceivedJob): Promise<JobResult> {
    if (isStuckJob(bell) && failedJobs) {
      const heard = await failedJobs.process(bell);
      wake();
      return heard;
    }
    const ids = dueIdsOf(bell);
    hearing += 1;
    try {
      const begun = await inHand.take(ids, abort.signal);
      return { status: 'done', note: `${begun} of ${ids.length} taken in hand` };
    } finally {
      hearing -= 1;
      movedAt = clock.ticks();
      // What was not taken stays as due in the ledger as it was.
      if (abort.signal.aborted) feeder.done(ids);
    }
  }

  /** One attempt, to its end; never rejects. */
  async function attempt(deliveryId: number): Promise<void> {
    const heard = feeder.heard(deliveryId);
    if (heard === null) return;
    try {
      const { result } = await deliverer.attempt({ id: deliveryId, ...heard }, abort.signal);
      if (result !== 'held') unclaimed = null;
    } catch (error) {
      await stumbled(deliveryId, error);
    }
  }

  const inHand = createInHand({
    countMax: IN_HAND_MAX,
    attempt,
    onEnd(id) {
      feeder.done([id]);
      ended += 1;
      if (ended % LOOK_AFTER === 0 || inHand.count() === 0) wake();
    },
  });

  /**
   * What could not be claimed for the ledger's sake is as due as before. Whatever else is thrown would be thrown again at
   * once: that delivery is put aside with the reason, and the others go on.
   */
  async function stumbled(deliveryId: number, error: unknown): Promise<void> {
    let reason = error;
    if (!isLedgerFault(error)) {
      const message = scrub(messageOf(error)).slice(0, REASON_LENGTH_MAX);
      log.error({ deliveryId, err: error }, 'A delivery could not be attempted and is put aside.');
      try {
        await ledger.putAside({ deliveryId, reason: { code: 'internal', message: `It cannot be sent: ${message}` } });
        return;
      } catch (second) {
        reason = second;
      }
    }
    unclaimed = reason instanceof Error ? reason : new Error(messageOf(reason));
    // The pause keeps it from being rung in circles meanwhile.
    await clock.sleep(AGAIN_MS, abort.signal);
  }

  /** Settles doubts; never rejects. */
  async function resolveDoubts(): Promise<void> {
    try {
      const looked = await doubts.resolve(abort.signal);
      doubtTrouble = null;
      if (looked > 0) wake();
    } catch (error) {
      doubtTrouble = error instanceof Error ? error : new Error(messageOf(error));
      await clock.sleep(AGAIN_MS, abort.signal);
    } finally {
      resolving = null;
    }
  }

  /** Reads the lists that creates wait for; never rejects. */
  async function makeContact(): Promise<void> {
    try {
      const moved = await contact.advance(abort.signal);
      contactTrouble = null;
      if (moved) wake();
    } catch (error) {
      contactTrouble = error instanceof Error ? error : new Error(messageOf(error));
      log.error({ error: contactTrouble.message }, 'The lists of the platform cannot be stored for now; trying again.');
      await clock.sleep(AGAIN_MS, abort.signal);
    } finally {
      contacting = null;
    }
  }

  async function round(): Promise<void> {
    if (gate.state().open) {
      // Beside everything else: to read a large catalogue takes its time, and shall keep nothing from being sent.
      resolving ??= resolveDoubts();
      contacting ??= makeContact();
      for (const id of [...(await feeder.byHand()), ...(await feeder.sample())]) inHand.begin(id);
      if ((await feeder.fill()) > 0) movedAt = clock.ticks();
    }
    await noticeLostQueue();
    if (clock.ticks() < reconcileAt) return;
    reconcileAt = clock.ticks() + RECONCILE_MS;
    // With every due delivery rung for, nothing else would tell that the queue takes no more and hands out none.
    await queues.touch();
    await options.eachRound();
    await failedJobs?.reconcile();
  }

  /** What is in the queue and has not been heard. */
  function awaited(): number {
    return feeder.unheard() + (failedJobs?.outstanding() ?? 0);
  }

  /** A queue that was wiped leaves us waiting for doorbells that nobody will hear. */
  async function noticeLostQueue(): Promise<void> {
    const before = awaited();
    if (before === 0 || hearing > 0) return;
    const { waiting, active } = await queues.counts('deliver');
    const isHeardSoon = active > 0 && clock.ticks() - movedAt < UNHEARD_MS;
    if (waiting > 0 || isHeardSoon || hearing > 0 || awaited() !== before) return;
    log.warn({ outstanding: before }, 'The queue has lost its doorbells; they are rung anew from the ledger.');
    feeder.lost();
    failedJobs?.queueLost();
    wake();
  }

  /**
   * How long until there is something to do, unless somebody wakes the engine. What was due when the round began was rung
   * for, or cannot go on by itself.
   */
  async function restMs(begunAt: number): Promise<number> {
    const next = await ledger.nextDueAt({ after: begunAt, held: held() });
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
        troubleLog.update(doubtTrouble ?? deliverer.trouble());
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
    alarm.abort();
  }

  return {
    wake,
    async start() {
      // What an earlier process rang for is rung anew from the ledger, where it is still due.
      await queues.clearWaiting('deliver');
      consumer = await queues.consume('deliver', { concurrency: options.concurrency }, hear);
      running = loop();
    },
    async status(of) {
      // First, for what is released afterwards is due then.
      const isListing = !(await contact.isAtRest()) && (of === undefined || (await ledger.hasSuspended(of)));
      const nextDueAt = await ledger.nextDueAt({ held: held(), of });
      // What could not be claimed is no trouble any more once nothing is due.
      const waits = nextDueAt === null ? null : unclaimed;
      const present = trouble ?? doubtTrouble ?? contactTrouble ?? deliverer.trouble() ?? waits;
      const outstanding = of === undefined ? feeder.outstanding() : await ledger.countSending(of);
      return { outstanding, nextDueAt, isListing, trouble: present };
    },
    async stop() {
      abort.abort();
      wake();
      await running;
      await resolving;
      await contacting;
      await consumer?.close();
      await inHand.ended();
    },
  };
}
