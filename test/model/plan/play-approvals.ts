// Plays a script of runs with bounds. Each run is compared with a plan of its source: within the bounds it does what the plan says, and
// beyond them it does nothing until a person has approved it.

import type { PlannedItem } from '../../../src/domain/plan.ts';
import { canonicalJson, type JsonObject } from '../../../src/lib/json.ts';
import { namesIn, watchPlatform } from '../../support/plans/effects.ts';
import { planOf } from '../../support/plans/planned.ts';
import { differencesOf, isWrite } from './check-plan.ts';
import type { ApprovalReach } from './milestones.ts';
import { type Edit, edited, otherRow, type Setup } from './night.ts';
import { type Bounded, createPlanWorld, type PlanWorld } from './plan-world.ts';
import { killAt } from './turns.ts';

/** What a person does about a run that is held. */
export type Decision =
  | { how: 'leave' | 'refuse' | 'approve' }
  /** A row changes before the approval. */
  | { how: 'approve later'; row: number }
  /** The process that approves dies at this call, and another one syncs. */
  | { how: 'killed'; calls: number };

export interface BoundedScript {
  setup: Setup;
  bounded: Bounded;
  nights: { edits: Edit[]; decision: Decision }[];
}

const SOURCES = ['plm', 'erp'] as const;
type Source = (typeof SOURCES)[number];

/** Returns everything that a run has done wrongly. */
export async function playApprovals(
  { setup, bounded, nights }: BoundedScript,
  reach: ApprovalReach,
): Promise<string[]> {
  const parts = await createPlanWorld(setup, bounded);
  try {
    for (const [at, { edits, decision }] of nights.entries()) {
      parts.write(edited(parts.content(), edits));
      for (const source of SOURCES) {
        const problems = await playRun(source, { parts, bounded, decision, reach });
        if (problems.length > 0) return problems.map((problem) => `Night ${at + 1}, ${source}: ${problem}`);
      }
    }
    return [];
  } finally {
    await parts.world.remove();
  }
}

interface Playing {
  parts: PlanWorld;
  bounded: Bounded;
  decision: Decision;
  reach: ApprovalReach;
}

interface Shown {
  exitCode: number | null;
  held: string[];
}

/** Runs a source, with the excesses of the run that is held, if there is one. */
async function run({ dpp }: PlanWorld, ...args: string[]): Promise<Shown> {
  const { exitCode, stdout } = await dpp('sync', ...args, '--json');
  const { held, error } = JSON.parse(stdout) as {
    held: { source: string; excesses: { source: string; effect: string; count: number }[] }[];
    error?: { message: string };
  };
  if (error !== undefined) throw new Error(`The sync of ${args.join(' ')} failed: ${error.message}`);
  const texts = held.flatMap(({ excesses }) =>
    excesses.map(({ source, effect, count }) => `${source} ${effect} ${count}`),
  );
  return { exitCode, held: texts.toSorted() };
}

async function playRun(source: Source, { parts, bounded, decision, reach }: Playing): Promise<string[]> {
  const { world } = parts;
  const happened = watch(parts);
  const { items: plan, summary } = await planOf(world, source);
  if (summary.failed.length > 0) return [];
  const expected = excessesOf(plan, bounded);
  const shown = await run(parts, source);
  if (shown.held.join() !== expected.join())
    return [`The run exceeds [${expected.join()}] according to its plan, and it is held for [${shown.held.join()}].`];
  if (expected.length === 0) {
    if (plan.some(isWrite) && bounded[source] !== undefined) reach('a run within its bounds');
    return happened(plan);
  }
  reach('a run that is held');
  if (expected.some((text) => !text.startsWith(source))) reach('a run that exceeds the bounds of another source');
  const problems = nothingIn(happened, 'a held run');
  if (problems.length > 0) return problems;
  switch (decision.how) {
    case 'leave':
      return [];
    case 'refuse': {
      await parts.dpp('refuse', source);
      const again = await run(parts, source);
      reach('a run that is refused');
      if (again.held.length > 0) return [`A refused run waits for a person again: ${again.held.join()}.`];
      return nothingIn(happened, 'a refused run');
    }
    case 'approve': {
      const approved = await run(parts, source, '--accept', source);
      reach('a run that is approved');
      return approved.held.length > 0 ? [`An approved run is held: ${approved.held.join()}.`] : happened(plan);
    }
    case 'approve later':
      return await approveLater(source, plan, decision.row, { parts, bounded, reach, happened });
    case 'killed': {
      if (await killAt(parts, decision.calls, 'accept', source)) reach('a process was killed amid an approved run');
      const after = await run(parts, source);
      return after.held.length > 0
        ? [`A run that was approved before its process was killed is held: ${after.held.join()}.`]
        : happened(plan);
    }
  }
}

