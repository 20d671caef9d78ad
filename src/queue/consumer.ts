import { type Job, type Processor, UnrecoverableError, WaitingError } from 'bullmq';
import type { Consumer, JobResult, QueueName, ReceivedJob } from '../domain/ports/queues.ts';
import { messageOf } from '../lib/errors.ts';
import { isJsonObject, type JsonObject } from '../lib/json.ts';
import { withLogFields } from '../lib/logging/log-context.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { QueueBackend } from './backend.ts';
import type { ErrorSink } from './error-log.ts';
import { ownData, toStorableText } from './job-format.ts';

interface ConsumerOptions {
  backend: QueueBackend;
  name: QueueName;
  concurrency: number;
  handle: (job: ReceivedJob) => Promise<JobResult>;
  log: Logger;
  onError: ErrorSink;
}

export function startConsumer({ backend, name, concurrency, handle, log, onError }: ConsumerOptions): Consumer {
  const running = new Set<Promise<JobResult>>();
  let closing: Promise<void> | undefined;

  const processor = createJobProcessor({
    handle(job) {
      const handling = handle(job).finally(() => running.delete(handling));
      running.add(handling);
      return handling;
    },
    closing: () => closing !== undefined,
    log,
  });

  async function handlersEnded(): Promise<void> {
    while (running.size > 0) await Promise.allSettled(running);
  }

  const backendWorker = backend.startWorker(name, processor, concurrency);
  backendWorker.worker.on('error', (error) => onError(`worker ${name}`, error));
  backendWorker.worker.on('stalled', (jobId) => {
    log.warn({ queue: name, jobId }, 'The worker that took this job has ended. Another worker takes the job.');
  });

  return {
    close() {
      closing ??= backendWorker.close(handlersEnded());
      return closing;
    },
  };
}

const FOREIGN =
  'Dropped: another version of dpp-sync wrote this job. dpp-sync enqueues all due work again from the ledger.';

interface JobProcessorOptions {
  handle: (job: ReceivedJob) => Promise<JobResult>;
  /** True once the consumer takes no further jobs. */
  closing: () => boolean;
  log: Logger;
}

/** Makes the function that a BullMQ worker calls for each job. */
function createJobProcessor({ handle, closing, log }: JobProcessorOptions): Processor {
  return async (job, token) => {
    if (closing()) {
      // The job was fetched while the worker was being closed. It is returned to the queue for another worker.
      await job.moveToWait(token);
      throw new WaitingError();
    }
    const data = ownData(job.data);
    if (data === null) return FOREIGN;
    const result = await handleSafely(handle, { job, data, log });
    if (result.status === 'done') return result.note === undefined ? null : toStorableText(result.note);
    await job.updateProgress({ failedAttempt: job.attemptsMade + 1 });
    throw new UnrecoverableError(toStorableText(result.reason));
  };
}

async function handleSafely(
  handle: JobProcessorOptions['handle'],
  { job, data, log }: { job: Job; data: JsonObject; log: Logger },
): Promise<JobResult> {
  try {
    const received = { id: job.id ?? '', name: job.name, data, retried: wasRetried(job) };
    return await withLogFields(fieldsOf(data), () => handle(received));
  } catch (error) {
    log.error({ queue: job.queueName, jobId: job.id, ...fieldsOf(data), err: error }, 'Processing a queue job failed.');
    return { status: 'failed', reason: messageOf(error) };
  }
}

/** The fields of a job that are logged. */
function fieldsOf({ source, run, kind, key }: JsonObject): Record<string, string | number> {
  const known = Object.entries({ source, run, kind, key });
  return Object.fromEntries(
    known.flatMap(([name, value]) => (typeof value === 'string' || typeof value === 'number' ? [[name, value]] : [])),
  );
}

/**
 * True when the previous attempt failed. BullMQ does not show this after a retry: it erases the reason. `attemptsMade`
 * also counts attempts that succeeded and were repeated from a dashboard, and does not count stalled attempts. So the
 * number of a failed attempt is stored in the job's progress, which a retry does not erase.
 */
function wasRetried(job: Job): boolean {
  return job.attemptsMade > 0 && isJsonObject(job.progress) && job.progress['failedAttempt'] === job.attemptsMade;
}
