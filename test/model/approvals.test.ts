/*
 * The model test of approvals. It plays scripts of nights over sources with bounds: the export changes, each source is run, and a person
 * approves or refuses a run that is held, or leaves it. A run is held exactly if its plan exceeds a bound, counted again by the test.
 * A held run and a refused one change nothing. An approved run does what its plan says, also where its process is killed, and what has
 * changed since the approval counts against the bounds.
 *
 *   DPP_SYNC_TEST_MODEL='{"seed":1,"path":"3"}' npx vitest run test/model/approvals.test.ts
 */
import { existsSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { covers } from '../support/docs/reliability.ts';
import { chaosSeed, scaled } from '../support/runner/chaos.ts';
import { TEST_MS } from '../support/runner/limits.ts';
import { APPROVAL_EXAMPLES } from './plan/examples.ts';
import { APPROVALS } from './plan/generated-approvals.ts';
import { APPROVAL_MILESTONES } from './plan/milestones.ts';
import { type BoundedScript, playApprovals } from './plan/play-approvals.ts';

const repeated = JSON.parse(process.env['DPP_SYNC_TEST_MODEL'] ?? '{}') as { seed?: number; path?: string };
const IS_REPEATED = Object.keys(repeated).length > 0;

vi.setConfig({ testTimeout: 2 * TEST_MS });

// A folder in memory if the machine has one, so that no ledger waits for a disk.
beforeAll(() => void (existsSync('/dev/shm') && vi.stubEnv('TMPDIR', '/dev/shm')));
afterAll(() => void vi.unstubAllEnvs());

const reached = new Set<string>();
const PARTS = ['first', 'second', 'third', 'fourth'] as const;
let played = 0;

/** Plays a part of the scripts. */
async function holds(part: number): Promise<void> {
  const property = fc.asyncProperty(APPROVALS, async (script) => {
    const problems = await playApprovals(script, (milestone) => reached.add(milestone));
    if (problems.length > 0) throw new Error(`${problems.join('\n')}\nunder the script\n${JSON.stringify(script)}`);
  });
  const examples = part > 0 ? [] : APPROVAL_EXAMPLES.map((script): [BoundedScript] => [script]);
  await fc.assert(property, {
    numRuns: scaled(2, 100) + examples.length,
    examples,
    seed: chaosSeed() + part,
    // A machine that is too slow proves nothing.
    interruptAfterTimeLimit: TEST_MS,
    markInterruptAsFailure: true,
    endOnFailure: !IS_REPEATED,
    ...repeated,
  });
  played += 1;
}

describe('a run with bounds', () => {
  // Most of the time they wait.
  describe.concurrent('whatever the nights are', () => {
    it.each(PARTS)(
      'a run does what its plan says within the bounds, and beyond them what a person has approved: the %s scripts',
      covers('process-killed', 'I6'),
      (part) => holds(PARTS.indexOf(part)),
    );
  });

  it('the generated scripts reach each case that an approval has', (context) => {
    if (IS_REPEATED || played < PARTS.length) context.skip();
    expect(APPROVAL_MILESTONES.filter((milestone) => !reached.has(milestone))).toEqual([]);
  });
});
