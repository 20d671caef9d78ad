import { randomUUID } from 'node:crypto';
import type { Queue } from 'bullmq';
import { fault } from '../domain/faults.ts';
import { type Consumer, QUEUE_NAMES, type QueueName, type Queues } from '../domain/ports/queues.ts';
import type { Logger } from '../lib/logging/logging.ts';
import { FAILED_JOBS_KEPT, type QueueBackend } from './backend.ts';
import { startConsumer } from './consumer.ts';
import type { ErrorSink } from './error-log.ts';
import { dropForeignJobs, ownData, stampData, toStorableText } from './job-format.ts';

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
