import { lostJobsFault } from '../domain/faults.ts';
import type { Reads } from '../domain/ports/ledger/reads.ts';
import type { JobResult, Queues, ReceivedJob } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import type { Fault } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';
import { dueNamesOf, isStuckJob, shows, stuckDeliveryOf, stuckJob } from './delivery-jobs.ts';
import type { DeliveryWindow } from './delivery-window.ts';
import type { Dispatcher } from './dispatcher.ts';

/**
 * If no job was processed for this long although the queue counts active jobs, the jobs were evicted or their worker
 * has died.
 */
const UNPROCESSED_MS = 5000;

/** Processes the jobs of the `deliver` queue, and notices when the queue has lost them. */
export function createJobIntake(options: {
  queues: Queues;
  window: Pick<DeliveryWindow, 'receiveNamed' | 'count'>;
  dispatcher: Pick<Dispatcher, 'lost'>;
  /** Null in a process that does not show failed jobs. */
  failedJobs: FailedJobs | null;
  clock: Clock;
  log: Logger;
  abort: AbortSignal;
  /** Called when something may have become due, or has to be enqueued again. */
  onChanged: () => void;
}) {
  const { queues, window, dispatcher, failedJobs, clock, log, abort, onChanged } = options;
  let processing = 0;
  /** How often the jobs were lost since the last one was processed. */
  let losses = 0;
  /** When a job was last enqueued or processed. */
  let movedAt = Number.NEGATIVE_INFINITY;

  async function processJob(job: ReceivedJob): Promise<JobResult> {
    losses = 0;
    if (isStuckJob(job) && failedJobs) {
      const result = await failedJobs.process(job);
      onChanged();
      return result;
    }
    const names = dueNamesOf(job);
    processing += 1;
    try {
      const count = await window.receiveNamed(names, abort);
      return { status: 'done', note: `${count} of ${names.length} received` };
    } finally {
      processing -= 1;
      movedAt = clock.ticks();
    }
  }

  /** The number of jobs that were enqueued and not received. */
  function awaited(): number {
    return window.count('enqueued') + (failedJobs?.outstanding() ?? 0);
  }

  /** The fault of a queue that loses its jobs again and again; null while it keeps them. */
  const trouble = (): Fault | null => lostJobsFault('deliver', losses);

  /** Logs the first loss, and once more when the queue seems to keep no job. */
  function noteLoss(outstanding: number): void {
    const former = trouble();
    losses += 1;
    const present = trouble();
    if (losses === 1)
      log.warn({ outstanding }, 'The queue has lost its jobs; dpp-sync enqueues them again from the ledger.');
    else if (former === null && present !== null)
      log.error({ outstanding }, `${present.message} ${present.suggestion ?? ''}`);
  }

  /** Finds out whether the queue was wiped. The deliveries of the lost jobs are then enqueued again. */
  async function noticeLostQueue(): Promise<void> {
    const before = awaited();
    if (before === 0) losses = 0;
    if (before === 0 || processing > 0) return;
    const { waiting, active } = await queues.counts('deliver');
    const isProcessedSoon = active > 0 && clock.ticks() - movedAt < UNPROCESSED_MS;
    if (waiting > 0 || isProcessedSoon || processing > 0 || awaited() !== before) return;
    noteLoss(before);
    dispatcher.lost();
    failedJobs?.queueLost();
    onChanged();
  }

  return {
    process: processJob,
    /** Call it after jobs were enqueued. */
    enqueued() {
      movedAt = clock.ticks();
    },
    noticeLostQueue,
    trouble,
  };
}

/** At most this many failed jobs are shown. The ledger has the rest. */
const SHOWN_MAX = 1000;

export interface FailedJobsOptions {
  queues: Queues;
  reads: Reads;
  /** Maps the stored record of a delivery again and stages it. `message` is a sentence about the result. */
  replay: (deliveryId: number) => Promise<{ staged: number; message: string }>;
}

/**
 * Shows deliveries that need a person as failed jobs of the `deliver` queue, so that Retry in a dashboard is a replay. The ledger
 * decides which deliveries are shown. Jobs are added and dropped until they agree with the ledger.
 */
export function createFailedJobs({ queues, reads, replay }: FailedJobsOptions) {
  /** Deliveries whose job was enqueued and may not be received yet. They are not among the failed jobs, and get no second job. */
  const enqueued = new Set<number>();

  return {
    /** Makes the failed jobs agree with the ledger. */
    async reconcile() {
      const stuck = await reads.stuck(SHOWN_MAX);
      const wanted = new Map(stuck.map((delivery) => [delivery.id, delivery]));
      const shown = new Set<number>();
      const outdated: string[] = [];
      for (const job of await queues.failed('deliver')) {
        if (!isStuckJob(job)) continue;
        const delivery = wanted.get(stuckDeliveryOf(job) ?? Number.NaN);
        if (delivery !== undefined && shows(job, delivery) && !shown.has(delivery.id)) shown.add(delivery.id);
        else outdated.push(job.id);
      }
      if (outdated.length > 0) await queues.forget('deliver', outdated);
      const missing = stuck.filter(({ id }) => !shown.has(id) && !enqueued.has(id));
      for (const { id } of missing) enqueued.add(id);
      try {
        if (missing.length > 0) await queues.enqueue('deliver', missing.map(stuckJob));
      } catch (error) {
        for (const { id } of missing) enqueued.delete(id);
        throw error;
      }
    },

    /** How many jobs that show a delivery were enqueued and not received yet. */
    outstanding: () => enqueued.size,
    /** Forgets the enqueued jobs, because the queue has lost them. */
    queueLost: () => enqueued.clear(),

    /**
     * Processes a job that shows a delivery. The first time, the job ends as failed with the reason. On Retry it replays
     * the delivery.
     */
    async process(job: ReceivedJob): Promise<JobResult> {
      const id = stuckDeliveryOf(job);
      const delivery = id === null ? null : await reads.delivery(id);
      if (id !== null) enqueued.delete(id);
      // The ledger decides. If the delivery has changed its state since, the job has nothing to do.
      if (!delivery?.needsPerson || !shows(job, delivery)) {
        return { status: 'done', note: 'The delivery no longer needs a person.' };
      }
      const reason = `${delivery.state}: ${delivery.reason.message}`;
      if (!job.retried) return { status: 'failed', reason };
      const { staged, message } = await replay(delivery.id);
      return staged > 0 ? { status: 'done', note: message } : { status: 'failed', reason: `${message} ${reason}` };
    },
  };
}

export type FailedJobs = ReturnType<typeof createFailedJobs>;
