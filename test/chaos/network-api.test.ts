import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { exitCodeOf } from '../../src/observe/standing.ts';
import type { SyncReport } from '../../src/operations/runtime.ts';
import { covers, ORACLE } from '../support/docs/reliability.ts';
import { allSkus, evidenceOf, violations } from '../support/ledger/invariants.ts';
import { text } from '../support/ledger/items.ts';
import { chaosSeed, IS_FULL, scaled, seededRandom } from '../support/runner/chaos.ts';
import { TEST_MS, WAIT_MS } from '../support/runner/limits.ts';
import { startTcpProxy, type TcpProxy } from '../support/servers/tcp-proxy.ts';
import { largeExport, SMALL_SOURCES, smallFiles } from '../support/worlds/small-export.ts';
import { createWorld, type World } from '../support/worlds/world.ts';
import { harms, through, type Weather } from './support/weather.ts';

let world: World;
let proxy: TcpProxy;
afterEach(async () => {
  await proxy.close();
  await world.remove();
});

const COUNT = scaled(12, 150);
const BOUTS = scaled(2, 8);
const SOURCE = largeExport(COUNT);
const seed = chaosSeed();

/** Short limits, so that requests without an answer are given up within the time of the test. */
const IMPATIENT = {
  timeouts: { connectMs: 500, headersMs: 1_000, bodyMs: 1_000, totalMs: 2_500 },
  list: { lagMs: 0 },
  settlingDelayMs: { reset: 100, timeout: 300 },
  retry: { attemptsMax: 20, backoff: { baseMs: 20, capMs: 200 } },
};

/** How long the platform works on a request. So there are requests in flight that a network fault can affect. */
const WORK = { operation: '*', kind: 'latency', ms: 40 } as const;

async function given({ keys }: { keys: 'honoured' | 'ignored' }): Promise<void> {
  world = await createWorld({
    config: { sources: SMALL_SOURCES, passports: { init: 'when-complete', publish: 'auto' } },
    files: smallFiles(SOURCE),
    sandbox: { idempotency: keys, gates: { materialData: { enabled: false } }, faults: [WORK] },
    profile: { ...IMPATIENT, ...(keys === 'honoured' ? { idempotency: 'honoured' } : {}) },
  });
  proxy = await startTcpProxy(Number(new URL(world.baseUrl).port), seed);
  const config = readFileSync(world.configFile, 'utf8');
  world.write('dpp-sync.yaml', config.replace(world.baseUrl, `http://127.0.0.1:${proxy.port}`));
}

const sorted = (values: unknown[]) => values.map(text).toSorted();
const numbered = (prefix: string) => sorted(Array.from({ length: COUNT }, (_, index) => `${prefix}${index + 1}`));

/**
 * Checks that nothing is missing at the platform and that nothing is there twice. A BOM item may be missing only if it is
 * reported as unconfirmed.
 */
function expectAllOnce(report: SyncReport, keys: 'honoured' | 'ignored'): void {
  const { products, materials, bomItems, publications } = world.contents();
  const why = `seed ${seed}`;
  expect(report.fault, why).toBeNull();
  expect(sorted(products.map(({ sku }) => sku)), why).toEqual(numbered('SKU-P'));
  expect(sorted(materials.map(({ code }) => code)), why).toEqual(numbered('M'));
  expect(report.items, why).toMatchObject({ product: { delivered: COUNT }, material: { delivered: COUNT } });
  const owners = bomItems.map(({ product }) => JSON.stringify(product));
  expect(new Set(owners).size, why).toBe(owners.length);
  const { delivered = 0, in_doubt: unconfirmed = 0 } = report.items.bom_item ?? {};
  expect(delivered + unconfirmed, why).toBe(COUNT);
  expect(owners.length, why).toBeGreaterThanOrEqual(delivered);
  const published = publications.map(({ sku }) => text(sku));
  expect(new Set(published).size, why).toBe(published.length);
  expect(publications.every(({ status }) => status === 'published')).toBe(true);
  // A product with an unconfirmed BOM item is not complete. It waits until a person settles the BOM item.
  expect(report.passports, why).toEqual({
    ...(delivered > 0 ? { published: delivered } : {}),
    ...(unconfirmed > 0 ? { incomplete: unconfirmed } : {}),
  });
  expect(published.length, why).toBe(delivered);
  if (keys === 'honoured') expect(unconfirmed, why).toBe(0);
  expect(exitCodeOf(report), why).toBe(unconfirmed > 0 ? 4 : 0);
  const bomEnd = keys === 'honoured' ? 'delivered' : 'or_unconfirmed';
  const wanted = unconfirmed > 0 ? [] : allSkus(SOURCE);
  expect(violations(evidenceOf(world, { source: SOURCE, bomItems: bomEnd, published: wanted })), why).toEqual([]);
}

