import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { startCli } from '../support/cli/cli.ts';
import { covers, ORACLE } from '../support/docs/reliability.ts';
import { violations } from '../support/ledger/invariants.ts';
import { announcedRandom } from '../support/runner/announced-random.ts';
import { scaled } from '../support/runner/chaos.ts';
import { describeRedis, type RedisServer, startRedis } from '../support/servers/redis.ts';
import { largeExport, SMALL_SOURCES, smallFiles } from '../support/worlds/small-export.ts';
import { API_KEY, createWorld, type World } from '../support/worlds/world.ts';
import { type CountingProxy, startCountingProxy } from './support/counting-proxy.ts';

// BOM items cannot be read back, so a person has to settle each one that was claimed when the process died. There may be no
// more of them than requests may be in flight at once. A request is in flight until its answer is stored.

const CYCLES = scaled(2, 30);
const COUNT = scaled(200, 1_500);
const SOURCE = largeExport(COUNT);
/** A process is killed at the latest when this many of its requests for BOM items have arrived. */
const ARRIVED_MAX = 25;
const BOM_ITEMS = '/api/bom-items/';

let world: World;
let proxy: CountingProxy;
let redis: RedisServer | null = null;

afterEach(async () => {
  await proxy.close();
  await world.remove();
  await redis?.stop();
  redis = null;
});

async function given(queue: 'embedded' | 'redis'): Promise<void> {
  if (queue === 'redis') redis = await startRedis();
  proxy = await startCountingProxy();
  world = await createWorld({
    config: { sources: SMALL_SOURCES },
    target: { baseUrl: proxy.baseUrl },
    // Slow enough that many requests are in flight.
    sandbox: { idempotency: 'ignored', faults: [{ operation: 'bom_item.create', kind: 'latency', ms: 20 }] },
    files: smallFiles(SOURCE),
    queue: redis?.url ?? 'embedded',
    // The sandbox stores an import before it answers. A lost answer would otherwise be awaited for minutes.
    profile: {
      list: { lagMs: 0 },
      settlingDelayMs: { reset: 100, timeout: 100 },
      imports: { lostSettlesWithinMs: 1_000 },
    },
  });
  proxy.passTo(world.baseUrl);
}

/**
 * Syncs, and kills the process when the n-th request for a BOM item arrives. Returns the number of requests to which the
 * process can have received an answer.
 */
async function killAt(n: number): Promise<number> {
  const before = proxy.answered();
  const sync = startCli(['sync', '-c', world.configFile, '--json']);
  let arrived = 0;
  proxy.onRequest = (path) => {
    if (path === BOM_ITEMS) arrived += 1;
    if (path === BOM_ITEMS && arrived === n) sync.signal('SIGKILL');
  };
  const { signal, stdout, stderr } = await sync.ended;
  expect(signal, `${stdout}${stderr}`).toBe('SIGKILL');
  // Requests that the machine has received and the proxy has not read yet were also sent by the process.
  await proxy.drained();
  return proxy.answered() - before;
}

/** The most requests that a process may have in flight before it has reached a limit. */
function underWayMax(answered: number): number {
  return 3 + Math.floor(2 * Math.sqrt(answered));
}

/** BOM items that are claimed or unconfirmed. */
function unsettled(): { claimed: number; unconfirmed: number } {
  const db = new Database(join(world.folder, 'data/ledger.db'), { readonly: true });
  try {
    const count = (state: string): number =>
      Number(
        db.prepare<[string]>("SELECT count(*) FROM items WHERE kind = 'bom_item' AND state = ?").pluck().get(state),
      );
    return { claimed: count('sending'), unconfirmed: count('in_doubt') };
  } finally {
    db.close();
  }
}

async function surviveKills(): Promise<void> {
  const random = announcedRandom();
  let unconfirmedMax = 0;
  for (let cycle = 0; cycle < CYCLES; cycle += 1) {
    const allowed = underWayMax(await killAt(1 + Math.floor(ARRIVED_MAX * random())));
    const { claimed } = unsettled();
    expect(claimed).toBeGreaterThan(0);
    expect(claimed, `${claimed} were claimed, and ${allowed} may be under way`).toBeLessThanOrEqual(allowed);
    unconfirmedMax += claimed;
  }
  proxy.onRequest = () => undefined;
  const report = await world.sync();
  expect(report.fault).toBeNull();
  expect(unsettled()).toEqual({ claimed: 0, unconfirmed: unconfirmedMax });
  const ledgerFile = join(world.folder, 'data/ledger.db');
  const platform = world.sandbox.inspect();
  expect(violations({ ledgerFile, platform, source: SOURCE, bomItems: 'or_unconfirmed', secrets: [API_KEY] })).toEqual(
    [],
  );
}

describe('after kill -9 amid creates of BOM items, no more of them are unconfirmed than may be under way at once', () => {
  it(
    'creates of BOM items that are killed over the embedded queue lose and double nothing',
    covers(['process-killed', 'keys-ignored'], ...ORACLE),
    async () => {
      await given('embedded');
      await surviveKills();
    },
  );

  describeRedis('over Redis', () => {
    it('killed creates of BOM items lose nothing', covers(['process-killed', 'keys-ignored'], ...ORACLE), async () => {
      await given('redis');
      await surviveKills();
    });
  });
});
