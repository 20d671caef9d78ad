import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { documentIn } from '../support/cli/cli.ts';
import { covers, ORACLE } from '../support/docs/reliability.ts';
import { chaosSeed, IS_FULL, scaled, seededRandom } from '../support/runner/chaos.ts';
import { TEST_MS } from '../support/runner/limits.ts';
import { createCutWorld } from './support/cut-world.ts';
import { describeStrace, type Injection, runTraced } from './support/strace.ts';
import { type CallsOfOpening, callsOfOpening, reachCall } from './support/sync-calls.ts';

// Calls of a sync on the files of its ledger fail: one call, a few calls, or all calls from a given one on.

const TIMES = scaled(1, 25);
const FOR_EVER = 60_000;
/** The number of calls of each kind after the ledger was opened that can fail. Commits use `fdatasync`. */
const AMID = { fdatasync: 16, fsync: 0, pwrite64: 100 } as const;
/** SQLite itself calls `fsync` while it opens and closes the ledger. */
const CALLS = IS_FULL ? (['fdatasync', 'fsync', 'pwrite64'] as const) : (['fdatasync', 'pwrite64'] as const);

interface Ended {
  exitCode: number | null;
  /** Whether the sync got as far as the error. */
  reached: boolean;
}

/** Runs a sync with these errors, and lets another sync finish its work. Returns how the first one ended. */
async function endUnder(injection: Injection): Promise<Ended> {
  const world = await createCutWorld({ honoured: false, queue: 'embedded' });
  try {
    const command = [...world.syncCommand, '--wait', '1'];
    const recording = join(world.folder, 'recording');
    const { exitCode, stdout, stderr } = await runTraced(command, {
      paths: world.paths,
      recording,
      inject: [injection],
    });
    const reached = readFileSync(recording, 'latin1').includes('(INJECTED)');
    expect([0, 3, 4], stderr).toContain(exitCode);
    if (exitCode === 3) {
      expect(documentIn(stdout)).toMatchObject({ ok: false, error: { code: 'ledger.unwritable', path: 'ledger' } });
      expect(stderr).toContain('The disk reports an error for the ledger');
    }
    await world.finish();
    return { exitCode, reached };
  } catch (error) {
    throw new Error(`With ${JSON.stringify(injection)} things were not right in the end.`, { cause: error });
  } finally {
    await world.remove();
  }
}

describeStrace('a disk that fails a sync with EIO', () => {
  const random = seededRandom(chaosSeed());
  const draw = (max: number) => 1 + Math.floor(random() * max);
  const timeout = TEST_MS;
  let opening: CallsOfOpening;
  beforeAll(async () => {
    opening = await callsOfOpening();
  });

  it.each(CALLS)(
    'an EIO at %s for ever ends the sync with a clear error, and nothing is lost',
    { ...covers('disk-error', ...ORACLE), timeout },
    async (call) => {
      for (let time = 0; time < TIMES; time += 1) {
        await reachCall(draw(opening[call] + AMID[call]), async (first) => {
          const injection = { call, when: [first, FOR_EVER], effect: 'EIO' } as const;
          const { exitCode, reached } = await endUnder(injection);
          expect(exitCode, JSON.stringify(injection)).toBe(reached ? 3 : 0);
          return reached;
        });
      }
    },
  );

  it('an EIO at the fsync of anything that opens the ledger ends the sync with a clear error, and the next one opens it', {
    ...covers('disk-error', ...ORACLE),
    timeout,
  }, async () => {
    const all = Array.from({ length: opening.fsync }, (_, at) => at + 1);
    for (const first of IS_FULL ? all : [draw(opening.fsync)]) {
      const { reached } = await endUnder({ call: 'fsync', when: [first, first + 1], effect: 'EIO' });
      expect(reached).toBe(true);
    }
  });

  it.each(CALLS)(
    'an EIO at %s once or for a while holds the sync up or ends it with a clear error, and nothing is lost or doubled',
    { ...covers('disk-error', ...ORACLE), timeout },
    async (call) => {
      for (let time = 0; time < TIMES; time += 1) {
        const calls = draw(6);
        await reachCall(draw(opening[call] + AMID[call]), async (first) => {
          const { reached } = await endUnder({ call, when: [first, first + calls - 1], effect: 'EIO' });
          return reached;
        });
      }
    },
  );
});
