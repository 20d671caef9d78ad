import { randomUUID } from 'node:crypto';
import { type Job, type Processor, type Queue, UnrecoverableError, WaitingError } from 'bullmq';
import { fault } from '../domain/faults.ts';
import {
  type Consumer,
  type JobResult,
  QUEUE_NAMES,
  type QueueName,
  type Queues,
  type ReceivedJob,
} from '../domain/ports/queues.ts';
import { messageOf } from '../lib/errors.ts';
import { isJsonObject, type JsonObject } from '../lib/json.ts';
import { type Logger, withLogFields } from '../lib/logging/logging.ts';
import { FAILED_JOBS_KEPT, type QueueBackend } from './backend.ts';
import type { ErrorSink } from './queue-errors.ts';

const ENQUEUE_CHUNK = 1_000;
const FORGET_CHUNK = 100;
const COUNTED = ['waiting', 'prioritized', 'delayed', 'active', 'failed'] as const;

/** The queues, and the objects that a dashboard needs to show them. */
export interface BullmqQueues extends Queues {
  /** BullMQ's own objects, in the order of `QUEUE_NAMES`. `close` closes them. */
  readonly bullQueues: readonly Queue[];
  /** @throws Fault `queue.unreachable` */
  setPaused(name: QueueName, isPaused: boolean): Promise<void>;
}

/** Makes the queues from one of BullMQ's backends. */
export function createBullmqQueues(options: { backend: QueueBackend; log: Logger; onError: ErrorSink }): BullmqQueues {
  const { backend, log, onError } = options;
  const consumers = new Set<Consumer>();
  let closing: Promise<void> | undefined;

  function throwIfClosed(): void {
    if (closing !== undefined) throw fault('queue.unreachable', 'The queues are closed.');
  }

  async function ask<T>(name: QueueName, operation: (queue: Queue) => Promise<T>): Promise<T> {
    throwIfClosed();
    return backend.attempt(() => operation(queueOf(backend, name)));
  }

  async function closeAll(): Promise<void> {
    await Promise.all([...consumers].map((consumer) => consumer.close()));
    await backend.close();
  }

  return {
    bullQueues: QUEUE_NAMES.map((name) => queueOf(backend, name)),

    async enqueue(name, jobs) {
      for (let start = 0; start < jobs.length; start += ENQUEUE_CHUNK) {
        const chunk = jobs.slice(start, start + ENQUEUE_CHUNK).map((job) => ({
          name: toStorableText(job.name),
          data: stampData(job.data),
          opts: { jobId: randomUUID() },
        }));
        await ask(name, (queue) => queue.addBulk(chunk));
      }
    },

    async consume(name, { concurrency }, handle) {
      await ask(name, dropForeignJobs);
      if (await ask(name, (queue) => queue.isPaused())) {
        log.warn(
          { queue: name },
          `The queue ${name} is paused, so its jobs wait. Resume it in the daemon's dashboard.`,
        );
      }
      throwIfClosed();
      const consumer = startConsumer({ backend, name, concurrency, handle, log, onError });
      consumers.add(consumer);
      return {
        async close() {
          await consumer.close();
          consumers.delete(consumer);
        },
      };
    },

    async counts(name) {
      const counts = await ask(name, (queue) => queue.getJobCounts(...COUNTED));
      const { waiting = 0, prioritized = 0, delayed = 0, active = 0, failed = 0 } = counts;
      return { waiting: waiting + prioritized + delayed, active, failed };
    },

    setPaused: (name, isPaused) => ask(name, (queue) => (isPaused ? queue.pause() : queue.resume())),

    async paused() {
      const paused = await Promise.all(
        QUEUE_NAMES.map(async (name) => ((await ask(name, (queue) => queue.isPaused())) ? [name] : [])),
      );
      return paused.flat();
    },

    touch: () => backend.attempt(() => backend.touch()),

    async failed(name) {
      const jobs = await ask(name, (queue) => queue.getJobs(['failed'], 0, FAILED_JOBS_KEPT - 1));
      return jobs.flatMap((job) => {
        const data = ownData(job.data);
        // Jobs of another version are dropped before anything is consumed: this version cannot read them.
        return data === null ? [] : [{ id: job.id ?? '', name: job.name, data, reason: job.failedReason ?? '' }];
      });
    },

    async forget(name, ids) {
      for (let start = 0; start < ids.length; start += FORGET_CHUNK) {
        const chunk = ids.slice(start, start + FORGET_CHUNK);
        await ask(name, (queue) => Promise.all(chunk.map((id) => queue.remove(id))));
      }
    },

    async clearWaiting(name) {
      await ask(name, (queue) => queue.drain(true));
    },

    close() {
      closing ??= closeAll();
      return closing;
    },
  };
}

function queueOf(backend: QueueBackend, name: QueueName): Queue {
  const queue = backend.queues.get(name);
  if (queue === undefined) throw fault('internal', `There is no queue ${name}.`);
  return queue;
}

interface ConsumerOptions {
  backend: QueueBackend;
  name: QueueName;
  concurrency: number;
  handle: (job: ReceivedJob) => Promise<JobResult>;
  log: Logger;
  onError: ErrorSink;
}

function startConsumer({ backend, name, concurrency, handle, log, onError }: ConsumerOptions): Consumer {
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

/**
 * The number of the format of a job's data. Raise the number with each change of the meaning of jobs: jobs of another
 * version are dropped, and their work is enqueued again from the ledger.
 */
const FORMAT = 3;
const TEXT_MAX = 4_000;
/** How many jobs are read at once, since there may be many foreign ones. */
const CHUNK = 100;

/** Adds the number of the format to the data of a job. */
export function stampData(data: JsonObject): JsonObject {
  return { dppSync: FORMAT, ...data };
}

/** The data of a job of this version; null for a job of another version or of another program. */
export function ownData(stored: unknown): JsonObject | null {
  if (!isJsonObject(stored)) return null;
  const { dppSync, ...data } = stored;
  return dppSync === FORMAT ? data : null;
}

/**
 * Drops waiting and failed jobs of another version or of another program. A foreign job that a worker has taken and
 * lost is dropped when it is taken again.
 */
async function dropForeignJobs(queue: Queue): Promise<void> {
  // dpp-sync makes no job schedules. A foreign one would add jobs for ever, and has to be removed before it adds the
  // next one.
  for (const { key } of await queue.getJobSchedulers()) await queue.removeJobScheduler(key);
  const ids = await queue.getRanges(['waiting', 'prioritized', 'delayed', 'failed'], 0, -1);
  for (let start = 0; start < ids.length; start += CHUNK) {
    await Promise.all(ids.slice(start, start + CHUNK).map((id) => dropIfForeign(queue, id)));
  }
}

async function dropIfForeign(queue: Queue, id: string): Promise<void> {
  try {
    const job = await queue.getJob(id);
    if (ownData(job?.data) !== null) return;
  } catch (error) {
    // BullMQ throws this error for fields that are not JSON.
    if (!(error instanceof SyntaxError)) throw error;
  }
  await queue.remove(id);
}

/** Makes a text storable in a job: characters that cannot be stored are replaced, and a long text is cut. */
export function toStorableText(text: string): string {
  const storable = text.replaceAll('\0', '\uFFFD').toWellFormed();
  return storable.length > TEXT_MAX ? `${storable.slice(0, TEXT_MAX - 1).toWellFormed()}…` : storable;
}
