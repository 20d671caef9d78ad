/*
 * The model test of plans. It plays scripts of nights: the export changes, people act, a plan is made, and then a sync does what the
 * plan says. The sources, the ledger, the delivery path and the sandbox are the real ones. A plan changes nothing and asks the platform
 * nothing. Each write of the plan has exactly its effect at the platform and in the ledger, and there are no others. A second plan has
 * nothing to do. A plan is refused if a row has changed, and a process that dies while it applies a plan changes nothing about the end.
 *
 * Only the platform knows some things, so these are not compared: which writes it refuses or leaves without an answer, and what it had
 * before the first contact. Then the ledger has to show why a write of the plan is missing: its item, or an item that it follows from,
 * is not delivered.
 *
 * A failure prints the script, with its seed and path. To play it again, and to look for a smaller script:
 *
 *   DPP_SYNC_TEST_MODEL='{"seed":1,"path":"3"}' npx vitest run test/model/plan.test.ts -t 'NAME OF THE TEST'
 *
 * `DPP_SYNC_TEST_SEED=random` plays other scripts, and `npm run test:chaos` plays 800 of them.
 */
import { existsSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { covers } from '../support/docs/reliability.ts';
import { chaosSeed, scaled } from '../support/runner/chaos.ts';
import { TEST_MS } from '../support/runner/limits.ts';
import { PLAN_EXAMPLES } from './plan/examples.ts';
import { SCRIPTS, type ScriptName } from './plan/generated-nights.ts';
import { PLAN_MILESTONES, type PlanMilestone } from './plan/milestones.ts';
import type { Script } from './plan/night.ts';
import { playNights } from './plan/play-nights.ts';

const repeated = JSON.parse(process.env['DPP_SYNC_TEST_MODEL'] ?? '{}') as { seed?: number; path?: string };
const IS_REPEATED = Object.keys(repeated).length > 0;

const reached = new Set<PlanMilestone>();
const played = new Set<ScriptName>();

/** @param runs the number of scripts in `npm run test:slow` */
async function holds(name: ScriptName, runs: number): Promise<void> {
  const property = fc.asyncProperty(SCRIPTS[name], async (script) => {
    const problems = await playNights(script, (milestone) => reached.add(milestone));
    if (problems.length > 0) throw new Error(`${problems.join('\n')}\nunder the script\n${JSON.stringify(script)}`);
  });
  const examples = PLAN_EXAMPLES.filter(({ of }) => of === name).map(({ script }): [Script] => [script]);
  await fc.assert(property, {
    numRuns: scaled(runs, 160) + examples.length,
    examples,
    seed: chaosSeed() + Object.keys(SCRIPTS).indexOf(name),
    // A machine that is too slow proves nothing.
    interruptAfterTimeLimit: TEST_MS,
    markInterruptAsFailure: true,
    // A script takes seconds, so a smaller one is looked for only on request.
    endOnFailure: !IS_REPEATED,
    ...repeated,
  });
  if (!IS_REPEATED) played.add(name);
}

vi.setConfig({ testTimeout: 2 * TEST_MS });

// A folder in memory if the machine has one, so that no ledger waits for a disk.
beforeAll(() => void (existsSync('/dev/shm') && vi.stubEnv('TMPDIR', '/dev/shm')));
afterAll(() => void vi.unstubAllEnvs());

describe('a plan says what happens', () => {
  // Most of the time they wait.
  describe.concurrent('whatever the nights are', () => {
    it('a plan says what a sync does', () => holds('calm', 2));

    it('a plan says what a sync does where the platform refuses, loses answers and has items already', () =>
      holds('odd', 2));

    it('a plan says what a sync does with a backup of the ledger', () => holds('restored', 2));

    it('a plan is refused after a row has changed, and rows that change while it is applied are not sent', () =>
      holds('changing', 2));

    it(
      'a process that is killed while it applies a plan changes nothing about the end',
      covers('process-killed', 'I6'),
      () => holds('killed', 2),
    );
  });

  it('the generated scripts reach each case that a plan has to show', (context) => {
    // One test alone, or one script, need not.
    if (played.size < Object.keys(SCRIPTS).length) context.skip();
    expect(PLAN_MILESTONES.filter((milestone) => !reached.has(milestone))).toEqual([]);
  });
});
