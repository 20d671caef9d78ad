import type { Processor, Queue, QueueOptions, Worker, WorkerOptions } from 'bullmq';
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

/** How many failed jobs stay visible in a dashboard. The ledger knows all of them. */
export const FAILED_JOBS_KEPT = 1_000;
const COMPLETED_JOBS_KEPT = 200;

/** The options of every queue, with either backend. */
export const QUEUE_OPTIONS = {
  // `redis-settings.ts` checks version and eviction policy once. BullMQ would print to the console at every connection.
  skipVersionCheck: true,
  // No code reads the event stream. A few events are kept for a person who looks into a queue.
  streams: { events: { maxLen: 100 } },
  defaultJobOptions: {
    // The ledger owns retry timing.
    attempts: 1,
    removeOnComplete: { count: COMPLETED_JOBS_KEPT },
    removeOnFail: { count: FAILED_JOBS_KEPT },
    // I7: a stack trace shows paths of this host to everybody who sees the queue, and does not help to understand the reason.
    stackTraceLimit: 0,
  },
} as const satisfies Omit<QueueOptions, 'connection'>;

/** The options that all workers have in common. */
export function workerOptions(concurrency: number, timing: StallTiming): Omit<WorkerOptions, 'connection'> {
  return {
    concurrency,
    skipVersionCheck: true,
    lockDuration: timing.lockMs,
    stalledInterval: timing.stalledCheckMs,
    // A job whose worker has ended runs again without a limit: its handler asks the ledger whether work is left.
    maxStalledCount: 1_000_000,
    // The wait after the connection was lost while a result was written.
    runRetryDelay: 2_000,
  };
}
