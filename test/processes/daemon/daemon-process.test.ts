import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startDaemonProcess } from '../../support/cli/daemon-process.ts';
import { covers } from '../../support/docs/reliability.ts';
import { type RedisServer, redisAvailable, startRedis } from '../../support/servers/redis.ts';
import { PRODUCTS, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const COUNT = 300;
const rows = Array.from({ length: COUNT }, (_, at) => `S-${String(at).padStart(4, '0')},Item ${at},10`);
const skus = rows.map((row) => row.slice(0, 6));
/** Long enough that many requests are in flight when the signal arrives. */
const LATENCY_MS = 1500;
/** Requests with this latency are in flight until the test ends it. */
const UNTIL_ENDED_MS = 3_600_000;

const queues = redisAvailable ? (['embedded', 'redis'] as const) : (['embedded'] as const);

describe.each(queues)('the daemon in a process of its own over the %s queue', (queue) => {
  let world: World;
  let redis: RedisServer | null = null;

  beforeEach(async () => {
    redis = queue === 'redis' ? await startRedis() : null;
    world = await createWorld({
      config: {
        web: { port: 0, token: WEB_TOKEN },
        sources: [{ ...PRODUCTS.source, schedule: '* * * * * *' }],
      },
      queue: redis?.url ?? 'embedded',
      files: { ...PRODUCTS.files, 'products.csv': `SKU,NAME,STATE\n${rows.join('\n')}\n` },
      profile: { imports: { creates: 'off' } },
      sandbox: { faults: [{ kind: 'latency', operation: 'product.create', ms: LATENCY_MS }] },
    });
  });
  afterEach(async () => {
    await world.remove();
    await redis?.stop();
  });

  const arrived = () => world.contents().products.map(({ sku }) => sku as string);
  const requestsUnderWay = async () => {
    await expect.poll(() => world.sandbox.inspect().faults[0]?.used ?? 0).toBeGreaterThanOrEqual(20);
  };
  const deliverTheRest = async () => {
    world.sandbox.faults.clear();
    const report = await world.sync();
    expect(report.items.product).toEqual({ delivered: COUNT });
    expect(arrived().sort()).toEqual(skus);
    const { writes } = world.sandbox.inspect();
    expect(writes.filter(({ count }) => count !== 1)).toEqual([]);
  };

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'a daemon finishes what is in flight on %s and hands back the rest',
    covers('shutdown', 'I5', 'I6', 'I8'),
    async (signal) => {
      const daemon = await startDaemonProcess(world.configFile);
      await requestsUnderWay();
      daemon.signal(signal);
      expect(await daemon.exited).toBe(0);

      const runtime = await world.open();
      const { product } = await runtime.reads.itemCounts();
      expect(runtime.voided).toBe(0);
      await runtime.close();
      expect(product).toEqual({ delivered: arrived().length, due: COUNT - arrived().length });
      expect(arrived().length).toBeGreaterThanOrEqual(20);
      expect(arrived().length).toBeLessThan(COUNT);
      await deliverTheRest();
    },
  );

  it(
    'a daemon ends at once on a second signal, and nothing is lost or doubled',
    covers('shutdown', 'I5', 'I6', 'I8'),
    async () => {
      world.sandbox.faults.clear();
      world.sandbox.faults.add({ kind: 'latency', operation: 'product.create', ms: UNTIL_ENDED_MS });
      const daemon = await startDaemonProcess(world.configFile);
      await requestsUnderWay();
      daemon.signal('SIGTERM');
      // A second signal within half a second counts as the same one: some shells and npm send it twice.
      await expect.poll(() => daemon.stderr()).toContain('Stopping');
      const again = setInterval(() => daemon.signal('SIGTERM'), 100);
      expect(await daemon.exited).toBe(1);
      clearInterval(again);
      // Without a second signal the daemon gives up after its time to stop, and logs that.
      expect(daemon.stderr()).not.toContain('did not end in time');
      expect(arrived()).toEqual([]);

      const used = world.sandbox.inspect().faults[0]?.used ?? 0;
      world.endLatency();
      await expect.poll(() => arrived().length).toBe(used);
      await deliverTheRest();
    },
  );

  it('a daemon writes JSON lines to stderr, which say what was sent, one document alone to stdout, and no secret to either', async () => {
    world.sandbox.faults.clear();
    const daemon = await startDaemonProcess(world.configFile);
    await expect.poll(() => arrived().length).toBe(COUNT);
    daemon.signal('SIGINT');
    expect(await daemon.exited).toBe(0);
    expect(JSON.parse(daemon.stdout())).toMatchObject({ ok: true, pid: daemon.pid });
    const lines = daemon.stderr().trimEnd().split('\n');
    const log = lines.map((line) => JSON.parse(line) as { msg: string; sent?: Record<string, number> });
    expect(log.map(({ msg }) => msg)).toContainEqual(expect.stringMatching(/^The dashboard is at http/));
    expect(log.map(({ msg }) => msg)).toContainEqual(expect.stringMatching(/^Stopping: work in progress/));
    expect(log.reduce((sum, { sent }) => sum + (sent?.['product.create'] ?? 0), 0)).toBe(COUNT);
    expect(daemon.stderr()).not.toContain(WEB_TOKEN);
    expect(daemon.stderr()).not.toContain('dpp_test0123456789');
  });

  it('a daemon keeps a second process from writing to its ledger', async () => {
    const daemon = await startDaemonProcess(world.configFile);
    await expect(world.open()).rejects.toMatchObject({
      code: 'ledger.held',
      message: expect.stringContaining(`"dpp-sync start" (process ${daemon.pid}`),
    });
    daemon.signal('SIGTERM');
    expect(await daemon.exited).toBe(0);
  });
});
