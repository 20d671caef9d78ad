import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { stuckJob } from '../../src/delivery/failed-jobs.ts';
import { type DaemonProcess, startDaemonProcess } from '../support/cli/daemon-process.ts';
import { covers } from '../support/docs/reliability.ts';
import { IS_FULL } from '../support/runner/chaos.ts';
import { WAIT_MS } from '../support/runner/limits.ts';
import { HASTY_TIMING } from '../support/servers/hasty-timing.ts';
import { QUEUE_BACKENDS } from '../support/servers/queue-backends.ts';
import { describeRedis, type RedisServer, startRedis } from '../support/servers/redis.ts';
import { PRODUCTS, startDaemon } from '../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../support/worlds/world.ts';
import { type FlightRecorder, startFlightRecorder } from './support/flight-recorder.ts';

const SOON = { timeout: WAIT_MS };
/** More items than can be in flight at once. So other wake-up jobs are being handled when the process freezes. */
const COUNT = 450;
const rows = Array.from({ length: COUNT }, (_, at) => `S-${String(at).padStart(4, '0')},Item ${at},10`);

const HASTY = {
  daemon: 'whose locks lapse soon',
  launcher: join(import.meta.dirname, 'support/hasty-daemon-process.ts'),
  frozenMs: 2_000,
  latencyMs: 600,
};
const REAL = { daemon: 'as it is', launcher: undefined, frozenMs: 40_000, latencyMs: 4_000 };

describeRedis('what was frozen until its locks lapsed', () => {
  let world: World;
  let redis: RedisServer;
  let recorder: FlightRecorder;
  let daemon: DaemonProcess | null = null;

  afterEach(async () => {
    daemon?.signal('SIGKILL');
    await daemon?.exited;
    daemon = null;
    await recorder.close();
    await world.remove();
    await redis.stop();
  });

  describe.each(IS_FULL ? [HASTY, REAL] : [HASTY])('under a daemon $daemon', ({ launcher, frozenMs, latencyMs }) => {
    const arrived = () => world.contents().products.length;

    /** How many creates and imports of products the sandbox has received. */
    function arrivedWrites(): number {
      const { requests } = world.sandbox.statistics();
      const counts = ['product.create', 'product.import'].flatMap((name) => Object.values(requests[name] ?? {}));
      return counts.reduce((sum, count) => sum + count, 0);
    }

    /** Starts a daemon that sends to the sandbox through a recorder, and waits until it has sent some writes. */
    async function begin({ isEmbedded = false, inBulk = false } = {}): Promise<void> {
      redis = await startRedis();
      world = await createWorld({
        config: { sources: [{ ...PRODUCTS.source, schedule: '* * * * * *' }] },
        queue: isEmbedded ? 'embedded' : redis.url,
        files: { ...PRODUCTS.files, 'products.csv': `SKU,NAME,STATE\n${rows.join('\n')}\n` },
        sandbox: {
          idempotency: 'ignored',
          faults: [{ kind: 'latency', operation: inBulk ? 'product.import' : 'product.create', ms: latencyMs }],
        },
        profile: { imports: inBulk ? { membersMax: 5 } : { creates: 'off' } },
      });
      recorder = await startFlightRecorder(world.baseUrl);
      const config = readFileSync(world.configFile, 'utf8');
      world.write('dpp-sync.yaml', config.replace(world.baseUrl, recorder.baseUrl));
      daemon = await startDaemonProcess(world.configFile, launcher);
      await expect.poll(() => recorder.writes(), SOON).toBeGreaterThanOrEqual(20);
    }

    async function expectEachOnce(): Promise<void> {
      await expect.poll(arrived, SOON).toBe(COUNT);
      await expect.poll(() => recorder.writes(), SOON).toBe(arrivedWrites());
      expect(recorder.overlaps()).toEqual([]);
      expect(world.sandbox.statistics().writes.filter(({ count }) => count !== 1)).toEqual([]);
      daemon?.signal('SIGTERM');
      expect(await daemon?.exited).toBe(0);
    }

    it(
      'a daemon goes on after SIGSTOP and SIGCONT with no item in flight twice',
      covers('process-stopped', 'I3', 'I6', 'I8'),
      async () => {
        await begin();
        const client = new Redis(redis.url);
        const keyCount = async (name: string) => (await client.keys(`*:deliver:${name}`)).length;
        daemon?.signal('SIGSTOP');
        const thawAt = Date.now() + frozenMs;
        await expect.poll(() => keyCount('active'), SOON).toBe(1);
        await expect.poll(() => keyCount('*:lock'), SOON).toBe(0);
        await delay(thawAt - Date.now());
        daemon?.signal('SIGCONT');
        client.disconnect();
        // With the real locks of half a minute, the jobs are done before a worker looks for stalled jobs.
        if (launcher !== undefined)
          await expect.poll(() => daemon?.stderr(), SOON).toContain('Another worker takes the job.');
        await expectEachOnce();
      },
    );

    it(
      'a daemon goes on after SIGSTOP and SIGCONT over the embedded queue with no item in flight twice',
      covers('process-stopped', 'I3', 'I6', 'I8'),
      async () => {
        await begin({ isEmbedded: true, inBulk: true });
        daemon?.signal('SIGSTOP');
        await delay(frozenMs);
        daemon?.signal('SIGCONT');
        if (launcher !== undefined)
          await expect.poll(() => daemon?.stderr(), SOON).toContain('Another worker takes the job.');
        await expectEachOnce();
      },
    );

    it(
      'a daemon goes on after a Redis that froze, with no item in flight twice',
      covers('process-stopped', 'I3', 'I6', 'I8'),
      async ({ skip }) => {
        await begin();
        const pid = redis.pid();
        if (pid === undefined) return skip('needs a redis-server binary, whose process can be stopped');
        process.kill(pid, 'SIGSTOP');
        await delay(frozenMs);
        process.kill(pid, 'SIGCONT');
        await expectEachOnce();
      },
    );
  });
});

