import { randomUUID } from 'node:crypto';
import type { Job, JobType, Queue } from 'bullmq';
import { fault } from '../domain/faults.ts';
import { QUEUE_NAMES, type QueueName, type Queues } from '../domain/ports/queues.ts';
import type { Logger } from '../lib/logging.ts';
import type { QueueBackend } from './backend.ts';
import { createConsumer, type StartableConsumer } from './consumer.ts';
import { decodeData, encodeData, toStorableText } from './doorbell-codec.ts';
import type { ErrorSink } from './error-log.ts';
import { FAILED_JOBS_KEPT } from './job-options.ts';

const RING_CHUNK = 1_000;
const FORGET_CHUNK = 100;
/**
 * A queue that somebody paused in the dashboard reports, with the embedded backend, what waits as `paused` and nothing as
 * waiting. BullMQ's types do not name that state.
 */
const COUNTED = ['waiting', 'paused', 'prioritized', 'delayed', 'active', 'failed'] as JobType[];

/** The queues, with what a dashboard needs of them. */
export interface BullmqQueues extends Queues {
  /** BullMQ's own objects, in the order of `QUEUE_NAMES`. Opens the backend. They are closed by `close`. */
  bullQueues(): Promise<Queue[]>;
}

/**
 * The queues over one of BullMQ's backends. The backend is opened when the first doorbell is rung: until then there is
 * nothing to hear or to count, so consumers wait for it and everything else answers that there is nothing.
 */
export function createBullmqQueues(options: {
  open: () => Promise<QueueBackend>;
  log: Logger;
  onError: ErrorSink;
}): BullmqQueues {
  const { log, onError } = options;
  const consumers = new Set<StartableConsumer>();
  let opened: QueueBackend | undefined;
  let opening: Promise<QueueBackend> | undefined;
  let closing: Promise<void> | undefined;

  function open(): Promise<QueueBackend> {
    if (closing !== undefined) return Promise.reject(fault('queue.unreachable', 'The queues are closed.'));
    opening ??= options.open().then(
      (backend) => {
        opened = backend;
        for (const consumer of consumers) consumer.start(backend);
        return backend;
      },
      (error: unknown) => {
        // The next doorbell tries again.
        opening = undefined;
        throw error;
      },
    );
    return opening;
  }

  /** Runs an operation on a queue, or answers `otherwise` while the backend was never needed. */
  async function ask<T>(name: QueueName, operation: (queue: Queue) => Promise<T>, otherwise: T): Promise<T> {
    if (opening === undefined) return otherwise;
    const backend = await open();
    return backend.attempt(() => operation(queueOf(backend, name)));
  }

  async function closeAll(): Promise<void> {
    await Promise.all([...consumers].map((consumer) => consumer.close()));
    const backend = await opening?.catch(() => undefined);
    await backend?.close();
  }

  return {
    async ring(name, doorbells) {
      if (doorbells.length === 0) return;
      const backend = await open();
      for (let start = 0; start < doorbells.length; start += RING_CHUNK) {
        const jobs = doorbells.slice(start, start + RING_CHUNK).map((bell) => ({
          name: toStorableText(bell.name),
          data: encodeData(bell.data),
          opts: { jobId: randomUUID() },
        }));
        await backend.attempt(() => queueOf(backend, name).addBulk(jobs));
      }
    },

    async consume(name, { concurrency }, hear) {
      if (closing !== undefined) throw fault('queue.unreachable', 'The queues are closed.');
      const consumer = createConsumer({ name, concurrency, hear, log, onError });
      consumers.add(consumer);
      if (opened !== undefined) consumer.start(opened);
      return {
        async close() {
          await consumer.close();
          consumers.delete(consumer);
        },
      };
    },

    async counts(name) {
      const none: Record<string, number> = {};
      const counts = await ask(name, (queue) => queue.getJobCounts(...COUNTED), none);
      const { waiting = 0, paused = 0, prioritized = 0, delayed = 0, active = 0, failed = 0 } = counts;
      return { waiting: waiting + paused + prioritized + delayed, active, failed };
    },

    async touch() {
      if (opening === undefined) return;
      const backend = await open();
      await backend.attempt(() => backend.touch());
    },

    async failed(name) {
      const jobs = await ask<(Job | undefined)[]>(
        name,
        (queue) => queue.getJobs(['failed'], 0, FAILED_JOBS_KEPT - 1),
        [],
      );
      // A job that was removed between listing and reading is undefined here.
      return jobs
        .filter((job) => job !== undefined)
        .map((job) => ({
          id: job.id ?? '',
          name: job.name,
          data: decodeData(job.data),
          reason: job.failedReason ?? '',
        }));
    },

    async forget(name, ids) {
      for (let start = 0; start < ids.length; start += FORGET_CHUNK) {
        const chunk = ids.slice(start, start + FORGET_CHUNK);
        await ask(name, (queue) => Promise.all(chunk.map((id) => queue.remove(id))), []);
      }
    },

    async clearWaiting(name) {
      await ask(name, (queue) => queue.drain(true), undefined);
    },

    async bullQueues() {
      const backend = await open();
      return QUEUE_NAMES.map((name) => queueOf(backend, name));
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
