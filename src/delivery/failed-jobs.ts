import type { LedgerViews } from '../domain/ports/ledger-views.ts';
import type { JobResult, Queues, ReceivedJob } from '../domain/ports/queues.ts';
import { isStuckJob, shows, stuckDeliveryOf, stuckJob } from './delivery-jobs.ts';

/** At most this many failed jobs are shown; the ledger knows the rest. */
const SHOWN_MAX = 1000;

export interface FailedJobsOptions {
  queues: Queues;
  views: LedgerViews;
  /** Maps the stored record behind a delivery anew and stages it. Says in a sentence what came of it. */
  replay: (deliveryId: number) => Promise<{ staged: number; message: string }>;
}

/**
 * Shows what needs a person as failed jobs of the `deliver` queue, so that a dashboard's Retry is a replay. The ledger
 * decides what is shown: jobs are added and dropped until the two agree.
 */
export interface FailedJobs {
  /** Makes the failed jobs agree with the ledger. */
  reconcile(): Promise<void>;
  /** Failed jobs that were rung for and not heard yet. */
  outstanding(): number;
  /** Forgets what was rung, since the queue has lost it. */
  queueLost(): void;
  /** Hears a job of this kind: the first time it ends as failed, with the reason; on Retry it replays. */
  process(bell: ReceivedJob): Promise<JobResult>;
}

export function createFailedJobs({ queues, views, replay }: FailedJobsOptions): FailedJobs {
  /** Rung, but perhaps not yet heard: not among the failed jobs, and not to be rung twice. */
  const underWay = new Set<number>();

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
      const missing = stuck.filter(({ id }) => !shown.has(id) && !underWay.has(id));
      for (const { id } of missing) underWay.add(id);
      try {
        if (missing.length > 0) await queues.enqueue('deliver', missing.map(stuckJob));
      } catch (error) {
        for (const { id } of missing) underWay.delete(id);
        throw error;
      }
    },

    outstanding: () => underWay.size,
    queueLost: () => underWay.clear(),

    async process(bell) {
      const id = stuckDeliveryOf(bell);
      const delivery = id === null ? null : views.delivery(id);
      if (id !== null) underWay.delete(id);
      // The ledger decides: whatever the job once stood for, there is nothing to do where the delivery has moved on.
      if (!delivery?.needsPerson || !shows(bell, delivery)) {
        return { status: 'done', note: 'The delivery has moved on.' };
      }
      const reason = `${delivery.state}: ${delivery.reason.message}`;
      if (!bell.retried) return { status: 'failed', reason };
      const { staged, message } = await replay(delivery.id);
      return staged > 0 ? { status: 'done', note: message } : { status: 'failed', reason: `${message} ${reason}` };
    },
  };
}
