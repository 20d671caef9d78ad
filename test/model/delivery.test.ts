/*
 * The model test. It plays scripts of changes, crashes, faults, outages, clock changes, restored backups and actions of
 * people, in virtual time. The ledger, the delivery path, the passports and the API client are the real ones, and the
 * platform is the sandbox without its HTTP server. When all work of a script is done, every invariant holds. I1 is also
 * checked at each crash, and I2, I3 and I6 at each write. After a restore, the ledger does what
 * docs/adr/0008-restored-ledgers.md says.
 *
 * A failure prints the script, which can be added to `examples.ts`, with its seed and path. To play it again:
 *
 *   DPP_SYNC_TEST_MODEL='{"seed":1,"path":"3:0"}' npx vitest run test/model -t 'NAME OF THE TEST'
 *
 * `DPP_SYNC_TEST_SEED=random` plays other scripts, and `npm run test:chaos` plays 10,200 of them.
 */
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { covers, ORACLE } from '../support/docs/reliability.ts';
import { chaosSeed, scaled } from '../support/runner/chaos.ts';
import { TEST_MS } from '../support/runner/limits.ts';
import { EXAMPLES } from './script/examples.ts';
import { createMilestones } from './script/milestones.ts';
import { runScript } from './script/run-script.ts';
import { KEY_MODE_NAMES, type KeyMode, type Script } from './script/script.ts';
import { scriptFor } from './script/script-for.ts';

/** The number of scripts for each of the six modes. */
const RUNS = scaled(14, 1700);

/** Each test has its own seed, so that they do not play the same scripts. */
const repeated = JSON.parse(process.env['DPP_SYNC_TEST_MODEL'] ?? '{}') as { seed?: number; path?: string };
const IS_REPEATED = Object.keys(repeated).length > 0;

const milestones = createMilestones();
const played = new Set<KeyMode>();

async function holds(mode: KeyMode, offset: number): Promise<void> {
  let runs = 0;
  const property = fc.asyncProperty(scriptFor(mode), async (script) => {
    runs += 1;
    const breaches = await runScript(mode, script, milestones);
    if (breaches.length > 0) throw new Error(`${breaches.join('\n')}\nunder the script\n${JSON.stringify(script)}`);
  });
  const examples = EXAMPLES.filter((one) => one.mode === mode).map(({ script }): [Script] => [script]);
  const numRuns = RUNS + examples.length;
  await fc.assert(property, {
    numRuns,
    seed: chaosSeed() + offset,
    // A machine that is too slow proves nothing. A failure that was found before is reported.
    interruptAfterTimeLimit: TEST_MS,
    markInterruptAsFailure: true,
    examples,
    ...repeated,
  });
  if (IS_REPEATED) return;
  expect(runs).toBe(numRuns);
  played.add(mode);
}

/** The limit for one mode, far above what it takes. In full, that is two seconds a script. An idle machine takes a fortieth of that. */

vi.setConfig({ testTimeout: 2 * TEST_MS });

describe('whatever happens on the way, nothing is lost and nothing doubled', () => {
  it(
    'nothing is lost and nothing doubled where the platform honours keys and repeats its refusals',
    covers(
      ['process-killed', 'answer-lost', 'server-error', 'queue-lost', 'cached-refusal', 'changed-amid', 'clock-jump'],
      ...ORACLE,
    ),
    () => holds('honoured', 1),
  );

  it(
    'nothing is lost and nothing doubled where the platform honours keys and repeats successes alone',
    covers(['process-killed', 'answer-lost', 'server-error', 'bad-row', 'ledger-restored'], ...ORACLE),
    () => holds('honoured, successes alone', 2),
  );

  it(
    'nothing is lost and nothing doubled where the platform honours keys and repeats its own failures',
    covers(['process-killed', 'answer-lost', 'server-error', 'gate', 'clock-jump'], ...ORACLE),
    () => holds('honoured, failures too', 3),
  );

  it(
    'nothing is lost and nothing doubled where the platform forgets keys soon',
    covers(['process-killed', 'answer-lost', 'keys-ignored', 'throttled', 'api-down'], ...ORACLE),
    () => holds('honoured, soon forgotten', 4),
  );

  it(
    'nothing is lost and nothing doubled where the platform honours the keys of publishing alone',
    covers(['process-killed', 'answer-lost', 'api-down', 'key-refused'], ...ORACLE),
    () => holds('publish alone', 5),
  );

  it(
    'nothing is lost and nothing doubled where the platform ignores keys',
    covers(
      ['process-killed', 'answer-lost', 'keys-ignored', 'queue-lost', 'network-reset', 'ledger-restored'],
      ...ORACLE,
    ),
    () => holds('ignored', 6),
  );

  it('the generated scripts reach each case that the model has to show', (context) => {
    // One test alone, or one script, need not.
    if (played.size < KEY_MODE_NAMES.length) context.skip();
    const missed = Array.from(milestones.counts()).filter(([, count]) => count === 0);
    expect(missed).toEqual([]);
  });
});
