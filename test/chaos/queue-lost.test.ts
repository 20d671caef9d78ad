import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Daemon } from '../../src/daemon/daemon.ts';
import { sync } from '../../src/daemon/sync.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { SyncReport } from '../../src/operations/runtime.ts';
import { covers, ORACLE } from '../support/docs/reliability.ts';
import { allSkus, evidenceOf, violations } from '../support/ledger/invariants.ts';
import { text } from '../support/ledger/items.ts';
import { announcedRandom } from '../support/runner/announced-random.ts';
import { scaled } from '../support/runner/chaos.ts';
import { WAIT_MS } from '../support/runner/limits.ts';
import { describeRedis, type RedisServer, startRedis } from '../support/servers/redis.ts';
import { PRODUCTS, startDaemon, WEB_TOKEN } from '../support/worlds/daemon-world.ts';
import { largeExport, SMALL_SOURCES, smallFiles } from '../support/worlds/small-export.ts';
import { createWorld, type World, type WorldOptions } from '../support/worlds/world.ts';

const COUNT = scaled(50, 1_667);
const SOURCE = largeExport(COUNT);
/** The writes of products, materials, BOM items, and passports that are initialised and published. */
const WRITES = COUNT * 5;
/** Values of others in the same Redis. They are evicted as well, so Redis has memory for new jobs after it has evicted. */
const OTHERS = 4_000;
const OTHER_BYTES = 1_000;
/** The share of them that is evicted at a time. */
const EVICTED = 0.75;
const SOON = { timeout: WAIT_MS };
const OPEN_GATES = {
  productComplete: { enabled: false },
  bomPresent: { enabled: false },
  materialData: { enabled: false },
};