/** Faults that only delay requests. */
const SLOW: Weather[] = [
  { what: 'each piece is late', toxic: { kind: 'latency', ms: 20, jitterMs: 60 }, onMs: 2_000, offMs: 200 },
  { what: 'data come in slices', toxic: { kind: 'slicer', bytes: 40, delayMs: 2 }, onMs: 2_000, offMs: 200 },
  { what: 'there is little bandwidth', toxic: { kind: 'bandwidth', bytesPerSecond: 20_000 }, onMs: 2_000, offMs: 200 },
  { what: 'connections are closed late', toxic: { kind: 'slow-close', ms: 400 }, onMs: 2_000, offMs: 200 },
];

/** Faults that lose requests and answers. */
const LOSSY: Weather[] = [
  {
    what: 'connections are reset amid a request',
    toxic: { kind: 'reset', toward: 'server', afterBytes: 2_000 },
    onMs: 300,
    offMs: 300,
  },
  {
    what: 'connections are reset amid an answer',
    toxic: { kind: 'reset', toward: 'client', afterBytes: 1_500 },
    onMs: 300,
    offMs: 300,
  },
  { what: 'connections are reset after a while', toxic: { kind: 'expire', afterMs: 80 }, onMs: 300, offMs: 300 },
  { what: 'new connections lead nowhere', toxic: { kind: 'half-open' }, onMs: 1_200, offMs: 500 },
  { what: 'the platform vanishes', toxic: { kind: 'vanished', toward: 'both' }, onMs: 100, offMs: 2_000 },
  { what: 'requests get lost', toxic: { kind: 'vanished', toward: 'server' }, onMs: 100, offMs: 2_000 },
  { what: 'answers get lost', toxic: { kind: 'vanished', toward: 'client' }, onMs: 100, offMs: 2_000 },
];

const DOWN: Weather[] = [{ what: 'nobody listens', toxic: { kind: 'down' }, onMs: 400, offMs: 300 }];

/** All faults, or in `npm run test:slow` one fault that the seed chooses. */
function some(weathers: Weather[]): Weather[] {
  const one = weathers[Math.floor(seededRandom(seed)() * weathers.length)];
  return IS_FULL || one === undefined ? weathers : [one];
}

async function staysWhole(weather: Weather, keys: 'honoured' | 'ignored'): Promise<void> {
  await given({ keys });
  // A connection that is open when new connections lead nowhere may be enough for the whole sync.
  const isAtWork = () => weather.toxic.kind === 'half-open' || proxy.accepted() > 0;
  const report = await through(weather, () => world.sync({ waitMs: WAIT_MS }), { proxy, bouts: BOUTS, seed, isAtWork });
  expectAllOnce(report, keys);
  if (harms(weather.toxic)) expect(proxy.harmed()).toBeGreaterThan(0);
}

const LIMIT = { timeout: TEST_MS };

describe('over a bad network to the platform, a sync loses and doubles nothing', LIMIT, () => {
  it.each(some(SLOW))(
    'a sync loses and doubles nothing when $what',
    covers('network-slow', ...ORACLE),
    async (weather) => {
      await staysWhole(weather, 'ignored');
    },
  );

  it.each(some(LOSSY))(
    'a sync loses and doubles nothing when $what',
    covers(['network-reset', 'answer-lost'], ...ORACLE),
    async (weather) => {
      await staysWhole(weather, 'ignored');
    },
  );

  it.each(some(DOWN))(
    'a sync loses and doubles nothing when $what',
    covers('network-down', ...ORACLE),
    async (weather) => {
      await staysWhole(weather, 'ignored');
    },
  );

  it.each(IS_FULL ? [...LOSSY, ...DOWN] : [])(
    'a sync over a bad network delivers every BOM item where keys are honoured, when $what',
    covers(['network-reset', 'network-down'], ...ORACLE),
    async (weather) => {
      await staysWhole(weather, 'honoured');
    },
  );
});