/** The row that changed is no part of the approval. */
async function approveLater(
  source: Source,
  seen: readonly PlannedItem[],
  row: number,
  { parts, bounded, reach, happened }: Omit<Playing, 'decision'> & { happened: Happened },
): Promise<string[]> {
  const edit = otherRow(parts.content(), row);
  if (edit !== null) parts.write(edited(parts.content(), [edit]));
  const { items: plan, summary } = await planOf(parts.world, source);
  if (summary.failed.length > 0) return [];
  const approved = new Set(seen.filter(isWrite).map(writeText));
  const expected = excessesOf(
    plan.filter((item) => !approved.has(writeText(item))),
    bounded,
  );
  const shown = await run(parts, source, '--accept', source);
  // The document has all that the run would do, with the writes that are approved.
  if (shown.held.length > 0 !== expected.length > 0)
    return [`Besides the approval the run exceeds [${expected.join()}], and it is held for [${shown.held.join()}].`];
  reach(expected.length > 0 ? 'a run that exceeds its approval' : 'an approved run with a later change');
  return expected.length > 0 ? nothingIn(happened, 'a run that exceeds its approval') : happened(plan);
}

/** What a write does, without the values before. */
const writeText = ({ action, kind, key, fields, refs = [] }: PlannedItem): string =>
  canonicalJson([
    action.replace('create_or_adopt', 'create'),
    kind,
    key,
    Object.entries(fields).map(([field, change]) => [field, change.new ?? null]),
    refs,
  ] as unknown as JsonObject);

/** The bounds that writes exceed, counted again: `SOURCE EFFECT COUNT`. */
function excessesOf(plan: readonly PlannedItem[], bounded: Bounded): string[] {
  const counts = new Map<string, number>();
  for (const { action, kind, source } of plan) {
    const effect =
      action === 'publish' || action === 'unpublish'
        ? action
        : kind === 'passport'
          ? null
          : action.startsWith('create')
            ? 'creates'
            : action === 'update'
              ? 'changes'
              : null;
    if (effect !== null) counts.set(`${source} ${effect}`, (counts.get(`${source} ${effect}`) ?? 0) + 1);
  }
  return Object.entries(bounded)
    .flatMap(([source, bounds]) =>
      Object.entries(bounds).flatMap(([effect, limit]) => {
        const count = counts.get(`${source} ${effect}`) ?? 0;
        return count > limit ? [`${source} ${effect} ${count}`] : [];
      }),
    )
    .toSorted();
}

/** Returns the differences between a plan and what has happened since the call of `watch`. */
type Happened = (plan: readonly PlannedItem[]) => string[];

function watch(parts: PlanWorld): Happened {
  const effects = watchPlatform(parts.world);
  const before = parts.ledger();
  return (plan) =>
    differencesOf({
      plan,
      effects: effects(),
      before,
      after: parts.ledger(),
      platformName: namesIn(parts.world),
      there: new Set(),
      hasTrouble: false,
      isWhole: true,
    });
}

const nothingIn = (happened: Happened, what: string): string[] =>
  happened([]).map((difference) => `After ${what}: ${difference}`);
