import { setTimeout as delay } from 'node:timers/promises';
import type { Queue } from 'bullmq';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  type Consumer,
  type JobResult,
  QUEUE_NAMES,
  type QueueName,
  type ReceivedJob,
  type WakeUpJob,
} from '../../src/domain/ports/queues.ts';
import type { BullmqQueues } from '../../src/queue/bullmq-queues.ts';
import { createQueues } from '../../src/queue/create-queues.ts';
import { QUEUE_BACKENDS, type QueuePlace } from '../support/servers/queue-backends.ts';
import { createListener, type Listener } from '../support/worlds/listener.ts';
import { createRecordingLog } from '../support/worlds/recording-log.ts';

/** A lock is renewed after half of its time. If this process gets no CPU time for the other half, the lock lapses. */
const TIMING = { lockMs: 20_000, stalledCheckMs: 200 };

for (const backend of QUEUE_BACKENDS) {
  backend.describe(`the ${backend.name} queues`, () => {
    let place: QueuePlace;
    let queues: BullmqQueues;
    const log = createRecordingLog();
    const consumers: Consumer[] = [];

    beforeAll(async () => {
      place = await backend.start();
      queues = await open('ledger-a');
    });

    afterEach(async () => {
      await Promise.all(consumers.splice(0).map((consumer) => consumer.close()));
      for (const name of QUEUE_NAMES) {
        await queues.clearWaiting(name);
        const failed = await queues.failed(name);
        await queues.forget(
          name,
          failed.map((job) => job.id),
        );
      }
    });

    afterAll(async () => {
      await queues.close();
      await place.stop();
    });

    function open(prefix: string): Promise<BullmqQueues> {
      return createQueues({ url: place.url, prefix, log, timing: TIMING });
    }

    async function consume(name: QueueName, listener: Listener, concurrency = 1): Promise<Consumer> {
      const consumer = await queues.consume(name, { concurrency }, listener.handle);
      consumers.push(consumer);
      return consumer;
    }

    function bullQueue(name: QueueName): Queue {
      const queue = queues.bullQueues.find((candidate) => candidate.name === name);
      if (queue === undefined) throw new Error(`There is no queue ${name}.`);
      return queue;
    }

    /** Retries a finished job with the call that bull-board makes when a person presses Retry. */
    async function pressRetry(name: QueueName, id: string, state: 'failed' | 'completed' = 'failed'): Promise<void> {
      const job = await bullQueue(name).getJob(id);
      if (job === undefined) throw new Error(`There is no job ${id}.`);
      await job.retry(state);
    }

    function failedCount(name: QueueName): Promise<number> {
      return queues.counts(name).then((counts) => counts.failed);
    }

    /** Lets a worker take the next job of a queue and die with it. */
    async function takeAndDie(name: QueueName): Promise<void> {
      const taken = Promise.withResolvers<void>();
      const dies = Promise.withResolvers<void>();
      const worker = place.foreignWorker(
        bullQueue(name),
        async () => {
          taken.resolve();
          await dies.promise;
        },
        100,
      );
      worker.on('error', () => undefined);
      await taken.promise;
      await worker.close(true);
      dies.resolve();
    }

    test('queues handle jobs in the order in which they were enqueued', async () => {
      await queues.enqueue('map', makeJobs(0, 1_100));
      await queues.enqueue('map', makeJobs(1_100, 1_150));
      const listener = createListener();
      await consume('map', listener);
      await listener.until(1_150);
      expect(listener.received.map((job) => job.name)).toEqual(makeJobs(0, 1_150).map((job) => job.name));
    });

    test('queues handle each of 5,000 jobs exactly once', async () => {
      const listener = createListener();
      await consume('deliver', listener, 20);
      for (let start = 0; start < 5_000; start += 250) await queues.enqueue('deliver', makeJobs(start, start + 250));
      await listener.until(5_000);
      await expect.poll(() => queues.counts('deliver')).toEqual({ waiting: 0, active: 0, failed: 0 });
      expect(listener.received).toHaveLength(5_000);
      expect(new Set(listener.received.map((job) => job.name)).size).toBe(5_000);
      expect(new Set(listener.received.map((job) => job.id)).size).toBe(5_000);
    });

    test('queues keep the three queues apart', async () => {
      await queues.enqueue('pull', makeJobs(0, 1));
      await queues.enqueue('map', makeJobs(1, 3));
      const listener = createListener();
      await consume('map', listener);
      await listener.until(2);
      expect(listener.received.map((job) => job.name)).toEqual(['job 1', 'job 2']);
      expect(await queues.counts('pull')).toEqual({ waiting: 1, active: 0, failed: 0 });
      expect(await queues.counts('deliver')).toEqual({ waiting: 0, active: 0, failed: 0 });
    });

    test('queues handle at most as many jobs at a time as asked for', async () => {
      const gate = Promise.withResolvers<JobResult>();
      let running = 0;
      let most = 0;
      const listener = createListener(async () => {
        running += 1;
        most = Math.max(most, running);
        const handling = await gate.promise;
        running -= 1;
        return handling;
      });
      await consume('deliver', listener, 3);
      await queues.enqueue('deliver', makeJobs(0, 9));
      await listener.until(3);
      await expect.poll(() => queues.counts('deliver')).toEqual({ waiting: 6, active: 3, failed: 0 });
      gate.resolve({ status: 'done' });
      await listener.until(9);
      expect(most).toBe(3);
    });

    test('queues keep names and data as they are, whatever characters are in them', async () => {
      const data = {
        key: 'Größe-4711 ✓ 素材 🧵',
        list: [1, 2.5, -1e21, null, true, { nested: '\\u0000 "quoted"' }],
        unstorable: 'a\0b\ud800c',
        base64Json: 'not encoded',
      };
      const listener = createListener();
      await consume('pull', listener);
      await queues.enqueue('pull', [
        { name: 'Stückliste ziehen 🧵', data },
        { name: 'a\0b\ud800c', data: {} },
      ]);
      await listener.until(2);
      expect(listener.received[0]).toMatchObject({ name: 'Stückliste ziehen 🧵', data });
      expect(listener.received[1]).toMatchObject({ name: 'a\uFFFDb\uFFFDc', data: {} });
    });

    test('queues give every job an id that BullMQ takes as it is, also when the same one is enqueued twice', async () => {
      const listener = createListener();
      await consume('pull', listener);
      const [job] = makeJobs(0, 1) as [WakeUpJob];
      await queues.enqueue('pull', [job, job]);
      await queues.enqueue('pull', [job]);
      await listener.until(3);
      expect(new Set(listener.received.map(({ id }) => id)).size).toBe(3);
      for (const { id } of listener.received) expect(id).toMatch(/^(?!\d+$)[^:]+$/);
    });

    test('queues keep the note of a job that was handled', async () => {
      const listener = createListener(() => ({ status: 'done', note: '10 delivered' }));
      await consume('pull', listener);
      await queues.enqueue('pull', makeJobs(0, 1));
      await listener.until(1);
      const { id } = listener.received[0] as ReceivedJob;
      const queue = bullQueue('pull');
      await expect.poll(async () => (await queue.getJob(id))?.returnvalue as unknown).toBe('10 delivered');
    });

    test('queues show a failed job with its reason and nothing of this host', async () => {
      const listener = createListener(() => ({ status: 'failed', reason: 'Größe: 42\0 is no size ✗' }));
      await consume('deliver', listener);
      await queues.enqueue('deliver', [{ name: 'push product A', data: { key: 'A\0', ids: [1, 2] } }]);
      await expect.poll(() => failedCount('deliver')).toBe(1);
      const [failed] = await queues.failed('deliver');
      expect(failed).toEqual({
        id: listener.received[0]?.id,
        name: 'push product A',
        data: { key: 'A\0', ids: [1, 2] },
        reason: 'Größe: 42\uFFFD is no size ✗',
      });
      const job = await bullQueue('deliver').getJob(failed?.id ?? '');
      expect(job?.failedReason).toBe('Größe: 42\uFFFD is no size ✗');
      expect(job?.stacktrace).toEqual([]);
    });

    test('queues end a handler that throws as a failed job with its message', async () => {
      const listener = createListener(() => {
        throw new TypeError('product is undefined');
      });
      await consume('deliver', listener);
      await queues.enqueue('deliver', makeJobs(0, 1));
      await expect.poll(() => failedCount('deliver')).toBe(1);
      const [failed] = await queues.failed('deliver');
      expect(failed?.reason).toBe('product is undefined');
      const job = await bullQueue('deliver').getJob(failed?.id ?? '');
      expect(JSON.stringify(job)).not.toContain(import.meta.dirname);
      expect(log.lines).toContainEqual(
        expect.objectContaining({ level: 'error', message: 'Processing a queue job failed.' }),
      );
      expect(listener.received).toHaveLength(1);
    });

    test('queues list failed jobs newest first', async () => {
      const listener = createListener((job) => ({ status: 'failed', reason: `no ${job.name}` }));
      await consume('deliver', listener);
      for (let number = 0; number < 3; number += 1) {
        await queues.enqueue('deliver', makeJobs(number, number + 1));
        await expect.poll(() => failedCount('deliver')).toBe(number + 1);
      }
      expect((await queues.failed('deliver')).map((job) => job.reason)).toEqual(['no job 2', 'no job 1', 'no job 0']);
    });

    test('queues handle a failed job exactly once more when somebody presses Retry, as retried', async () => {
      const listener = createListener((job) =>
        job.retried ? { status: 'done' } : { status: 'failed', reason: 'a person decides' },
      );
      await consume('deliver', listener);
      await queues.enqueue('deliver', makeJobs(0, 1));
      await expect.poll(() => failedCount('deliver')).toBe(1);
      const first = listener.received[0] as ReceivedJob;
      expect(first.retried).toBe(false);

      await pressRetry('deliver', first.id);
      await listener.until(2);
      await expect.poll(() => queues.counts('deliver')).toEqual({ waiting: 0, active: 0, failed: 0 });
      await queues.enqueue('deliver', makeJobs(1, 2));
      await listener.until(3);
      expect(listener.received.map(({ id, retried }) => ({ id, retried }))).toEqual([
        { id: first.id, retried: false },
        { id: first.id, retried: true },
        { id: expect.not.stringMatching(first.id) as string, retried: false },
      ]);
    });

    test('queues handle a job as retried each time that it fails and is retried', async () => {
      const listener = createListener(() => ({ status: 'failed', reason: 'still wrong' }));
      await consume('deliver', listener);
      await queues.enqueue('deliver', makeJobs(0, 1));
      for (let failures = 1; failures <= 3; failures += 1) {
        await listener.until(failures);
        await expect.poll(() => failedCount('deliver')).toBe(1);
        await pressRetry('deliver', listener.received[0]?.id ?? '');
      }
      await listener.until(4);
      expect(listener.received.map((job) => job.retried)).toEqual([false, true, true, true]);
    });

    test('queues handle a job that had been done and is run again by hand as not retried', async () => {
      const listener = createListener((job) =>
        listener.received.length === 1 ? { status: 'failed', reason: `no ${job.name}` } : { status: 'done' },
      );
      await consume('deliver', listener);
      await queues.enqueue('deliver', makeJobs(0, 1));
      await expect.poll(() => failedCount('deliver')).toBe(1);
      const { id } = listener.received[0] as ReceivedJob;
      await pressRetry('deliver', id);
      await listener.until(2);
      const queue = bullQueue('deliver');
      await expect.poll(() => queue.getJobState(id)).toBe('completed');
      await pressRetry('deliver', id, 'completed');
      await listener.until(3);
      expect(listener.received.map((job) => job.retried)).toEqual([false, true, false]);
    });

    test('queues handle a job again when its worker died, and not as retried', async () => {
      await queues.enqueue('deliver', makeJobs(0, 1));
      await takeAndDie('deliver');
      expect(await queues.counts('deliver')).toEqual({ waiting: 0, active: 1, failed: 0 });
      const listener = createListener();
      await consume('deliver', listener);
      await listener.until(1);
      await expect.poll(() => queues.counts('deliver')).toEqual({ waiting: 0, active: 0, failed: 0 });
      expect(listener.received.map((job) => [job.name, job.retried])).toEqual([['job 0', false]]);
    });

    test('queues handle a retried job as retried also when the first worker that took it died', async () => {
      const listener = createListener(() => ({ status: 'failed', reason: 'wrong' }));
      const consumer = await consume('deliver', listener);
      await queues.enqueue('deliver', makeJobs(0, 1));
      await expect.poll(() => failedCount('deliver')).toBe(1);
      await consumer.close();
      await pressRetry('deliver', listener.received[0]?.id ?? '');
      await takeAndDie('deliver');
      const second = createListener();
      await consume('deliver', second);
      await second.until(1);
      expect(second.received.map((job) => job.retried)).toEqual([true]);
    });

    test('queues never fail a job for having stalled often', async () => {
      await queues.enqueue('deliver', makeJobs(0, 1));
      const queue = bullQueue('deliver');
      for (let round = 0; round < 3; round += 1) {
        await takeAndDie('deliver');
        // The worker of dpp-sync puts the stalled job back, and does not take it because the queue is paused.
        await queue.pause();
        const consumer = await queues.consume('deliver', { concurrency: 1 }, createListener().handle);
        await expect.poll(() => queues.counts('deliver')).toMatchObject({ waiting: 1, active: 0 });
        await consumer.close();
        await queue.resume();
      }
      const listener = createListener();
      await consume('deliver', listener);
      await listener.until(1);
      expect(listener.received.map((job) => job.retried)).toEqual([false]);
    });

    test('queues renew the reservation of a job whose handler takes longer than a lock', async () => {
      const listener = createListener(async () => {
        await delay(TIMING.lockMs * 1.2);
        return { status: 'done' };
      });
      await consume('deliver', listener);
      // The second consumer is free. It looks for stalled jobs, and would handle this job again if its lock lapsed.
      await consume('deliver', listener);
      await queues.enqueue('deliver', makeJobs(0, 1));
      await listener.until(1);
      await expect.poll(() => queues.counts('deliver')).toEqual({ waiting: 0, active: 0, failed: 0 });
      expect(listener.received).toHaveLength(1);
    });

    test('queues keep no more than 200 done and 1,000 failed jobs', async () => {
      const listener = createListener((job) =>
        job.data['fails'] === true ? { status: 'failed', reason: 'wrong' } : { status: 'done' },
      );
      await consume('deliver', listener, 10);
      const failing = makeJobs(0, 1_030).map((job) => ({ ...job, data: { fails: true } }));
      await queues.enqueue('deliver', [...failing, ...makeJobs(1_030, 1_300)]);
      await listener.until(1_300);
      await expect.poll(() => queues.counts('deliver')).toEqual({ waiting: 0, active: 0, failed: 1_000 });
      expect(await bullQueue('deliver').getJobCountByTypes('completed')).toBe(200);
      const failed = await queues.failed('deliver');
      expect(failed).toHaveLength(1_000);
      expect(failed.map((job) => job.name)).not.toContain('job 0');
      expect(failed.map((job) => job.name)).toContain('job 1029');
    });

    test('queues forget failed jobs, and ids that are gone', async () => {
      const listener = createListener(() => ({ status: 'failed', reason: 'wrong' }));
      await consume('deliver', listener);
      await queues.enqueue('deliver', makeJobs(0, 3));
      await expect.poll(() => failedCount('deliver')).toBe(3);
      const [first, second] = listener.received as [ReceivedJob, ReceivedJob];
      await queues.forget('deliver', [first.id, 'b1946ac9-gone', second.id, first.id]);
      await queues.forget('deliver', [first.id]);
      await queues.forget('deliver', []);
      expect((await queues.failed('deliver')).map((job) => job.name)).toEqual(['job 2']);
    });

    test('queues drop every waiting job, and neither a running nor a failed one', async () => {
      const gate = Promise.withResolvers<JobResult>();
      const listener = createListener((job) =>
        job.name === 'job 0' ? { status: 'failed', reason: 'wrong' } : gate.promise,
      );
      const consumer = await consume('deliver', listener);
      await queues.enqueue('deliver', makeJobs(0, 30));
      await listener.until(2);
      expect(await queues.counts('deliver')).toEqual({ waiting: 28, active: 1, failed: 1 });
      await queues.clearWaiting('deliver');
      expect(await queues.counts('deliver')).toEqual({ waiting: 0, active: 1, failed: 1 });
      gate.resolve({ status: 'done' });
      await consumer.close();
      expect(listener.received).toHaveLength(2);
    });

    test('queues count the jobs that wait while paused in the dashboard, and handle them afterwards', async () => {
      const queue = bullQueue('map');
      const listener = createListener();
      await consume('map', listener);
      await queue.pause();
      await queues.enqueue('map', makeJobs(0, 4));
      expect(await queues.counts('map')).toEqual({ waiting: 4, active: 0, failed: 0 });
      expect(await queues.paused()).toEqual(['map']);
      await queue.resume();
      expect(await queues.paused()).toEqual([]);
      await listener.until(4);
    });

    test('queues warn where one is paused from which jobs are to be taken', async () => {
      const before = log.lines.length;
      await bullQueue('pull').pause();
      await consume('pull', createListener());
      await bullQueue('pull').resume();
      await consume('pull', createListener());
      expect(log.lines.slice(before).map(({ message }) => message)).toEqual([
        "The queue pull is paused, so its jobs wait. Resume it in the daemon's dashboard.",
      ]);
    });

    test('queues wait, when a consumer is closed, for the handler that runs, and handle nothing new', async () => {
      const gate = Promise.withResolvers<JobResult>();
      const listener = createListener(() => gate.promise);
      const consumer = await consume('deliver', listener, 2);
      await queues.enqueue('deliver', makeJobs(0, 6));
      await listener.until(2);
      let closed = false;
      const closing = consumer.close().then(() => {
        closed = true;
      });
      await queues.enqueue('deliver', makeJobs(6, 8));
      expect(await queues.counts('deliver')).toEqual({ waiting: 6, active: 2, failed: 0 });
      expect(closed).toBe(false);
      gate.resolve({ status: 'done' });
      await closing;
      expect(listener.received).toHaveLength(2);
      expect(await queues.counts('deliver')).toEqual({ waiting: 6, active: 0, failed: 0 });
    });

    test('queues handle nothing more from the moment on when a consumer is closed, and lose nothing by it', async () => {
      const listener = createListener();
      for (let round = 0; round < 30; round += 1) {
        const consumer = await queues.consume('deliver', { concurrency: 5 }, listener.handle);
        await queues.enqueue('deliver', makeJobs(round * 3, round * 3 + 3));
        // At this moment the worker may be fetching a job.
        const closing = consumer.close();
        const receivedBefore = listener.received.length;
        await closing;
        expect(listener.received).toHaveLength(receivedBefore);
      }
      await consume('deliver', listener);
      await listener.until(90);
      await expect.poll(() => queues.counts('deliver')).toEqual({ waiting: 0, active: 0, failed: 0 });
      expect(listener.received).toHaveLength(90);
      expect(new Set(listener.received.map((job) => job.id)).size).toBe(90);
    });

    test('queues do not handle the jobs of another ledger', async () => {
      const others = await open('ledger-b');
      try {
        const ours = createListener();
        const theirs = createListener(() => ({ status: 'failed', reason: 'wrong' }));
        await consume('deliver', ours);
        await others.consume('deliver', { concurrency: 1 }, theirs.handle);
        await queues.enqueue('deliver', makeJobs(0, 2));
        await others.enqueue('deliver', makeJobs(2, 4));
        await Promise.all([ours.until(2), theirs.until(2)]);
        await expect.poll(() => others.counts('deliver')).toEqual({ waiting: 0, active: 0, failed: 2 });
        expect(ours.received.map((job) => job.name)).toEqual(['job 0', 'job 1']);
        expect(theirs.received.map((job) => job.name)).toEqual(['job 2', 'job 3']);
        expect(await queues.failed('deliver')).toEqual([]);
      } finally {
        await others.close();
      }
    });

    test('queues refuse to enqueue and to handle once they are closed', async () => {
      const others = await open('ledger-c');
      await others.enqueue('map', makeJobs(0, 1));
      await Promise.all([others.close(), others.close()]);
      await expect(others.enqueue('map', makeJobs(1, 2))).rejects.toMatchObject({ code: 'queue.unreachable' });
      await expect(others.consume('map', { concurrency: 1 }, createListener().handle)).rejects.toMatchObject({
        code: 'queue.unreachable',
      });
    });
  });
}

function makeJobs(from: number, to: number): WakeUpJob[] {
  return Array.from({ length: to - from }, (_, index) => ({
    name: `job ${from + index}`,
    data: { kind: 'product', ids: [from + index] },
  }));
}
