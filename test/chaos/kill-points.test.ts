import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startCli } from '../support/cli/cli.ts';
import { covers, ORACLE } from '../support/docs/reliability.ts';
import { removeFolder } from '../support/machine/remove-folder.ts';
import { chaosSeed, IS_FULL, scaled, seededRandom } from '../support/runner/chaos.ts';
import { createCutWorld } from './support/cut-world.ts';
import { type DiskCall, describeStrace, runTraced, straceAvailable } from './support/strace.ts';
import { callsOfOpening, reachCall } from './support/sync-calls.ts';

// A sync is killed just before each call that writes to the files of its ledger. Another sync finishes its work.

interface Point {
  call: DiskCall;
  /** The number of the call in the process. The calls of each kind are counted from 1. */
  when: number;
}

/** The number of calls after the ledger was opened from which `npm run test:slow` draws some. */
const AMID = [
  { call: 'pwrite64', count: 220 },
  { call: 'fdatasync', count: 16 },
] as const;
const CALLS: readonly DiskCall[] = ['pwrite64', 'fsync', 'fdatasync', 'ftruncate', 'unlink', 'mkdir'];
const SLICE = 3;
/** After this many syncs that ended before the chosen call, the test assumes that no sync makes more calls of this kind. */
const UNREACHED_MAX = 3;
const AT_ONCE = 2;

/** The folder with the code that Node has compiled. A killed process does not fill it, so in the full run one sync does. */
let cache: string;
beforeAll(async () => {
  cache = mkdtempSync(join(tmpdir(), 'dpp-sync-compiled-'));
  if (IS_FULL && straceAvailable) await killedAt({ call: 'fdatasync', when: 1000 }, false);
});
afterAll(() => removeFolder(cache));

/** Returns whether the sync got as far as the point and was killed there. */
async function killedAt({ call, when }: Point, honoured: boolean): Promise<boolean> {
  const world = await createCutWorld({ honoured, queue: 'embedded' });
  try {
    const { signal, exitCode, stderr } = await runTraced(world.syncCommand, {
      paths: world.paths,
      inject: [{ call, when, effect: 'SIGKILL' }],
      env: { NODE_COMPILE_CACHE: cache },
    });
    if (signal === null) expect([0, 4], stderr).toContain(exitCode);
    else expect(signal).toBe('SIGKILL');
    await world.finish();
    return signal !== null;
  } catch (error) {
    throw new Error(`Killed before ${call} number ${when}, things were not right in the end.`, { cause: error });
  } finally {
    await world.remove();
  }
}

/** Kills some syncs at calls that the seed chooses. */
async function visitSome(honoured: boolean): Promise<void> {
  const random = seededRandom(chaosSeed());
  const opening = await callsOfOpening();
  const all = AMID.flatMap(({ call, count }) => Array.from({ length: count }, (_, at) => ({ call, nth: at + 1 })));
  for (let time = 0; time < SLICE; time += 1) {
    const { call, nth } = all[Math.floor(random() * all.length)] ?? { ...AMID[0], nth: 1 };
    await reachCall(nth, (at) => killedAt({ call, when: opening[call] + at }, honoured));
  }
}

/** Kills a sync at each of its calls, one after the other. Returns the number of calls of each kind. */
async function walkAll(honoured: boolean): Promise<Record<string, number>> {
  const reached: Record<string, number> = {};
  for (const call of CALLS) {
    let next = 1;
    let unreached = 0;
    reached[call] = 0;
    const walk = async () => {
      while (unreached < UNREACHED_MAX) {
        const when = next++;
        if (await killedAt({ call, when }, honoured)) reached[call] = (reached[call] ?? 0) + 1;
        else unreached += 1;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, walk));
  }
  return reached;
}

async function visit(honoured: boolean, pointsMin: number): Promise<void> {
  if (!IS_FULL) return visitSome(honoured);
  const reached = await walkAll(honoured);
  process.stderr.write(`Killed at ${JSON.stringify(reached)}\n`);
  expect(Object.values(reached).reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(pointsMin);
}

describeStrace('a sync that is killed at a write or an fsync of its ledger, and finished by the next one', () => {
  it(
    'a sync killed at each of its writes loses and doubles nothing where the API ignores keys',
    covers('write-cut', ...ORACLE),
    () => visit(false, 300),
  );

  it('a sync killed at each write is confirmed where keys count', covers('write-cut', ...ORACLE), () =>
    visit(true, 300),
  );
});

/** Without strace, syncs are killed at random instants instead. The name of the suite says that strace is missing. */
if (!straceAvailable)
  describe('a sync that is killed at random instants, for want of strace', () => {
    it.each([false, true])(
      'a sync killed at random instants loses and doubles nothing (keys honoured: %s)',
      covers('process-killed', ...ORACLE),
      async (honoured) => {
        const random = seededRandom(chaosSeed());
        for (let time = 0; time < scaled(SLICE, 250); time += 1) {
          const world = await createCutWorld({ honoured, queue: 'embedded' });
          try {
            const sync = startCli(['sync', '-c', world.configFile]);
            await Promise.race([sync.ended, delay(300 + random() * 1200)]);
            sync.signal('SIGKILL');
            await sync.ended;
            await world.finish();
          } finally {
            await world.remove();
          }
        }
      },
    );
  });
