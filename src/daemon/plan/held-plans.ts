// What people see of the plan of a held run. The file is beside the ledger, so anybody with access to the folder may have changed it.

import { type Stats, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { WaitingRun } from '../../domain/approval.ts';
import { fault } from '../../domain/faults.ts';
import { createPlanOutline, type PlanOutline } from '../../domain/plan-outline.ts';
import { Fault, fileReasonOf, messageOf, sentence } from '../../lib/errors.ts';
import { readPlanFile } from './plan-file.ts';

const AGAIN = 'Read the source again: the next run that is held makes a new plan.';

/** @param fileOf gives the file with the plan of the held run of a source */
export function createHeldPlans(fileOf: (source: string) => string) {
  /** The outlines by source, because a plan with a million items takes long to read. */
  const outlines = new Map<string, { of: string; outline: Promise<PlanOutline> }>();

  /** Changes with each change of the file. */
  function versionOf(file: string, { writes }: WaitingRun): string {
    const { ino, size, mtimeMs } = statOf(file);
    return `${writes.digest} ${ino} ${size} ${mtimeMs}`;
  }

  return {
    /** Keeps the outline of a plan whose file was just written. */
    keepOutline(run: WaitingRun, outline: PlanOutline): void {
      outlines.set(run.source, { of: versionOf(fileOf(run.source), run), outline: Promise.resolve(outline) });
    },
    /**
     * What a held run would do, with the first items of each action.
     *
     * @throws Fault `usage` if its plan is gone, or is not as it was written
     */
    async outline(run: WaitingRun): Promise<PlanOutline> {
      const file = fileOf(run.source);
      const of = versionOf(file, run);
      const known = outlines.get(run.source);
      if (known?.of === of) return known.outline;
      const outline = readOutline(file, run);
      outlines.set(run.source, { of, outline });
      try {
        return await outline;
      } catch (error) {
        if (outlines.get(run.source)?.of === of) outlines.delete(run.source);
        throw error;
      }
    },
    /**
     * The file of the plan as it is.
     *
     * @throws Fault `usage` if it is gone
     */
    async bytes(run: WaitingRun): Promise<AsyncIterable<Uint8Array>> {
      const file = fileOf(run.source);
      statOf(file);
      try {
        return (await open(file, 'r')).createReadStream();
      } catch (error) {
        throw unreadable(file, error);
      }
    },
  };
}

function statOf(file: string): Stats {
  let stats: Stats;
  try {
    stats = statSync(file);
  } catch (error) {
    throw unreadable(file, error);
  }
  // To open a named pipe takes until somebody writes to it.
  if (!stats.isFile()) throw fault('usage', `${file} is no file.`, { suggestion: AGAIN });
  return stats;
}

function unreadable(file: string, cause: unknown): Fault {
  return fault('usage', `${file} cannot be read: ${fileReasonOf(cause)}.`, { suggestion: AGAIN, cause });
}

async function readOutline(file: string, run: WaitingRun): Promise<PlanOutline> {
  const found = createPlanOutline();
  let digest: string;
  try {
    ({ digest } = (await readPlanFile(file, (item) => found.add(item))).writes);
  } catch (error) {
    // A file that was changed can also break the reader, as with a value that is nested too deep.
    const reason = error instanceof Fault ? error.message : `${file} cannot be read: ${sentence(messageOf(error))}`;
    throw fault('usage', reason, { suggestion: AGAIN, cause: error });
  }
  if (digest !== run.writes.digest) {
    throw fault('usage', `${file} is not the plan of run ${run.runId}.`, { suggestion: AGAIN });
  }
  return found.outline();
}
