import type { JsonObject } from '../../lib/json.ts';

export const QUEUE_NAMES = ['pull', 'map', 'deliver'] as const;
export type QueueName = (typeof QUEUE_NAMES)[number];

/** A message that says "look here". It carries ids and words for people, never a payload and never a secret (I7). */
export interface WakeUpJob {
  /** What a dashboard shows as the job's name. */
  name: string;
  data: JsonObject;
}

/** A doorbell as a worker hears it. */
export interface ReceivedJob extends WakeUpJob {
  id: string;
  /**
   * True when the job had failed and somebody pressed Retry. A rerun after a stall is no retry: it has not failed
   * before.
   */
  retried: boolean;
}

/** How hearing a doorbell ended. A failed one stays visible as a failed job with the reason, until a person retries it. */
export type JobResult = { status: 'done'; note?: string } | { status: 'failed'; reason: string };

export interface QueueCounts {
  waiting: number;
  active: number;
  failed: number;
}

/** A job that ended as failed and is still shown. */
export interface FailedJob extends WakeUpJob {
  id: string;
  reason: string;
}

export interface Consumer {
  /** Hears nothing new and waits for the running hearings. */
  close(): Promise<void>;
}

/**
 * The queues. They hold no truth: what they lose is rung again from the ledger, so a ring that fails may be repeated and a
 * ring that comes twice does no harm.
 */
export interface Queues {
  /** Adds doorbells, in order. Each gets a job id that was never used before. */
  enqueue(queue: QueueName, doorbells: readonly WakeUpJob[]): Promise<void>;
  /** Hears doorbells, at most `concurrency` at a time. What the handler throws ends as a failed job with its message. */
  consume(
    queue: QueueName,
    options: { concurrency: number },
    hear: (bell: ReceivedJob) => Promise<JobResult>,
  ): Promise<Consumer>;
  counts(queue: QueueName): Promise<QueueCounts>;
  /** The queues that a person has paused in a dashboard: their jobs wait. */
  paused(): Promise<QueueName[]>;
  /** Proves that doorbells can be added and heard: a Redis that is out of memory still answers every question. */
  touch(): Promise<void>;
  /** The failed jobs, newest first. At most 1,000 are kept. */
  failed(queue: QueueName): Promise<FailedJob[]>;
  /** Drops failed jobs that no longer say the truth. Ids that are gone are ignored. */
  forget(queue: QueueName, ids: readonly string[]): Promise<void>;
  /** Drops every waiting doorbell of a queue: on start, when they are rung anew from the ledger. */
  clearWaiting(queue: QueueName): Promise<void>;
  close(): Promise<void>;
}
