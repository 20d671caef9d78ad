import type { Reason } from '../domain/delivery/stored-reason.ts';
import { isLedgerFault } from '../domain/faults.ts';
import type { DeliveryName, DueDelivery } from '../domain/ports/deliveries.ts';
import type { DeliveryLedger } from '../domain/ports/ledger/delivery-ledger.ts';
import type { StuckDelivery } from '../domain/ports/ledger/ledger-standing.ts';
import type { Reads } from '../domain/ports/ledger/reads.ts';
import type { JobResult, Queues, ReceivedJob, WakeUpJob } from '../domain/ports/queues.ts';
import { stateWord } from '../domain/words/states.ts';
import { messageOf } from '../lib/errors.ts';
import { isJsonObject } from '../lib/json.ts';
import type { Logger } from '../lib/logging/logging.ts';

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
      const reason = `${stateWord(delivery.state)}: ${delivery.reason.message}`;
      if (!job.retried) return { status: 'failed', reason };
      const { staged, message } = await replay(delivery.id);
      return staged > 0 ? { status: 'done', note: message } : { status: 'failed', reason: `${message} ${reason}` };
    },
  };
}

export type FailedJobs = ReturnType<typeof createFailedJobs>;

/**
 * The name of a delivery in a failed job: id, item and revision. After a restore an id can belong to another
 * delivery. Then the item or the revision differs.
 */
type NamedDelivery = Pick<DueDelivery, 'id' | 'kind' | 'key' | 'revision'>;

/** A job that ends as failed. It shows a person a delivery that needs attention. */
export function stuckJob(stuck: StuckDelivery): WakeUpJob {
  const { id: deliveryId, kind, key, revision, naturalKey, operation, source, state, reason } = stuck;
  return {
    name: `${operation} ${naturalKey ?? key}${source === null ? '' : ` (${source})`}: ${stateWord(state)}`,
    data: {
      type: 'failed',
      deliveryId,
      item: { kind, key },
      revision,
      naturalKey,
      operation,
      source,
      state,
      reason: reason.message,
    },
  };
}

export function isStuckJob({ data }: Pick<WakeUpJob, 'data'>): boolean {
  return data['type'] === 'failed';
}

/** The delivery that a failed job shows; null if the job does not name it fully. */
export function stuckDeliveryOf({ data }: Pick<WakeUpJob, 'data'>): number | null {
  return typeof data['deliveryId'] === 'number' ? data['deliveryId'] : null;
}

/** True if a job shows this delivery, and not an earlier one with the same id. */
function shows({ data }: Pick<WakeUpJob, 'data'>, { id, kind, key, revision }: NamedDelivery): boolean {
  const { item } = data;
  const isOfItem = isJsonObject(item) && item['kind'] === kind && item['key'] === key;
  return isOfItem && data['deliveryId'] === id && data['revision'] === revision;
}

/**
 * Dead-letters deliveries that throw unexpectedly, each with its reason. Otherwise they would throw again at once, and
 * no other delivery would be sent. Never rejects. Resolves to the ledger's error if it could not store a dead letter,
 * else to null.
 *
 * @param isAgain whether this was tried before for the same error, which is logged once
 */
export type DeadLetter = (
  deliveries: readonly DeliveryName[],
  error: unknown,
  isAgain?: boolean,
) => Promise<Error | null>;

const MESSAGE_LENGTH_MAX = 300;

/** @param options.scrub removes secrets from a text before it is stored (I7) */
export function createDeadLetter(options: {
  ledger: Pick<DeliveryLedger, 'deadLetter'>;
  log: Pick<Logger, 'error'>;
  scrub: (text: string) => string;
  /** Describes the operation and the item of a delivery, for the log. */
  reads?: Pick<Reads, 'delivery'> | undefined;
}): DeadLetter {
  const { ledger, reads, log, scrub } = options;

  async function describe(id: number): Promise<object> {
    try {
      const { source, kind, key } = (await reads?.delivery(id)) ?? {};
      return { source, kind, key };
    } catch {
      // The ledger cannot be read. The dead letter cannot be stored then either, and the caller gets that error.
      return {};
    }
  }

  return async (deliveries, error, isAgain = false) => {
    const message = scrub(messageOf(error)).slice(0, MESSAGE_LENGTH_MAX);
    const reason: Reason = { code: 'internal', message: `The delivery cannot be sent: ${message}` };
    for (const { id: deliveryId } of isAgain ? [] : deliveries) {
      log.error(
        { deliveryId, ...(await describe(deliveryId)), err: error },
        'A delivery cannot be attempted and is dead-lettered.',
      );
    }
    try {
      for (const { id: deliveryId, revision } of deliveries) {
        await ledger.deadLetter({ deliveryId, revision, reason, isOneOfMany: deliveries.length > 1 });
      }
      return null;
    } catch (second) {
      if (!isLedgerFault(second))
        log.error({ err: second }, 'A delivery cannot be dead-lettered. The delivery stays as it is.');
      return second instanceof Error ? second : new Error(messageOf(second));
    }
  };
}
