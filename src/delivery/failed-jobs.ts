import type { LedgerViews } from '../domain/ports/ledger/ledger-views.ts';
import type { JobResult, Queues, ReceivedJob } from '../domain/ports/queues.ts';
import { isStuckJob, shows, stuckDeliveryOf, stuckJob } from './delivery-jobs.ts';

/** At most this many failed jobs are shown. The ledger has the rest. */
const SHOWN_MAX = 1000;

export interface FailedJobsOptions {
  queues: Queues;
  views: LedgerViews;
  /** Maps the stored record of a delivery again and stages it. `message` is a sentence about the result. */
  replay: (deliveryId: number) => Promise<{ staged: number; message: string }>;
}

/**
 * Shows deliveries that need a person as failed jobs of the `deliver` queue, so that Retry in a dashboard is a replay. The ledger
 * decides which deliveries are shown. Jobs are added and dropped until they agree with the ledger.
 */
export interface FailedJobs {
  /** Makes the failed jobs agree with the ledger. */
  reconcile(): Promise<void>;
  /** How many jobs that show a delivery were enqueued and not received yet. */
  outstanding(): number;
  /** Forgets the enqueued jobs, because the queue has lost them. */
  queueLost(): void;
  /**
   * Processes a job that shows a delivery. The first time, the job ends as failed with the reason. On Retry it replays
   * the delivery.
   */
  process(job: ReceivedJob): Promise<JobResult>;
}

export function createFailedJobs({ queues, views, replay }: FailedJobsOptions): FailedJobs {
  /** Deliveries whose job was enqueued and may not be received yet. They are not among the failed jobs, and get no second job. */
  const enqueued = new Set<number>();

  return {
    async reconcile() {
      const stuck = views.stuck(SHOWN_MAX);
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

    outstanding: () => enqueued.size,
    queueLost: () => enqueued.clear(),

    async process(job) {
      const id = stuckDeliveryOf(job);
      const delivery = id === null ? null : views.delivery(id);
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
