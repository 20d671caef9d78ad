import { lostJobsFault } from '../domain/delivery/queue-faults.ts';
import type { JobResult, Queues, ReceivedJob } from '../domain/ports/queues.ts';
import type { Clock } from '../lib/clock.ts';
import type { Fault } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';
import { dueNamesOf, isStuckJob } from './delivery-jobs.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { FailedJobs } from './failed-jobs.ts';

/** Processes the jobs of the `deliver` queue, and notices when the queue has lost them. */
export interface JobIntake {
  process(job: ReceivedJob): Promise<JobResult>;
  /** Call it after jobs were enqueued. */
  enqueued(): void;
  /** Finds out whether the queue was wiped. The deliveries of the lost jobs are then enqueued again. */
  noticeLostQueue(): Promise<void>;
  /** The fault of a queue that loses its jobs again and again; null while it keeps them. */
  trouble(): Fault | null;
}

/**
 * If no job was processed for this long although the queue counts active jobs, the jobs were evicted or their worker
 * has died.
 */
const UNPROCESSED_MS = 5000;

export function createJobIntake(options: {
  queues: Pick<Queues, 'counts'>;
  dispatcher: Pick<Dispatcher, 'receive' | 'enqueued' | 'lost'>;
  /** Null in a process that does not show failed jobs. */
  failedJobs: FailedJobs | null;
  clock: Pick<Clock, 'ticks'>;
  log: Pick<Logger, 'warn' | 'error'>;
  abort: AbortSignal;
  /** Called when something may have become due, or has to be enqueued again. */
  onChanged: () => void;
}): JobIntake {
  const { queues, dispatcher, failedJobs, clock, log, abort, onChanged } = options;
  let processing = 0;
  /** How often the jobs were lost since the last one was processed. */
  let losses = 0;
  /** When a job was last enqueued or processed. */
  let movedAt = Number.NEGATIVE_INFINITY;

  async function processJob(job: ReceivedJob): Promise<JobResult> {
    losses = 0;
    if (isStuckJob(job) && failedJobs) {
      const result = await failedJobs.process(job);
      onChanged();
      return result;
    }
    const names = dueNamesOf(job);
    processing += 1;
    try {
      const count = await dispatcher.receive(names, abort);
      return { status: 'done', note: `${count} of ${names.length} received` };
    } finally {
      processing -= 1;
      movedAt = clock.ticks();
    }
  }

  /** The number of jobs that were enqueued and not received. */
  function awaited(): number {
    return dispatcher.enqueued() + (failedJobs?.outstanding() ?? 0);
  }

  const trouble = (): Fault | null => lostJobsFault('deliver', losses);

  /** Logs the first loss, and once more when the queue seems to keep no job. */
  function noteLoss(outstanding: number): void {
    const former = trouble();
    losses += 1;
    const present = trouble();
    if (losses === 1)
      log.warn({ outstanding }, 'The queue has lost its jobs; dpp-sync enqueues them again from the ledger.');
    else if (former === null && present !== null)
      log.error({ outstanding }, `${present.message} ${present.suggestion ?? ''}`);
  }

  async function noticeLostQueue(): Promise<void> {
    const before = awaited();
    if (before === 0) losses = 0;
    if (before === 0 || processing > 0) return;
    const { waiting, active } = await queues.counts('deliver');
    const isProcessedSoon = active > 0 && clock.ticks() - movedAt < UNPROCESSED_MS;
    if (waiting > 0 || isProcessedSoon || processing > 0 || awaited() !== before) return;
    noteLoss(before);
    dispatcher.lost();
    failedJobs?.queueLost();
    onChanged();
  }

  return {
    process: processJob,
    enqueued() {
      movedAt = clock.ticks();
    },
    noticeLostQueue,
    trouble,
  };
}
