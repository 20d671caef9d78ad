import type { QueueOptions, WorkerOptions } from 'bullmq';
import type { StallTiming } from './backend.ts';

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
