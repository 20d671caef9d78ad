import { type Job, type Processor, UnrecoverableError, WaitingError } from 'bullmq';
import type { JobResult, ReceivedJob } from '../domain/ports/queues.ts';
import { messageOf } from '../lib/errors.ts';
import { isJsonObject, type JsonObject } from '../lib/json.ts';
import type { Logger } from '../lib/logging.ts';
import { ownData, toStorableText } from './job-format.ts';

const FOREIGN = 'Dropped: another version of dpp-sync wrote this job. What is due is enqueued again from the ledger.';

interface JobProcessorOptions {
  hear: (bell: ReceivedJob) => Promise<JobResult>;
  /** True once the consumer must hear nothing new. */
  closing: () => boolean;
  log: Logger;
}

/** Turns a hearing function into what a BullMQ worker calls for each job. */
export function createJobProcessor({ hear, closing, log }: JobProcessorOptions): Processor {
  return async (job, token) => {
    if (closing()) {
      // The job was fetched while the worker was being closed: it goes back, for another worker.
      await job.moveToWait(token);
      throw new WaitingError();
    }
    const data = ownData(job.data);
    if (data === null) return FOREIGN;
    const hearing = await hearSafely(hear, { job, data, log });
    if (hearing.status === 'done') return hearing.note === undefined ? null : toStorableText(hearing.note);
    await job.updateProgress({ failedAttempt: job.attemptsMade + 1 });
    throw new UnrecoverableError(toStorableText(hearing.reason));
  };
}

async function hearSafely(
  hear: JobProcessorOptions['hear'],
  { job, data, log }: { job: Job; data: JsonObject; log: Logger },
): Promise<JobResult> {
  try {
    return await hear({ id: job.id ?? '', name: job.name, data, retried: wasRetried(job) });
  } catch (error) {
    log.error({ queue: job.queueName, jobId: job.id, err: error }, 'A doorbell could not be heard to its end.');
    return { status: 'failed', reason: messageOf(error) };
  }
}

/**
 * True when the attempt before this one ended as failed. BullMQ keeps no trace of that through a retry: it erases the
 * reason, and `attemptsMade` also counts attempts that succeeded, which a dashboard lets people run again. A stalled
 * attempt is not counted by it. So the number of a failing attempt is kept in the job's progress, which survives.
 */
function wasRetried(job: Job): boolean {
  return job.attemptsMade > 0 && isJsonObject(job.progress) && job.progress['failedAttempt'] === job.attemptsMade;
}
