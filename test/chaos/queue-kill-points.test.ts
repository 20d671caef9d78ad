import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Fault } from '../../src/lib/errors.ts';
import { covers, ORACLE } from '../support/docs/reliability.ts';
import { announcedRandom } from '../support/runner/announced-random.ts';
import { IS_FULL } from '../support/runner/chaos.ts';
import { describeRedis, redisTraceable, startRedis } from '../support/servers/redis.ts';
import { largeExport, SMALL, type SmallExport } from '../support/worlds/small-export.ts';
import { createCutWorld } from './support/cut-world.ts';
import { describeStrace, straceCommand } from './support/strace.ts';
import { reachCall } from './support/sync-calls.ts';

// Redis is killed during a sync, just before each call that writes to its append-only file, and is started again with what it
// has written by then. Redis acknowledges a command after its fdatasync. If it is killed before the write, the command is
// lost. If it is killed before the fdatasync, the command took effect, but the client got no answer.

const CALLS = ['write', 'fdatasync', 'fsync'] as const;

interface Point {
  call: (typeof CALLS)[number];
  /** The number of the call in the server. The calls of each kind are counted from 1. */
  when: number;
}

/** The calls from which `npm run test:slow` draws one. On most machines, Redis makes them amid the requests of a sync. */
const AMID = { first: 10, count: 18 };
/** After this many syncs that ended before the chosen call, the test assumes that Redis makes no more calls of this kind. */
const UNREACHED_MAX = 3;
const AT_ONCE = 2;
const POINTS_MIN = 100;
/** The least number of phases in which Redis is killed. A phase is the number of writes that the API had accepted. */
const PHASES_MIN = 8;
const LARGER = largeExport(8);
/** The number of log files: the first one, and the next ones that Redis begins when it rewrites its log. */
const GENERATIONS = 9;
const SETTINGS = {
  appendfsync: 'always',
  'auto-aof-rewrite-min-size': '12kb',
  'auto-aof-rewrite-percentage': '50',
};

function logFiles(folder: string): string[] {
  const log = join(folder, 'appendonlydir');
  const generations = Array.from({ length: GENERATIONS }, (_, at) => join(log, `appendonly.aof.${at + 1}.incr.aof`));
  return [log, join(log, 'appendonly.aof.manifest'), join(log, 'temp-appendonly.aof.manifest'), ...generations];
}

interface Death {
  /** The number of writes that the API had accepted when Redis was killed. */
  writes: number;
  /** Whether the sync that was running then ended without a fault. */
  survived: boolean;
}

/** Returns null if the sync ended before Redis made the call. */
async function killedAt({ call, when }: Point, honoured: boolean, source: SmallExport): Promise<Death | null> {
  const redis = await startRedis({
    appendonly: true,
    settings: SETTINGS,
    under: (folder) => straceCommand({ paths: logFiles(folder), inject: [{ call, when, effect: 'SIGKILL' }] }),
  });
  const world = await createCutWorld({ honoured, queue: redis.url, export: source });
  try {
    const finishing = world.finish();
    const signal = await Promise.race([redis.ended(), finishing.catch(isUnreachable)]);
    if (signal === undefined) return null;
    expect(await redis.ended()).toBe('SIGKILL');
    const writes = world.sandbox.statistics().writes.reduce((sum, { count }) => sum + count, 0);
    await redis.restart();
    const survived = await finishing.then(() => true, isUnreachable);
    if (!survived) await world.finish();
    return { writes, survived };
  } catch (error) {
    throw new Error(`With Redis killed before ${call} number ${when}, things were not right in the end.`, {
      cause: error,
    });
  } finally {
    await world.remove();
    await redis.stop();
  }
}

/** False for the error of a sync that could not reach Redis before it delivered anything. Throws any other error. */
function isUnreachable(error: unknown): false {
  if (error instanceof Fault && error.code === 'queue.unreachable') return false;
  throw error;
}

/** Kills Redis at each of its calls, one after the other. Returns the results. */
async function walkAll(honoured: boolean, source: SmallExport): Promise<Record<Point['call'], Death[]>> {
  const deaths: Record<Point['call'], Death[]> = { write: [], fdatasync: [], fsync: [] };
  for (const call of CALLS) {
    let next = 1;
    let unreached = 0;
    const walk = async () => {
      while (unreached < UNREACHED_MAX) {
        const death = await killedAt({ call, when: next++ }, honoured, source);
        if (death === null) unreached += 1;
        else deaths[call].push(death);
      }
    };
    const walks = await Promise.allSettled(Array.from({ length: AT_ONCE }, walk));
    for (const walked of walks) if (walked.status === 'rejected') throw walked.reason;
  }
  return deaths;
}

async function visitAll(honoured: boolean): Promise<void> {
  const all: Death[] = [];
  for (const source of [SMALL, LARGER]) {
    const deaths = await walkAll(honoured, source);
    process.stderr.write(`Redis killed: ${JSON.stringify(deaths)}\n`);
    all.push(...Object.values(deaths).flat());
  }
  expect(all.length).toBeGreaterThanOrEqual(POINTS_MIN);
  // Redis was killed in enough phases, and this ended no sync that had begun to deliver.
  expect(new Set(all.map(({ writes }) => writes)).size).toBeGreaterThanOrEqual(PHASES_MIN);
  expect(all.filter(endedAmid)).toEqual([]);
}

/** True if Redis was killed after the first write of a sync, and the sync ended. */
function endedAmid({ writes, survived }: Death): boolean {
  return writes > 0 && !survived;
}

async function visitOne(call: Point['call'], honoured: boolean): Promise<void> {
  await reachCall(AMID.first + Math.floor(announcedRandom()() * AMID.count), async (when) => {
    const death = await killedAt({ call, when }, honoured, SMALL);
    expect(death === null || !endedAmid(death), `${call} ${when}`).toBe(true);
    return death !== null;
  });
}

describeStrace('a Redis that is killed at a write or an fsync of its append-only file, amid a sync', () => {
  describeRedis('and comes back with that file', () => {
    it('a Redis killed at each of its writes costs nothing and doubles nothing where the API ignores keys', {
      ...covers(['write-cut', 'redis-killed'], ...ORACLE),
    }, async ({ skip }) => {
      if (!redisTraceable) skip('needs a redis-server binary, which can be traced');
      await (IS_FULL ? visitAll(false) : visitOne('write', false));
    });

    it('a Redis killed at each of its writes leaves nothing unconfirmed either where keys are honoured', {
      ...covers(['write-cut', 'redis-killed'], ...ORACLE),
    }, async ({ skip }) => {
      if (!redisTraceable) skip('needs a redis-server binary, which can be traced');
      await (IS_FULL ? visitAll(true) : visitOne('fdatasync', true));
    });
  });
});
