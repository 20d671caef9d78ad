// Decides whether a run may do what it would do. A run of which a bound counts something is rehearsed first. Within the bounds
// it then reads exactly the rows of its rehearsal. Beyond them it is held: nothing of it is stored, and its plan is kept.

import { open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type HeldRun, writeDigest } from '../../domain/approval.ts';
import { fault } from '../../domain/faults.ts';
import { createPlanOutline, type PlannedItem, type PlanOutline } from '../../domain/plan.ts';
import type { Reads } from '../../domain/ports/ledger/reads.ts';
import type { SourceReader } from '../../domain/ports/source.ts';
import { assertRoomForCopy } from '../../ledger/backup/private-copy.ts';
import { closeInOrder, messageOf } from '../../lib/errors.ts';
import { makeTemporaryFolder } from '../../lib/files.ts';
import { untilWritable } from '../../pipeline/until-writable.ts';
import type { Mappers } from '../sources/mappers.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';
import type { HeldOpening, RunOpening } from '../sources/pulls.ts';
import { addEffect, type Effects, excessesIn, type PlanTools } from './effects.ts';
import { type HeldRuns, heldMessage, heldPlanFile } from './held-runs.ts';
import type { PlanSummary } from './plan.ts';
import { readPlanFile } from './plan-file.ts';
import { createRecording, type Recording } from './recording.ts';
import { writePlan } from './write-plan.ts';

export interface RunGateOptions {
  config: RuntimeConfig;
  held: HeldRuns;
  reads: Pick<Reads, 'itemCounts' | 'passportCounts'>;
  mappers: Mappers;
  /** True if the config has another policy for passports than the one in use. */
  newPolicy: boolean;
  tools: PlanTools;
}

/** Opens the source of a run that a bound counts: the rows to read, or why the run is held. */
export async function openBounded(
  run: RunOpening,
  options: RunGateOptions,
  abort: AbortSignal,
): Promise<SourceReader | HeldOpening> {
  const { config, held } = options;
  const { source, wait } = run;
  // A run that is not tried would wait as well. The trial itself is not repeated, because it reads the whole source.
  await untilWritable(async () => assertRoomForCopy(config.ledger), wait, abort);
  const folder = await makeTemporaryFolder(dirname(config.ledger), 'plan');
  const closing = [() => rm(folder, { recursive: true, force: true })];
  const close = (): Promise<void> => closeInOrder(closing);
  try {
    const recording = await createRecording(folder);
    closing.unshift(() => recording.close());
    const file = join(folder, 'plan.jsonl');
    const known = held.of(source);
    const approved = await approvedWrites(options, known);
    const examined = await examine(run, { options, recording, file, approved }, abort);
    const excesses = await excessesIn(config, examined.unapproved, options.reads);
    if (excesses.length === 0) return { ...recording.replay(source), close };
    // What a part of an export would do is no plan that a person can decide about.
    const failure = recording.failure(source);
    if (failure !== null) throw failure.error;
    const { writes } = examined.summary;
    const entry = { source, at: options.tools.clock.now(), excesses, effects: examined.effects, writes };
    return {
      async keep(runId) {
        try {
          await held.keep({ ...entry, runId }, { file, outline: examined.outline }, known);
        } finally {
          await close();
        }
        const kept = held.of(source);
        return heldMessage(kept?.runId === runId ? kept : { excesses, decision: null });
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Examined {
  summary: PlanSummary;
  outline: PlanOutline;
  effects: Effects;
  /** The same without the writes that a person has approved. */
  unapproved: Effects;
}

/** Rehearses the run, writes its plan to a file, and counts what it would do. */
async function examine(
  { source, mapper }: RunOpening,
  {
    options: { config, mappers, newPolicy, tools },
    recording,
    file,
    approved,
  }: { options: RunGateOptions; recording: Recording; file: string; approved: ReadonlySet<bigint> },
  abort: AbortSignal,
): Promise<Examined> {
  const effects: Effects = {};
  const unapproved: Effects = {};
  const found = createPlanOutline();
  const request = { of: 'run', config: { ...config }, sources: [source] } as const;
  const handle = await open(file, 'wx', 0o600);
  const write = async (lines: readonly object[]): Promise<void> =>
    handle.writeFile(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  try {
    const onItems = async (items: readonly PlannedItem[]): Promise<void> => {
      for (const item of items) {
        const digest = writeDigest(item);
        found.add(item);
        addEffect(effects, item, source);
        if (digest === null || !approved.has(digest)) addEffect(unapproved, item, source);
      }
    };
    // The mapping is the one with which the run begins.
    const own: Mappers = {
      ...mappers,
      of: (id) => (id === source ? mapper : mappers.of(id)),
      refresh: () => Promise.resolve(mapper),
      // The values that people have given are in the mapping already.
      useValues: () => undefined,
    };
    const receivers = { write, onItems, onRead: () => undefined, rate: async () => null };
    const { summary } = await writePlan(request, { ...tools, ...receivers, recording, newPolicy, mappers: own }, abort);
    await handle.sync();
    return { summary, outline: found.outline(), effects, unapproved };
  } finally {
    await handle.close();
  }
}

/**
 * The writes of the held run that a person has approved. Empty if its plan cannot be read any more, or is not the one that the person
 * has seen: a process that ends while it keeps the plan of a later run leaves that one here. Then the run is held again.
 */
async function approvedWrites({ config, tools }: RunGateOptions, run: HeldRun | null): Promise<ReadonlySet<bigint>> {
  const digests = new Set<bigint>();
  if (run?.decision?.decided !== 'approved') return digests;
  const { source } = run;
  const file = heldPlanFile(config.ledger, source);
  try {
    const { writes } = await readPlanFile(file, (item) => {
      const digest = writeDigest(item);
      if (digest !== null) digests.add(digest);
    });
    if (writes.digest !== run.writes.digest) throw fault('usage', `${file} is the plan of another run.`);
    return digests;
  } catch (error) {
    const reason = messageOf(error);
    tools.log.error({ source, file, error: reason }, `The approved plan of ${source} cannot be read: ${reason}`);
    return new Set();
  }
}
