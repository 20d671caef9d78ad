/*
 * The model of platforms that lie. It plays scripts of changes, kills and lost answers against the sandbox, which tells
 * some of its lies, has ids and answers in other forms, and has items of other people. The platform's real content is
 * then compared with the ledger: no passport of another product, nothing doubled beyond a proof, and nothing counts as
 * delivered that is not at the platform.
 *
 * A failure prints its script. To play it again, as in `delivery.test.ts`:
 *
 *   DPP_SYNC_TEST_MODEL='{"seed":1,"path":"3:0"}' npx vitest run test/model/lying-platform.test.ts
 */
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { covers } from '../support/docs/reliability.ts';
import { chaosSeed, scaled } from '../support/runner/chaos.ts';
import { TEST_MS } from '../support/runner/limits.ts';
import { ECHOED_BEFORE, lyingScripts } from './script/lying-script.ts';
import { createMilestones } from './script/milestones.ts';
import { runScript } from './script/run-script.ts';

const RUNS = scaled(100, 10_000);
/** Far above what the scripts take. An idle machine plays about twenty of them a second. */
const LIMIT_MS = scaled(TEST_MS, 7_200_000);

const repeated = JSON.parse(process.env['DPP_SYNC_TEST_MODEL'] ?? '{}') as { seed?: number; path?: string };

vi.setConfig({ testTimeout: LIMIT_MS + TEST_MS });

it(
  'whatever a platform says, nothing counts as delivered that is not there, and no passport is of another product',
  covers(['platform-lies', 'process-killed', 'answer-lost', 'existing-items'], 'I4', 'I6'),
  async () => {
    const milestones = createMilestones();
    let runs = 0;
    const property = fc.asyncProperty(lyingScripts, async (script) => {
      runs += 1;
      const problems = await runScript('publish alone', script, milestones);
      if (problems.length > 0) throw new Error(`${problems.join('\n')}\nunder the script\n${JSON.stringify(script)}`);
    });
    await fc.assert(property, {
      numRuns: RUNS,
      seed: chaosSeed(),
      interruptAfterTimeLimit: LIMIT_MS,
      markInterruptAsFailure: true,
      ...repeated,
    });
    if (Object.keys(repeated).length === 0) expect(runs).toBe(RUNS);
  },
);

it('a BOM item whose answer repeats nothing is not believed in the model where earlier answers did', async () => {
  expect(await runScript('publish alone', ECHOED_BEFORE, createMilestones())).toEqual([]);
});
