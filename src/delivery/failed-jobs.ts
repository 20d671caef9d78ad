import type { LedgerViews, StuckDelivery } from '../domain/ports/ledger-views.ts';
import type { Doorbell, HeardDoorbell, Hearing, Queues } from '../domain/ports/queues.ts';

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
  lost(): void;
  /** Hears a job of this kind: the first time it ends as failed, with the reason; on Retry it replays. */
  hear(bell: HeardDoorbell): Promise<Hearing>;
}

export function createFailedJobs({ queues, views, replay }: FailedJobsOptions): FailedJobs {
  /** Rung, but perhaps not yet heard: not among the failed jobs, and not to be rung twice. */
  const underWay = new Set<number>();

  return {
    async reconcile() {
      const stuck = views.stuck(SHOWN_MAX);
      const wanted = new Set(stuck.map(({ id }) => id));
      const shown = new Set<number>();
      const outdated: string[] = [];
      for (const job of await queues.failed('deliver')) {
        const id = deliveryIdOf(job);
        if (id === null) continue;
        if (wanted.has(id) && !shown.has(id)) shown.add(id);
        else outdated.push(job.id);
      }
      if (outdated.length > 0) await queues.forget('deliver', outdated);
      const missing = stuck.filter(({ id }) => !shown.has(id) && !underWay.has(id));
      for (const { id } of missing) underWay.add(id);
      try {
        if (missing.length > 0) await queues.ring('deliver', missing.map(failedBell));
      } catch (error) {
        for (const { id } of missing) underWay.delete(id);
        throw error;
      }
    },

    outstanding: () => underWay.size,
    lost: () => underWay.clear(),

    async hear(bell) {
      const id = deliveryIdOf(bell);
      const delivery = id === null ? null : views.delivery(id);
      if (id !== null) underWay.delete(id);
      // The ledger decides: whatever the job once stood for, there is nothing to do where the delivery has moved on.
      if (id === null || !delivery?.needsPerson) return { status: 'done', note: 'The delivery has moved on.' };
      const reason = `${delivery.state}: ${delivery.reason.message}`;
      if (!bell.retried) return { status: 'failed', reason };
      const { staged, message } = await replay(id);
      return staged > 0 ? { status: 'done', note: message } : { status: 'failed', reason: `${message} ${reason}` };
    },
  };
}

function deliveryIdOf({ data }: Pick<Doorbell, 'data'>): number | null {
  return data['type'] === 'failed' && typeof data['deliveryId'] === 'number' ? data['deliveryId'] : null;
}

function failedBell({ id, kind, key, naturalKey, operation, source, state, reason }: StuckDelivery): Doorbell {
  const name = `${operation} ${naturalKey ?? key}: ${state}`;
  return {
    name,
    data: { type: 'failed', deliveryId: id, kind, key, naturalKey, operation, source, state, reason: reason.message },
  };
}
