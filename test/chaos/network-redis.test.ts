import { afterEach, expect, it } from 'vitest';
import { exitCodeOf } from '../../src/observe/standing.ts';
import type { SyncReport } from '../../src/operations/runtime.ts';
import { covers, ORACLE } from '../support/docs/reliability.ts';
import { allSkus, evidenceOf, violations } from '../support/ledger/invariants.ts';
import { chaosSeed, IS_FULL, scaled, seededRandom } from '../support/runner/chaos.ts';
import { WAIT_MS } from '../support/runner/limits.ts';
import { describeRedis, type RedisServer, startRedis } from '../support/servers/redis.ts';
import { startTcpProxy, type TcpProxy } from '../support/servers/tcp-proxy.ts';
import { largeExport, SMALL_SOURCES, smallFiles } from '../support/worlds/small-export.ts';
import { createWorld, type World } from '../support/worlds/world.ts';
import { through, type Weather } from './support/weather.ts';

// A job that is lost with the connection of its worker is received again after a minute at most. It can be lost repeatedly.
const COUNT = scaled(20, 300);
const SOURCE = largeExport(COUNT);
const seed = chaosSeed();

const WEATHERS: Weather[] = [
  { what: 'each piece is late', toxic: { kind: 'latency', ms: 5, jitterMs: 30 }, onMs: 2_000, offMs: 200 },
  { what: 'data come in slices', toxic: { kind: 'slicer', bytes: 64, delayMs: 1 }, onMs: 1_000, offMs: 200 },
  { what: 'there is little bandwidth', toxic: { kind: 'bandwidth', bytesPerSecond: 50_000 }, onMs: 2_000, offMs: 200 },
  { what: 'connections are closed late', toxic: { kind: 'slow-close', ms: 500 }, onMs: 2_000, offMs: 200 },
  {
    what: 'connections are reset amid a command',
    toxic: { kind: 'reset', toward: 'server', afterBytes: 3_000 },
    onMs: 400,
    offMs: 600,
  },
  {
    what: 'connections are reset amid a reply',
    toxic: { kind: 'reset', toward: 'client', afterBytes: 2_000 },
    onMs: 400,
    offMs: 600,
  },
  { what: 'nobody listens', toxic: { kind: 'down' }, onMs: 1_000, offMs: 2_000 },
];

/**
 * Faults that a client notices only because nothing arrives for a quarter of a minute. A job that was locked is received
 * again half a minute later.
 */
const SILENT: Weather[] = [
  { what: 'Redis vanishes', toxic: { kind: 'vanished', toward: 'both' }, onMs: 1_000, offMs: 30_000 },
  { what: 'commands get lost', toxic: { kind: 'vanished', toward: 'server' }, onMs: 1_000, offMs: 30_000 },
  { what: 'replies get lost', toxic: { kind: 'vanished', toward: 'client' }, onMs: 1_000, offMs: 30_000 },
];

describeRedis('over a bad network to Redis, a sync loses and doubles nothing', () => {
  let world: World;
  let redis: RedisServer;
  let proxy: TcpProxy;
  afterEach(async () => {
    await proxy.close();
    await world.remove();
    await redis.stop();
  });

  async function syncThrough(weather: Weather, bouts: number): Promise<SyncReport> {
    redis = await startRedis();
    proxy = await startTcpProxy(redis.port, seed);
    world = await createWorld({
      config: { sources: SMALL_SOURCES, passports: { init: 'when-complete', publish: 'auto' } },
      files: smallFiles(SOURCE),
      // The test counts requests. How many products share an import would depend on the time.
      profile: { imports: { creates: 'off' } },
      queue: `redis://127.0.0.1:${proxy.port}`,
      sandbox: {
        idempotency: 'ignored',
        gates: { materialData: { enabled: false } },
        faults: [{ operation: '*', kind: 'latency', ms: 40 }],
      },
    });
    const isAtWork = () => world.contents().products.length > 0;
    return through(weather, () => world.sync({ waitMs: WAIT_MS }), { proxy, bouts, seed, isAtWork });
  }

  async function staysWhole(weather: Weather, bouts: number): Promise<void> {
    const report = await syncThrough(weather, bouts);
    const why = `seed ${seed}`;
    expect(report.fault, why).toBeNull();
    const evidence = evidenceOf(world, { source: SOURCE, bomItems: 'delivered', published: allSkus(SOURCE) });
    expect(violations(evidence), why).toEqual([]);
    // Each request is sent once: whatever Redis loses, nothing is sent twice. The two other requests read the lists of
    // products and materials before the first create.
    expect(report.requests, why).toEqual({ sent: 5 * COUNT + 2, throttled: 0, retried: 0 });
    expect(exitCodeOf(report), why).toBe(0);
  }

  const chosen = WEATHERS[Math.floor(seededRandom(seed + 1)() * WEATHERS.length)];
  const some = IS_FULL || chosen === undefined ? WEATHERS : [chosen];

  it.each(some)(
    'a sync over a bad network to Redis loses and doubles nothing when $what',
    covers(['network-slow', 'network-reset', 'network-down'], ...ORACLE),
    async (weather) => {
      await staysWhole(weather, scaled(2, 6));
    },
  );

  it.each(IS_FULL ? SILENT : [])(
    'a sync over a silent network to Redis loses and doubles nothing when $what',
    covers('network-reset', ...ORACLE),
    async (weather) => {
      await staysWhole(weather, 2);
      expect(proxy.harmed()).toBeGreaterThan(0);
    },
  );
});
