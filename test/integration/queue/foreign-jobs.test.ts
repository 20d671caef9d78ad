import { randomUUID } from 'node:crypto';
import type { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Daemon } from '../../../src/daemon/daemon.ts';
import { stuckJob } from '../../../src/delivery/failed-jobs.ts';
import type { StuckDelivery } from '../../../src/domain/ports/ledger/ledger-standing.ts';
import type { QueueName } from '../../../src/domain/ports/queues.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { HASTY_TIMING } from '../../support/servers/hasty-timing.ts';
import { QUEUE_BACKENDS, type QueuePlace } from '../../support/servers/queue-backends.ts';
import { PRODUCTS, startDaemon } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const SOON = { timeout: WAIT_MS };
const DROPPED =
  'Dropped: another version of dpp-sync wrote this job. dpp-sync enqueues all due work again from the ledger.';

/** Job data as version 0.1.0 wrote them before they carried the mark of a format. */
const OLD = {
  pull: { source: 'erp', trigger: 'schedule' },
  map: { source: 'erp' },
  deliver: (id: number) => ({
    type: 'deliver',
    deliveries: [{ id, kind: 'product', key: 'A-9', operation: 'product.create', source: 'erp' }],
  }),
  failed: (deliveryId: number) => ({
    type: 'failed',
    deliveryId,
    kind: 'product',
    key: 'A-9',
    naturalKey: 'A-9',
    operation: 'product.create',
    source: 'erp',
    state: 'rejected',
    reason: 'The words of another item.',
  }),
};

const REDIS = QUEUE_BACKENDS.find(({ name }) => name === 'redis');

