import type { JsonObject } from '../../lib/json.ts';

export const QUEUE_NAMES = ['pull', 'map', 'deliver'] as const;
export type QueueName = (typeof QUEUE_NAMES)[number];

/** A job that names work in the ledger. It carries ids and texts for people, and never a payload or a secret (I7). */
export interface WakeUpJob {
  /** The name of the job in a dashboard. */
  name: string;
  data: JsonObject;
}

/** A wake-up job as its handler receives it. */
export interface ReceivedJob extends WakeUpJob {
  id: string;
  /**
   * True when the job had failed and a person has retried it in a dashboard. A job that runs again after a stall has not
   * failed, so it is no retry.
   */
  retried: boolean;
}

/** How the handler of a job ended. A failed job stays visible with its reason until a person retries it. */
export type JobResult = { status: 'done'; note?: string } | { status: 'failed'; reason: string };

export interface QueueCounts {
  waiting: number;
  active: number;
  failed: number;
}

/** A job that has failed and is still shown. */
export interface FailedJob extends WakeUpJob {
  id: string;
  reason: string;
}

export interface Consumer {
  /** Takes no further jobs, and waits for the handlers that are running. */
  close(): Promise<void>;
}

/**
 * The queues. If a job is lost, its work is not lost: the ledger knows the due work, which is enqueued again. So
 * `enqueue` may be repeated after it failed, and enqueueing the same work twice does no harm.
 */
export interface Queues {
  /** Adds jobs, in order. Each gets a job id that was never used before. */
  enqueue(queue: QueueName, jobs: readonly WakeUpJob[]): Promise<void>;
  /** Handles jobs, at most `concurrency` at a time. A job whose handler throws becomes a failed job with the error's message. */
  consume(
    queue: QueueName,
    options: { concurrency: number },
    handle: (job: ReceivedJob) => Promise<JobResult>,
  ): Promise<Consumer>;
  counts(queue: QueueName): Promise<QueueCounts>;
  /** The queues that a person has paused in a dashboard: their jobs wait. */
  paused(): Promise<QueueName[]>;
  /** Writes to the queue's datastore, to learn whether it can be written: a Redis without free memory still answers reads. */
  touch(): Promise<void>;
  /** The failed jobs, newest first. At most 1,000 are kept. */
  failed(queue: QueueName): Promise<FailedJob[]>;
  /** Drops failed jobs whose reason no longer holds. Unknown ids are ignored. */
  forget(queue: QueueName, ids: readonly string[]): Promise<void>;
  /**
   * Drops every waiting job of a queue, for example at the start, when all due work is enqueued again from the ledger.
   */
  clearWaiting(queue: QueueName): Promise<void>;
  close(): Promise<void>;
}