const REDIS = QUEUE_BACKENDS.find(({ name }) => name === 'redis');

REDIS?.describe('a failed job whose processing stalled', () => {
  it(
    'a job of a frozen process is received again as a failed job, and not as a Retry',
    covers('process-stopped', 'I3', 'I6'),
    async () => {
      const place = await REDIS.start();
      const world = await createWorld({
        config: { sources: [PRODUCTS.source] },
        files: PRODUCTS.files,
        queue: place.url,
      });
      await world.sync();
      // Redis also forgets when a worker last looked for stalled jobs, so the next look is not skipped.
      const client = new Redis(place.url);
      await client.flushall();
      client.disconnect();
      const runtime = await world.open();
      const [stuck] = await runtime.reads.stuck(1);
      const deliver = runtime.queues.bullQueues.find(({ name }) => name === 'deliver');
      if (stuck === undefined || deliver === undefined) throw new Error('Nothing failed.');
      await runtime.queues.enqueue('deliver', [stuckJob(stuck)]);
      const taken = Promise.withResolvers<void>();
      const dies = Promise.withResolvers<void>();
      const dying = place.foreignWorker(
        deliver,
        async () => {
          taken.resolve();
          await dies.promise;
        },
        100,
      );
      dying.on('error', () => undefined);
      await taken.promise;
      await dying.close(true);
      dies.resolve();
      await runtime.close();
      world.requests();

      const { daemon, log } = await startDaemon(world, { queueTiming: HASTY_TIMING });
      try {
        await expect
          .poll(() => log.lines.map(({ message }) => message), SOON)
          .toContainEqual(expect.stringContaining('Another worker takes the job.'));
        await expect
          .poll(() => daemon.runtime.queues.counts('deliver'), SOON)
          .toEqual({ waiting: 0, active: 0, failed: 1 });
        expect(world.requests()).toEqual({});
        expect((await daemon.runtime.reads.stuck(10)).map(({ id }) => id)).toEqual([stuck.id]);

        // Until this correction a replay would have sent the faulty value again.
        world.writeAll(PRODUCTS.fixed);
        const [failed] = await daemon.runtime.queues.failed('deliver');
        const job = await daemon.runtime.queues.bullQueues
          .find(({ name }) => name === 'deliver')
          ?.getJob(failed?.id ?? '');
        await job?.retry('failed');
        await expect.poll(() => world.contents().products.map(({ sku }) => sku), SOON).toContain('A-2');
      } finally {
        await daemon.stop();
        await world.remove();
        await place.stop();
      }
    },
  );
});