REDIS?.describe('jobs in Redis that this version did not write', () => {
  let place: QueuePlace;
  let world: World;
  let stuck: StuckDelivery;
  let bullQueue: (name: QueueName) => Queue;
  let closeQueues: () => Promise<void>;
  let daemon: Daemon | null = null;

  beforeEach(async () => {
    place = await (REDIS?.start() ?? Promise.reject(new Error('There is no Redis.')));
    world = await createWorld({
      config: { sources: [PRODUCTS.source] },
      files: PRODUCTS.files,
      queue: place.url,
    });
    await world.sync();
    const runtime = await world.open();
    const [delivery] = await runtime.reads.stuck(1);
    if (delivery === undefined) throw new Error('Nothing needs a person.');
    stuck = delivery;
    bullQueue = (name) => {
      const queue = runtime.queues.bullQueues.find((one) => one.name === name);
      if (queue === undefined) throw new Error(`There is no queue ${name}.`);
      return queue;
    };
    closeQueues = () => runtime.close();
  });
  afterEach(async () => {
    await daemon?.stop();
    daemon = null;
    await world.remove();
    await place.stop();
  });

  function add(name: QueueName, data: object): Promise<unknown> {
    return bullQueue(name).add(`old ${name}`, data, { jobId: randomUUID() });
  }

  /** Adds a job and has a worker end it as failed. */
  async function addFailed(data: object): Promise<void> {
    await add('deliver', data);
    const worker = place.foreignWorker(bullQueue('deliver'), () => Promise.reject(new Error('old')), 10_000);
    await expect.poll(() => bullQueue('deliver').getFailedCount(), SOON).toBe(1);
    await worker.close();
  }

  /** Adds a job that a worker takes and dies with. */
  async function addLost(name: QueueName, data: object): Promise<void> {
    await add(name, data);
    const taken = Promise.withResolvers<void>();
    const dies = Promise.withResolvers<void>();
    const dying = place.foreignWorker(
      bullQueue(name),
      () => {
        taken.resolve();
        return dies.promise;
      },
      100,
    );
    dying.on('error', () => undefined);
    await taken.promise;
    await dying.close(true);
    dies.resolve();
  }

  async function start(): Promise<Daemon> {
    await closeQueues();
    ({ daemon } = await startDaemon(world, { queueTiming: HASTY_TIMING }));
    return daemon;
  }

  it('jobs of another ledger are dropped at the start, and the failed jobs are made again from this ledger', async () => {
    await addFailed(OLD.failed(stuck.id));
    await add('deliver', OLD.deliver(stuck.id));
    await add('map', OLD.map);
    await add('pull', OLD.pull);
    world.requests();

    const { runtime } = await start();
    for (const name of ['pull', 'map'] as const) {
      expect(await runtime.queues.counts(name)).toEqual({ waiting: 0, active: 0, failed: 0 });
    }
    await expect.poll(() => runtime.queues.failed('deliver'), SOON).toHaveLength(1);
    expect(await runtime.queues.failed('deliver')).toEqual([
      expect.objectContaining({
        name: 'product.create A-2 (erp): rejected',
        data: expect.objectContaining({
          deliveryId: stuck.id,
          item: { kind: 'product', key: 'A-2' },
          revision: stuck.revision,
        }) as object,
      }),
    ]);
    expect(world.requests()).toEqual({});
    expect(await runtime.reads.lastRuns({ limit: 10 })).toHaveLength(1);
  });

  it('jobs of no known version are dropped', async () => {
    const queue = bullQueue('deliver');
    const client = new Redis(place.url);
    for (const data of [null, [1], 'text', { dppSync: 4 }, { dppSync: '2' }]) await queue.add('other data', data);
    for (const field of ['data', 'opts']) {
      await queue.add('no JSON', {}, { jobId: field });
      await client.hset(queue.toKey(field), field, '{no JSON');
    }
    await queue.add('no fields', {}, { jobId: 'none' });
    await client.del(queue.toKey('none'));
    client.disconnect();
    await queue.add('first', {}, { priority: 1 });
    await queue.add('later', {}, { delay: 3_600_000 });
    await queue.upsertJobScheduler('ever again', { every: 3_600_000 });

    const { runtime } = await start();
    const [shown] = await vi.waitUntil(async () => {
      const failed = await runtime.queues.failed('deliver');
      return failed.length > 0 && failed;
    }, SOON);
    expect(shown?.data).toMatchObject({ deliveryId: stuck.id });
    const deliveries = runtime.queues.bullQueues.find(({ name }) => name === 'deliver');
    expect(await deliveries?.getJobSchedulersCount()).toBe(0);
    expect(await deliveries?.getJobCounts('waiting', 'prioritized', 'delayed', 'failed')).toEqual({
      waiting: 0,
      prioritized: 0,
      delayed: 0,
      failed: 1,
    });
    expect((await deliveries?.getCompleted())?.map(({ returnvalue }) => returnvalue as unknown)).not.toContain(DROPPED);
  });

  it('jobs of another ledger whose worker was lost are dropped with a note when they are taken again', async () => {
    await addLost('pull', OLD.pull);
    const { runtime } = await start();
    const pulls = runtime.queues.bullQueues[0] as Queue;
    await expect.poll(() => pulls.getCompleted(), SOON).toHaveLength(1);
    const [job] = await pulls.getCompleted();
    expect(job?.returnvalue).toBe(DROPPED);
    expect(await runtime.reads.lastRuns({ limit: 10 })).toHaveLength(1);
  });

  it('failed jobs that show another delivery, as after a restore, are replaced by those of the ledger', async () => {
    const other = { ...stuck, key: 'A-9', naturalKey: 'A-9' };
    const earlier = { ...stuck, revision: stuck.revision + 1 };
    for (const delivery of [other, earlier]) {
      const { name, data } = stuckJob(delivery);
      await bullQueue('deliver').add(name, { dppSync: 3, ...data }, { jobId: randomUUID() });
    }
    const worker = place.foreignWorker(bullQueue('deliver'), () => Promise.reject(new Error('old')), 10_000);
    await expect.poll(() => bullQueue('deliver').getFailedCount(), SOON).toBe(2);
    await worker.close();
    const { runtime } = await start();
    await expect
      .poll(async () => (await runtime.queues.failed('deliver')).map(({ reason }) => reason), SOON)
      .toEqual([`rejected: ${stuck.reason.message}`]);
    const [shown] = await runtime.queues.failed('deliver');
    expect(shown?.data).toMatchObject({ item: { kind: 'product', key: 'A-2' }, revision: stuck.revision });
  });
});
