import { mkdirSync, renameSync, type Stats, statSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { passportRulesOf } from '../../config/loaded-config.ts';
import {
  type Decider,
  type Decision,
  decisionText,
  type HeldRun,
  heldText,
  type WaitingRun,
} from '../../domain/approval.ts';
import { fault } from '../../domain/faults.ts';
import type { PassportRules } from '../../domain/passport.ts';
import { createPlanOutline, type PlanOutline } from '../../domain/plan.ts';
import type { CareLedger, DaemonNotes } from '../../domain/ports/ledger/care-ledger.ts';
import type { IntakeLedger } from '../../domain/ports/ledger/intake-ledger.ts';
import type { LedgerViews } from '../../domain/ports/ledger/ledger-views.ts';
import { Fault, fileReasonOf, messageOf, sentence } from '../../lib/errors.ts';
import type { RuntimeConfig } from '../sources/open-source.ts';
import { readPlanFile } from './plan-file.ts';

/** The plans of held runs are in a folder beside the ledger. */
const folderOf = (ledger: string): string => `${ledger}.held`;

/** The file with the plan of the held run of a source. */
export const heldPlanFile = (ledger: string, source: string): string => join(folderOf(ledger), `${source}.jsonl`);

function folderFault(folder: string, run: WaitingRun, error: unknown): Fault {
  return fault(
    'ledger.unwritable',
    `The run of ${run.source} would make ${heldText(run)}, and its plan cannot be kept: ${folder} cannot be written: ${fileReasonOf(error)}.`,
    {
      path: 'ledger',
      suggestion: 'Nothing of the run is stored. Let dpp-sync write this folder, then read the source again.',
      cause: error,
    },
  );
}

/** Why a run is held, and what a person has decided about it. */
export function heldMessage(run: Pick<HeldRun, 'excesses' | 'decision'>): string {
  const what = `The run would have made ${heldText(run)}, so nothing of it was stored.`;
  return run.decision === null ? what : `${what} ${decisionText(run.decision)}`;
}

/**
 * True if a source has bounds. Then each run is bounded, because the items of a source also follow from the rows of others: by lookup
 * tables, by parts, and by items that several sources make.
 */
export const hasBounds = ({ sources }: Pick<RuntimeConfig, 'sources'>): boolean =>
  sources.some(({ approve }) => approve !== null);

/** The runs that are held because they exceed the bounds of their sources, at most one of each source. */
export function createHeldRuns({
  ledgerFile,
  ledger,
  note,
}: {
  ledgerFile: string;
  ledger: Pick<CareLedger, 'noteDaemon'> & Pick<IntakeLedger, 'decideHeldRun'>;
  /** What the ledger has of them. */
  note: DaemonNotes['held'] | null;
}) {
  const runs = new Map(Object.entries(note ?? {}));
  const plans = createHeldPlans((source) => heldPlanFile(ledgerFile, source));
  let storing: Promise<unknown> = Promise.resolve();

  /** Entries are stored one after the other, so that an older one never replaces a newer one. */
  async function inOrder(write: () => Promise<void>): Promise<void> {
    const next = storing.then(write);
    storing = next.catch(() => undefined);
    await next;
  }
  const store = () => inOrder(() => ledger.noteDaemon('held', runs.size === 0 ? null : Object.fromEntries(runs)));

  /** Nothing is awaited between the look at the held run and the decision, so a run that is held meanwhile is not meant. */
  async function decide(
    source: string,
    decided: Decision['decided'],
    { by, at, runs: seen }: Decider,
  ): Promise<HeldRun | null> {
    const run = runs.get(source);
    if (run === undefined || seen?.includes(run.runId) === false) return null;
    if (decided === 'refused' && run.decision !== null) return null;
    const decision = { decided, by, at };
    runs.set(source, { ...run, decision });
    const error = heldMessage({ ...run, decision });
    await inOrder(() => ledger.decideHeldRun({ held: Object.fromEntries(runs), runId: run.runId, error }));
    return run;
  }

  /** How a person has refused a run of the source that would do the same; null if nobody has. */
  function refusalOf({ source, writes }: Pick<WaitingRun, 'source' | 'writes'>): Decision | null {
    const former = runs.get(source);
    return former?.decision?.decided === 'refused' && former.writes.digest === writes.digest ? former.decision : null;
  }

  return {
    of: (source: string): HeldRun | null => runs.get(source) ?? null,
    /**
     * Keeps a run with its plan, in the place of an earlier one of the source. An earlier one that was approved after
     * this run began is not replaced, because the approval is for the next run.
     *
     * @param known the held run of the source that this run knew when it began; null if there was none
     */
    async keep(run: WaitingRun, plan: { file: string; outline: PlanOutline }, known: HeldRun | null): Promise<void> {
      const present = runs.get(run.source) ?? null;
      if (present?.decision?.decided === 'approved' && present !== known) return;
      // Nobody decides while the file is put in its place, because nothing is awaited.
      try {
        mkdirSync(folderOf(ledgerFile), { recursive: true, mode: 0o700 });
        renameSync(plan.file, heldPlanFile(ledgerFile, run.source));
      } catch (error) {
        throw folderFault(folderOf(ledgerFile), run, error);
      }
      plans.keepOutline(run, plan.outline);
      runs.set(run.source, { ...run, decision: refusalOf(run) });
      await store();
    },
    /** Call it when a run of the source is complete. */
    async end(source: string): Promise<void> {
      if (!runs.delete(source)) return;
      await store();
      await rm(heldPlanFile(ledgerFile, source), { force: true });
    },
    /** Approves the held run of a source. The next run may do what this one would have done. Null if no such run is held. */
    approve: (source: string, decider: Decider) => decide(source, 'approved', decider),
    /**
     * Refuses the held run of a source: nobody is asked again until a run would do something else. Null if no such run waits for a
     * decision.
     */
    refuse: (source: string, decider: Decider) => decide(source, 'refused', decider),
    outline: (run: WaitingRun) => plans.outline(run),
    bytes: (run: WaitingRun) => plans.bytes(run),
  };
}

export type HeldRuns = ReturnType<typeof createHeldRuns>;

// What people see of the plan of a held run. The file is beside the ledger, so anybody with access to the folder may have changed it.

const AGAIN = 'Read the source again: the next run that is held makes a new plan.';

/** @param fileOf gives the file with the plan of the held run of a source */
function createHeldPlans(fileOf: (source: string) => string) {
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

// With bounds, a changed policy for passports waits for the run or the reload that counts what it does: it could publish or withdraw
// many passports of rows that have not changed.

type Policy = DaemonNotes['policy'];

/** The part of the rules that decides about passports without a changed row. */
function policyOf({ isConfigured, init, publish, withdrawMissingOf }: PassportRules): Policy {
  return { isConfigured, init, publish, withdrawMissingOf: [...withdrawMissingOf] };
}

const isSame = (one: Policy, other: Policy): boolean => JSON.stringify(one) === JSON.stringify(other);

interface PolicyParts {
  config: RuntimeConfig;
  /** The rules in use. */
  rules: PassportRules;
  ledger: Pick<CareLedger, 'noteDaemon'>;
}

/** Lets a process begin with the policy that the last one has used, if the config has bounds. */
export async function keepPolicy({
  config,
  rules,
  ledger,
}: PolicyParts & { ledger: { views: LedgerViews } }): Promise<void> {
  const former = ledger.views.daemonNote('policy');
  if (former !== null && hasBounds(config)) Object.assign(rules, former);
  else if (former === null || !isSame(former, policyOf(rules))) await ledger.noteDaemon('policy', policyOf(rules));
}

/** True if the config has another policy than the one in use. */
export const policyWaits = ({ config, rules }: Pick<PolicyParts, 'config' | 'rules'>): boolean =>
  !isSame(policyOf(rules), policyOf(passportRulesOf(config)));

/** Uses the policy of the config. Call it after a run or a reload that has counted what it does. */
export async function usePolicy({ config, rules, ledger }: PolicyParts): Promise<void> {
  if (!policyWaits({ config, rules })) return;
  Object.assign(rules, passportRulesOf(config));
  await ledger.noteDaemon('policy', policyOf(rules));
}
