import { expect, it } from 'vitest';
import { documentIn } from '../support/cli/cli.ts';
import { covers, ORACLE } from '../support/docs/reliability.ts';
import { chaosSeed, IS_FULL, scaled, seededRandom } from '../support/runner/chaos.ts';
import { TEST_MS } from '../support/runner/limits.ts';
import { createCutWorld } from './support/cut-world.ts';
import { describeStrace, type Injection, runTraced } from './support/strace.ts';

// Calls of a sync on the files of its ledger fail: one call, a few calls, or all calls from a given one on.

const TIMES = scaled(1, 25);
const FOR_EVER = 60_000;
const FSYNCS_OF_OPENING = 20;
/** The number of calls of each kind that every sync makes. Commits use `fdatasync`. */
const REACHED = { fdatasync: 16, fsync: 16, pwrite64: 250 } as const;
/** SQLite itself calls `fsync` while it opens and closes the ledger. */
const CALLS = IS_FULL ? (['fdatasync', 'fsync', 'pwrite64'] as const) : (['fdatasync', 'pwrite64'] as const);

/** Runs a sync with these errors, and lets another sync finish its work. Returns the exit code of the first one. */
async function exitCodeUnder(injection: Injection): Promise<number | null> {
  const world = await createCutWorld({ honoured: false, queue: 'embedded' });
  try {
    const command = [...world.syncCommand, '--wait', '1'];
    const { exitCode, stdout, stderr } = await runTraced(command, { paths: world.paths, inject: [injection] });
    expect([0, 3, 4], stderr).toContain(exitCode);
    if (exitCode === 3) {
      expect(documentIn(stdout)).toMatchObject({ ok: false, error: { code: 'ledger.unwritable', path: 'ledger' } });
      expect(stderr).toContain('The disk reports an error for the ledger');
    }
    await world.finish();
    return exitCode;
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

  it.each(CALLS)(
    'an EIO at %s for ever ends the sync with a clear error, and nothing is lost',
    { ...covers('disk-error', ...ORACLE), timeout },
    async (call) => {
      for (let time = 0; time < TIMES; time += 1) {
        const injection = { call, when: [draw(REACHED[call]), FOR_EVER], effect: 'EIO' } as const;
        expect(await exitCodeUnder(injection), JSON.stringify(injection)).toBe(3);
      }
    },
  );

  it('an EIO at the fsync of anything that opens the ledger ends the sync with a clear error, and the next one opens it', {
    ...covers('disk-error', ...ORACLE),
    timeout,
  }, async () => {
    const all = Array.from({ length: FSYNCS_OF_OPENING }, (_, at) => at + 1);
    for (const first of IS_FULL ? all : [draw(FSYNCS_OF_OPENING)]) {
      await exitCodeUnder({ call: 'fsync', when: [first, first + 1], effect: 'EIO' });
    }
  });

  it.each(CALLS)(
    'an EIO at %s once or for a while holds the sync up or ends it with a clear error, and nothing is lost or doubled',
    { ...covers('disk-error', ...ORACLE), timeout },
    async (call) => {
      for (let time = 0; time < TIMES; time += 1) {
        const first = draw(REACHED[call]);
        await exitCodeUnder({ call, when: [first, first + draw(6) - 1], effect: 'EIO' });
      }
    },
  );
});
