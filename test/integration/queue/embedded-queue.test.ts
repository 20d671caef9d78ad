import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { type BullmqQueues, createBullmqQueues } from '../../../src/queue/bullmq-queues.ts';
import { openEmbeddedBackend } from '../../../src/queue/create-queues.ts';
import { createErrorLog } from '../../../src/queue/queue-errors.ts';
import { createListener } from '../../support/worlds/listener.ts';
import { createRecordingLog } from '../../support/worlds/recording-log.ts';
import { endsAtOnce } from '../support/ends-at-once.ts';

const TIMING = { lockMs: 30_000, stalledCheckMs: 30_000 };
const MIB = 1024 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('the embedded queue', () => {
  const opened: BullmqQueues[] = [];

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((queues) => queues.close()));
  });

  function open(): BullmqQueues {
    const log = createRecordingLog();
    const onError = createErrorLog(log, systemClock);
    const backend = openEmbeddedBackend({ timing: TIMING, clock: systemClock, onError });
    const queues = createBullmqQueues({ backend, log, onError });
    opened.push(queues);
    return queues;
  }

  test('the embedded queue wakes a waiting worker at once', async () => {
    const queues = open();
    const listener = createListener();
    for (const name of ['pull', 'map', 'deliver'] as const)
      await queues.consume(name, { concurrency: 4 }, listener.handle);
    await queues.enqueue('map', [{ name: 'warm up', data: {} }]);
    await listener.until(1);
    // By then the worker has ended the job and waits.
    for (let turn = 0; turn < 20; turn += 1) await setImmediate();

    await queues.enqueue('map', [{ name: 'job', data: {} }]);
    expect(await endsAtOnce(listener.until(2))).toBe(true);
  });

  test('the embedded queue shows each worker as long as it is open', async () => {
    const queues = open();
    const [, map] = queues.bullQueues;
    const first = await queues.consume('map', { concurrency: 1 }, createListener().handle);
    await queues.consume('map', { concurrency: 1 }, createListener().handle);
    expect(await map?.getWorkersCount()).toBe(2);
    await first.close();
    expect(await map?.getWorkersCount()).toBe(1);
  });

  test('the embedded queue ends at once while its workers wait for a job', async () => {
    const queues = open();
    const consumer = await queues.consume('map', { concurrency: 4 }, createListener().handle);
    await queues.consume('deliver', { concurrency: 4 }, createListener().handle);
    await setImmediate();
    expect(await endsAtOnce(consumer.close().then(() => queues.close()))).toBe(true);
  });

  test('the embedded queue that is closed meanwhile starts no worker that would outlive it', async () => {
    const queues = open();
    const [, map] = queues.bullQueues;
    const consuming = queues.consume('map', { concurrency: 1 }, createListener().handle);
    await queues.close();
    await expect(consuming).rejects.toMatchObject({ code: 'queue.unreachable' });
    expect(await map?.getWorkersCount()).toBe(0);
  });

  test('the embedded queue lets timers and sockets run while it is busy', async () => {
    const queues = open();
    const listener = createListener();
    await queues.consume('deliver', { concurrency: 10 }, listener.handle);
    let turns = 0;
    let busy = true;
    const counting = (async () => {
      while (busy) {
        await setImmediate();
        turns += 1;
      }
    })();
    await queues.enqueue(
      'deliver',
      Array.from({ length: 3_000 }, (_, number) => ({ name: `job ${number}`, data: {} })),
    );
    await listener.until(3_000);
    busy = false;
    await counting;
    // Ten workers take a job each per turn.
    expect(turns).toBeGreaterThan(250);
  });

  test('the embedded queue stays small while tens of thousands of jobs pass', async () => {
    const queues = open();
    const listener = createListener();
    await queues.consume('deliver', { concurrency: 10 }, listener.handle);
    const data = { kind: 'product', source: 'erp', ids: Array.from({ length: 10 }, (_, index) => index) };
    const used: number[] = [];
    for (let round = 1; round <= 40; round += 1) {
      await queues.enqueue(
        'deliver',
        Array.from({ length: 500 }, (_, number) => ({ name: `job ${number}`, data })),
      );
      await listener.until(500);
      listener.received.length = 0;
      collectGarbage();
      used.push(process.memoryUsage().heapUsed);
    }
    expect(Math.min(...used.slice(-5)) - Math.min(...used.slice(0, 5))).toBeLessThan(4 * MIB);
  });

  test.each([
    ['delayed jobs', { delay: 1_000 }],
    ['priorities', { priority: 7 }],
    ['jobs that go first (lifo)', { lifo: true }],
    ['automatic retries', { attempts: 2 }],
    ['deduplication', { deduplication: { id: 'one' } }],
    ['flows', { parent: { id: '1', queue: 'pull' } }],
  ])('the embedded queue refuses %s, and names the queue that has them', async (feature, options) => {
    const [queue] = open().bullQueues;
    await expect(queue?.add('job', {}, options)).rejects.toMatchObject({
      code: 'queue.unsupported',
      message: `The embedded queue has no ${feature}.`,
      suggestion: 'Set `queue` to a Redis URL to use this feature.',
    });
    expect(await queue?.getJobCountByTypes('waiting', 'delayed', 'prioritized')).toBe(0);
  });

  test('the embedded queue refuses schedules and limits, and shows none', async () => {
    const [queue] = open().bullQueues;
    await expect(queue?.upsertJobScheduler('nightly', { every: 1_000 })).rejects.toMatchObject({
      message: 'The embedded queue has no job schedulers.',
    });
    await expect(queue?.setGlobalConcurrency(1)).rejects.toMatchObject({
      message: 'The embedded queue has no limits over all workers.',
    });
    await expect(queue?.setGlobalRateLimit(1, 1_000)).rejects.toMatchObject({
      message: 'The embedded queue has no rate limits.',
    });
    await expect(queue?.rateLimit(1_000)).rejects.toMatchObject({ code: 'queue.unsupported' });
    expect(await queue?.getJobSchedulers()).toEqual([]);
    expect(await queue?.getGlobalConcurrency()).toBeNull();
  });
});