describeRedis('a Redis that loses or refuses what it is given', () => {
  let redis: RedisServer;
  let admin: Redis;
  let world: World;
  let daemon: Daemon | null = null;

  beforeEach(async () => {
    redis = await startRedis();
    admin = new Redis(redis.url);
    // The test does not need this connection while Redis restarts, so its errors are ignored.
    admin.on('error', () => undefined);
  });
  afterEach(async () => {
    await daemon?.stop();
    daemon = null;
    admin.disconnect();
    await world.remove();
    await redis.stop();
  });

  const setMemory = async (settings: { bytes: number; policy?: string }) => {
    await admin.config('SET', 'maxmemory-policy', settings.policy ?? 'noeviction');
    await admin.config('SET', 'maxmemory', String(settings.bytes));
  };
  const usedBytes = async () => Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1]);

  describe('amid a sync', () => {
    beforeEach(async () => {
      world = await createWorld({
        config: { sources: SMALL_SOURCES, passports: { init: 'when-complete', publish: 'auto' } },
        files: smallFiles(SOURCE),
        queue: redis.url,
        sandbox: {
          idempotency: 'ignored',
          gates: OPEN_GATES,
          faults: [{ operation: '*', kind: 'latency', ms: 15 }],
        },
      });
    });

    const writes = () => world.sandbox.statistics().writes.reduce((sum, { count }) => sum + count, 0);

    /** Waits until this many writes have taken effect. Throws if the sync ends first. */
    async function untilWrites(count: number, syncing: Promise<unknown>): Promise<void> {
      let ended = false;
      const end = () => {
        ended = true;
      };
      syncing.then(end, end);
      await expect.poll(() => ended || writes() >= count, { interval: 2 }).toBe(true);
      // While Redis restarts, a sync may do the rest: what its workers have taken needs no queue.
      if (writes() < count) throw new Error(`The sync ended at ${writes()} of ${count} writes.`);
    }

    function expectEverythingOnce(report: SyncReport): void {
      expect(report.fault).toBeNull();
      expect(report.passports).toEqual({ published: COUNT });
      const found = violations(
        evidenceOf(world, { source: SOURCE, bomItems: 'delivered', published: allSkus(SOURCE) }),
      );
      expect(found).toEqual([]);
      expect(writes()).toBe(WRITES);
    }

    it(
      'a Redis that is wiped or restarts empty amid a sync, again and again, costs nothing and doubles nothing',
      covers('queue-lost', ...ORACLE),
      async () => {
        const random = announcedRandom();
        const losses = scaled(4, 60);
        const syncing = world.sync({ waitMs: WAIT_MS });
        for (let loss = 0; loss < losses; loss += 1) {
          await untilWrites(Math.floor(((loss + random()) * WRITES) / (losses + 1)), syncing);
          if (loss % 2 === 0) await admin.flushall();
          else await redis.restart();
        }
        expectEverythingOnce(await syncing);
      },
    );

    it(
      'a Redis out of memory amid a sync holds the work up, is reported, and the sync continues by itself',
      covers('redis-memory', ...ORACLE),
      async () => {
        const random = announcedRandom();
        const shortages = scaled(2, 30);
        const runtime = await world.open();
        const abort = new AbortController().signal;
        const syncing = sync(runtime, { sources: [], waitMs: WAIT_MS, abort }, systemClock);
        for (let shortage = 0; shortage < shortages; shortage += 1) {
          await untilWrites(Math.floor(((shortage + random()) * WRITES) / (shortages + 1)), syncing);
          await setMemory({ bytes: 1 });
          await expect
            .poll(async () => (await runtime.engine.status()).trouble, SOON)
            .toMatchObject({
              code: 'queue.unreachable',
              message: expect.stringContaining('out of memory'),
              suggestion: expect.stringContaining('maxmemory'),
            });
          await setMemory({ bytes: 0 });
        }
        const report = await syncing;
        await runtime.close();
        expectEverythingOnce(report);
      },
    );

    it(
      'a sync gives up with a fault that names the cause when the memory of Redis does not return in time, and loses nothing',
      covers('redis-memory', ...ORACLE),
      async () => {
        const syncing = world.sync({ waitMs: 1_500 });
        await untilWrites(1, syncing);
        await setMemory({ bytes: 1 });
        const report = await syncing;
        expect(report.fault).toMatchObject({ exitCode: 3, message: expect.stringContaining('out of memory') });
        await setMemory({ bytes: 0 });
        expectEverythingOnce(await world.sync());
      },
    );

    it('a Redis that evicts amid a sync loses nothing', covers('queue-lost', ...ORACLE), async () => {
      const others = Array.from({ length: OTHERS }, (_, at) => [`other:${at}`, 'x'.repeat(OTHER_BYTES)] as const);
      const steps = scaled(10, 100);
      const syncing = world.sync({ waitMs: WAIT_MS });
      for (let step = 1; step <= steps; step += 1) {
        await untilWrites(Math.ceil((step * WRITES) / (2 * steps)), syncing);
        await admin.mset(Object.fromEntries(others));
        // Redis evicts most of its keys, at random. A key can be a job or the list of waiting jobs.
        const bytes = (await usedBytes()) - EVICTED * OTHERS * OTHER_BYTES;
        await setMemory({ bytes, policy: 'allkeys-random' });
        await expect.poll(() => admin.dbsize(), SOON).toBeLessThan(OTHERS / 2);
        await setMemory({ bytes: 0 });
      }
      expectEverythingOnce(await syncing);
    });
  });

  describe('under a daemon', () => {
    let url: string;

    async function begin(options: Partial<WorldOptions> = {}): Promise<void> {
      world = await createWorld({
        config: { web: { port: 0, token: WEB_TOKEN }, sources: [PRODUCTS.source] },
        files: { ...PRODUCTS.files, ...PRODUCTS.fixed },
        queue: redis.url,
        ...options,
      });
    }
    const start = async () => {
      ({ daemon, url } = await startDaemon(world));
      return daemon;
    };
    const names = () =>
      world
        .contents()
        .products.map(({ sku }) => text(sku))
        .toSorted();
    const health = async () => (await (await fetch(`${url}/healthz`)).json()) as Record<string, string>;
    const statusPage = async () =>
      (await fetch(url, { headers: { authorization: `Bearer ${WEB_TOKEN}`, accept: 'text/html' } })).text();

    it(
      'a daemon starts a scheduled run late if its job could not be enqueued, and reports the cause meanwhile',
      covers('redis-memory', 'I5', 'I8'),
      async () => {
        await begin();
        const its = await start();
        await setMemory({ bytes: 1 });
        await its.startRun('erp', 'schedule');
        await expect(its.startRun('erp', 'cli')).rejects.toMatchObject({ code: 'queue.unreachable' });
        await expect.poll(health, SOON).toMatchObject({ status: 'unhealthy', queue: 'unreachable' });
        await expect.poll(statusPage, SOON).toContain('out of memory');
        expect(names()).toEqual([]);
        await setMemory({ bytes: 0 });
        await expect.poll(names, SOON).toEqual(['A-1', 'A-2']);
        await expect.poll(health, SOON).toMatchObject({ status: 'ok', queue: 'ok' });
        expect(await statusPage()).not.toContain('out of memory');
      },
    );

    it('a daemon starts a scheduled run late if its job was lost', covers('queue-lost', 'I5', 'I8'), async () => {
      await begin();
      const its = await start();
      const [pulls] = its.runtime.queues.bullQueues;
      await pulls?.pause();
      await its.startRun('erp', 'schedule');
      expect(await its.runtime.queues.counts('pull')).toMatchObject({ waiting: 1 });
      await admin.flushall();
      await expect.poll(names, SOON).toEqual(['A-1', 'A-2']);
    });

    it(
      'a daemon continues a run through the death of Redis, and keeps to its schedule',
      covers(['redis-killed', 'queue-lost'], 'I5', 'I6', 'I8'),
      async () => {
        const rows = Array.from({ length: COUNT }, (_, at) => `S-${String(at).padStart(4, '0')},Item ${at},10`);
        const table = (lines: string[]) => `SKU,NAME,STATE\n${lines.join('\n')}\n`;
        await begin({
          config: { web: { port: 0, token: WEB_TOKEN }, sources: [{ ...PRODUCTS.source, schedule: '* * * * * *' }] },
          files: { ...PRODUCTS.files, ...PRODUCTS.fixed, 'products.csv': table(rows) },
          sandbox: { faults: [{ operation: 'product.create', kind: 'latency', ms: 200 }] },
        });
        await start();
        await expect.poll(() => names().length, SOON).toBeGreaterThan(0);
        await redis.kill();
        await expect.poll(health, SOON).toMatchObject({ status: 'unhealthy', queue: 'unreachable' });
        world.write('products.csv', table([...rows, 'Z-1,Late,10']));
        await redis.restart();
        await expect.poll(() => names().length, SOON).toBe(COUNT + 1);
        expect(names()).toContain('Z-1');
        expect(world.sandbox.statistics().writes.filter(({ count }) => count !== 1)).toEqual([]);
      },
    );

    it(
      'a daemon makes the failed jobs again, also those that were lost before they were received',
      covers('queue-lost', 'I5'),
      async () => {
        await begin({ files: PRODUCTS.files });
        const report = await world.sync();
        expect(report.quarantined + (report.items.product.rejected ?? 0)).toBe(1);
        const runtime = await world.open();
        const deliver = runtime.queues.bullQueues.find(({ name }) => name === 'deliver');
        await deliver?.pause();
        await runtime.close();
        const { runtime: its } = await start();
        await expect.poll(() => its.queues.counts('deliver'), SOON).toMatchObject({ waiting: 1 });
        await admin.flushall();
        await expect.poll(() => its.queues.failed('deliver'), SOON).toHaveLength(1);
        await admin.flushall();
        await expect.poll(() => its.queues.failed('deliver'), SOON).toHaveLength(1);
      },
    );
  });
});
