// A plan as its lines, and the effects of a sync as the sandbox shows them.

import type { PlannedItem } from '../../../src/domain/plan.ts';
import type { StreamAccount } from '../../../src/domain/ports/ledger/ledger-views.ts';
import type { SyncReport } from '../../../src/operations/runtime.ts';
import { runHere } from '../cli/cli-here.ts';
import type { World } from '../worlds/world.ts';

/** The last line of a plan. */
export interface PlanSummaryLine {
  ok: boolean;
  counts: Record<string, Record<string, number>>;
  runs: StreamAccount[];
  failed: { source: string; error: string }[];
  guarded: SyncReport['guarded'];
  missing: SyncReport['missing'];
  quarantined: number;
  requests: number;
  lists: string[];
}

export interface Planned {
  exitCode: number | null;
  stderr: string;
  items: PlannedItem[];
  summary: PlanSummaryLine;
}

/** Runs `dpp-sync plan --json --exit-code`, and parses its lines. */
export async function planOf({ configFile }: Pick<World, 'configFile'>, ...args: string[]): Promise<Planned> {
  const result = await runHere(['plan', '--json', '--exit-code', ...args, '-c', configFile]);
  return { exitCode: result.exitCode, stderr: result.stderr, ...planIn(result.stdout) };
}

/** Parses the lines of a plan. */
export function planIn(text: string): Pick<Planned, 'items' | 'summary'> {
  const lines = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { type: string });
  const types = lines.map(({ type }) => type);
  if (types[0] !== 'plan' || types.at(-1) !== 'summary')
    throw new Error(`This is no whole plan: ${text.slice(0, 2000)}`);
  return {
    items: lines.slice(1, -1) as unknown as PlannedItem[],
    summary: lines.at(-1) as unknown as PlanSummaryLine,
  };
}
