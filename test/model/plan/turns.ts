// What happens after a plan: a sync, a sync of the plan, and what may come between.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Runtime } from '../../../src/daemon/runtime.ts';
import { sync } from '../../../src/daemon/sync.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import type { SyncReport } from '../../../src/operations/runtime.ts';
import type { Reach } from './milestones.ts';
import { edited, otherRow, type Setup, type Turn } from './night.ts';
import { type PlanWorld, streamOf } from './plan-world.ts';

const CHILD = join(import.meta.dirname, 'killed-apply-child.ts');
const WAIT_MS = 10_000;

/** What has become of a plan. */
export interface Taken {
  /** False if not all of the plan was done. */
  isWhole: boolean;
  /** The report of the sync that read the same rows as the plan; null if there is none. */
  report: SyncReport | null;
}

/** Lets happen what comes after a plan that fits. */
export async function take(turn: Turn, parts: PlanWorld, reach: Reach): Promise<Taken> {
  switch (turn.how) {
    case 'sync':
      return { isWhole: true, report: await parts.world.sync() };
    case 'apply':
      return { isWhole: true, report: await apply(parts, () => undefined) };
    case 'apply amid a change': {
      const report = await apply(parts, () => {
        changeRow(parts, turn.row);
        reach('a row changed while a plan was applied');
      });
      return { isWhole: true, report };
    }
    case 'killed':
      if (await killAt(parts, turn.calls, 'plan', parts.planFile))
        reach('a process was killed while it applied a plan');
      await parts.world.sync();
      return { isWhole: true, report: null };
    case 'stopped': {
      const isStopped = await stopSync(parts, turn.events);
      if (isStopped) reach('a sync was stopped');
      return { isWhole: !isStopped, report: null };
    }
    case 'stale':
      throw new Error('A stale plan is not applied.');
  }
}

async function opened<T>({ world }: PlanWorld, work: (runtime: Runtime) => Promise<T>): Promise<T> {
  await using runtime = await world.open();
  return await work(runtime);
}

/** @param meanwhile called when the rows of the plan were read, and before they are applied */
function apply(parts: PlanWorld, meanwhile: () => void): Promise<SyncReport> {
  return opened(parts, async (runtime) => {
    async function preparePlanned(...given: Parameters<Runtime['preparePlanned']>) {
      const prepared = await runtime.preparePlanned(...given);
      meanwhile();
      return prepared;
    }
    const request = { sources: [], plan: parts.planFile, waitMs: WAIT_MS, abort: new AbortController().signal };
    return await sync({ ...runtime, preparePlanned }, request, systemClock);
  });
}

/** Applies a plan, or approves a held run, in a process that kills itself. Returns whether it got as far as the call. */
export async function killAt(
  { world }: PlanWorld,
  calls: number,
  ...asked: ['plan', file: string] | ['accept', source: string]
): Promise<boolean> {
  const child = spawn(process.execPath, [CHILD, world.configFile, String(calls), ...asked], { stdio: 'inherit' });
  const [, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return signal === 'SIGKILL';
}

/** Syncs until this number of events has happened. Returns false if the sync was done before. */
async function stopSync(parts: PlanWorld, events: number): Promise<boolean> {
  const stop = new AbortController();
  let left = events;
  await opened(parts, (runtime) => {
    runtime.bus.subscribe(() => {
      left -= 1;
      if (left < 0) stop.abort();
    });
    return sync(runtime, { sources: [], waitMs: WAIT_MS, abort: stop.signal }, systemClock);
  });
  return stop.signal.aborted;
}

/** Changes a row of the export. Returns the part that has the row; null if there is no row. */
function changeRow(parts: PlanWorld, row: number) {
  const edit = otherRow(parts.content(), row);
  if (edit !== null) parts.write(edited(parts.content(), [edit]));
  return edit?.part ?? null;
}

/** Changes a row, and applies the plan. Returns what is wrong unless the plan is refused. */
export async function goStale(row: number, parts: PlanWorld, setup: Setup): Promise<string[]> {
  const part = changeRow(parts, row);
  return part === null ? [] : await refuse(`the rows of ${streamOf(part, setup)} have changed`, parts);
}

/** Applies the plan. Returns what is wrong unless it is refused for this reason and without an effect. */
export async function refuse(reason: string, { world, planFile, ledger, dpp }: PlanWorld): Promise<string[]> {
  const before = JSON.stringify([...ledger().items]);
  world.requests();
  const { exitCode, stdout } = await dpp('sync', '--plan', planFile, '--json');
  const { error } = JSON.parse(stdout) as { error?: { code: string; message: string } };
  const isRefused = exitCode === 2 && error?.code === 'plan.stale' && error.message.includes(reason);
  return [
    ...(isRefused ? [] : [`The plan should be refused because ${reason}: ${exitCode} ${stdout}`]),
    ...(Object.keys(world.requests()).length === 0 ? [] : ['A plan that is refused has asked the platform.']),
    ...(JSON.stringify([...ledger().items]) === before ? [] : ['A plan that is refused has changed the ledger.']),
  ];
}
