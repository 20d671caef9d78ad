import type { Processor, Queue, Worker } from 'bullmq';
import type { QueueName } from '../domain/ports/queues.ts';

/** How soon a worker that died is noticed. */
export interface StallTiming {
  /** For how long a worker reserves a job that it has received. A living worker renews its reservations at half this time. */
  lockMs: number;
  /**
   * How often workers look for jobs whose reservation has ended. At the second time a job is put back into the queue.
   */
  stalledCheckMs: number;
}

/** A datastore of BullMQ that is open. */
export interface QueueBackend {
  /** The queues by name, in the order of `QUEUE_NAMES`. They add jobs and answer questions about them. */
  queues: ReadonlyMap<QueueName, Queue>;
  /** Starts a worker. It connects, and connects again when the connection is lost. */
  startWorker(name: QueueName, processor: Processor, concurrency: number): BackendWorker;
  /**
   * Runs an operation on a queue and ends in bounded time.
   *
   * @throws Fault `queue.unreachable` when the datastore does not answer or refuses
   */
  attempt<T>(operation: () => Promise<T>): Promise<T>;
  /** Writes one small value, to learn whether the datastore can be written. */
  touch(): Promise<void>;
  /** Closes queues and connections. Close the workers before. */
  close(): Promise<void>;
}

export interface BackendWorker {
  worker: Worker;
  /**
   * Fetches no further jobs, and puts back jobs that were fetched but not begun. Resolves in bounded time after the
   * last handler.
   *
   * @param handlersEnded resolves when the handlers that were running have ended
   */
  close(handlersEnded: Promise<void>): Promise<void>;
}
