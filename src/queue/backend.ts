import type { Processor, Queue, Worker } from 'bullmq';
import type { QueueName } from '../domain/ports/queues.ts';

/** How soon a worker that died is noticed. */
export interface StallTiming {
  /** How long a heard doorbell is reserved. A living worker renews its reservations at half this time. */
  lockMs: number;
  /** How often workers look for reservations that lapsed. A lapsed one is heard again at the second look. */
  stalledCheckMs: number;
}

/** One of BullMQ's datastores, open. */
export interface QueueBackend {
  /** One per queue name, in the order of `QUEUE_NAMES`: they add doorbells and answer questions. */
  queues: ReadonlyMap<QueueName, Queue>;
  /** Starts a worker. It connects by itself, and again when the connection is lost. */
  startWorker(name: QueueName, processor: Processor, concurrency: number): BackendWorker;
  /**
   * Runs an operation on a queue and ends in bounded time.
   *
   * @throws Fault `queue.unreachable` when the datastore does not answer or refuses
   */
  attempt<T>(operation: () => Promise<T>): Promise<T>;
  /** Writes a little something, for nothing but to see whether it can be written. */
  touch(): Promise<void>;
  /** Closes queues and connections. Workers are closed before. */
  close(): Promise<void>;
}

export interface BackendWorker {
  worker: Worker;
  /**
   * Fetches nothing new and lets go of what was fetched; ends in bounded time after the hearings.
   *
   * @param hearingsEnded resolves when those that were running have ended
   */
  close(hearingsEnded: Promise<void>): Promise<void>;
}
