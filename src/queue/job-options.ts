import type { QueueOptions, WorkerOptions } from 'bullmq';
import type { StallTiming } from './backend.ts';

/** How many failed jobs stay visible. The ledger knows all of them; this is what a dashboard can hold. */
export const FAILED_JOBS_KEPT = 1_000;
const COMPLETED_JOBS_KEPT = 200;

/** What every queue has in common, whatever its backend. */
export const QUEUE_OPTIONS = {
  // Version and eviction policy are checked once by us; BullMQ would print to the console at every connection.
  skipVersionCheck: true,
  // Nothing reads the event stream: a few are kept for whoever looks into a queue by hand.
  streams: { events: { maxLen: 100 } },
  defaultJobOptions: {
    // The ledger owns retry timing.
    attempts: 1,
    removeOnComplete: { count: COMPLETED_JOBS_KEPT },
    removeOnFail: { count: FAILED_JOBS_KEPT },
    // A stack trace tells paths of this host to whoever sees the queue, and nothing to the person who reads the reason.
    stackTraceLimit: 0,
  },
} as const satisfies Omit<QueueOptions, 'connection'>;

/** What every worker has in common. */
export function workerOptions(concurrency: number, timing: StallTiming): Omit<WorkerOptions, 'connection'> {
  return {
    concurrency,
    skipVersionCheck: true,
    lockDuration: timing.lockMs,
    stalledInterval: timing.stalledCheckMs,
    // A doorbell that was lost with its worker is heard again, however often: the ledger says whether work is left.
    maxStalledCount: 1_000_000,
    // After the connection was lost while a result was being written.
    runRetryDelay: 2_000,
  };
}
