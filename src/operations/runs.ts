import { z } from 'zod';
import { fault } from '../domain/faults.ts';
import type { WorkOf } from '../domain/ports/deliveries.ts';
import { exitCodeOf } from '../observe/standing.ts';
import { Count, listOf, page, RunRow, Source, syncResult, worked } from './documents.ts';
import { assertSources } from './named.ts';
import { defineOperation, type Operation } from './operation.ts';
import { failureOf } from './outcome-fault.ts';
import { contactDocument, syncDocument } from './results.ts';
import type { LookContext, OperationContext, OperationRuntime, Synced, SyncRequest } from './runtime.ts';

/**
 * How long the API or the queue may be out of reach before an operation ends, in milliseconds. The default is a minute.
 */
export const WaitMs = z
  .number()
  .nonnegative()
  .default(60_000)
  .describe('How long the API or the queue may be out of reach, in milliseconds.');

const SyncAsked = z.strictObject({
  /** Source ids; an empty list stands for all. */
  sources: z.array(z.string()).default([]),
  /** The sources whose guarded exports a person accepts. */
  accept: z.array(z.string()).default([]),
  approve: z
    .array(z.number().int())
    .optional()
    .describe(
      'The numbers of the held runs that `accept` approves. Without it, it approves those that are held when the sync begins.',
    ),
  /** The absolute path of a plan. Then `sources` and `accept` are empty. */
  plan: z.string().optional(),
  waitMs: WaitMs,
});
export type SyncAsked = z.infer<typeof SyncAsked>;

/** Pulls, maps, delivers and publishes until all automatic work for the sources is done. */
export const syncSources: Operation<SyncAsked, Synced> = {
  name: 'sync',
  kind: 'work',
  tag: 'work',
  role: 'operator',
  summary: 'Pulls, maps, sends and publishes.',
  request: SyncAsked,
  overHttp: SyncAsked.omit({ plan: true }),
  result: syncResult(),
  async run(request, context) {
    assertSources(context.runtime.config, [...request.sources, ...request.accept]);
    return syncIn(context, request, { sources: selectedSources(context, request.sources) });
  },
  document: (synced) => ({ ...syncDocument(synced), ...contactDocument(synced.attention) }),
  exitCode: exitCodeOf,
};

/**
 * Syncs within an operation.
 *
 * @param the work for which the sync waits, in a process that also does other work
 */
export async function syncIn(
  { runtime, sync, abort, who, goesOn }: OperationContext,
  request: Omit<SyncRequest, 'abort' | 'of' | 'askedBy'>,
  of: WorkOf,
): Promise<Synced> {
  const report = await sync({ ...request, abort, askedBy: who, of: goesOn ? of : undefined });
  const attention = await runtime.reads.attention(request.sources);
  return { ...report, fault: report.fault === null ? null : failureOf(report.fault), attention };
}

/** The named sources; all sources of the config if none are named. */
export function selectedSources({ runtime }: OperationContext, named: readonly string[]): string[] {
  return named.length > 0 ? [...named] : runtime.config.sources.map(({ id }) => id);
}

/**
 * Call it after a manual resolution. Running workers then send the deliveries that became due, including those of
 * passports.
 */
export function goOn({ passports, engine }: OperationRuntime): void {
  passports.markDirty();
  engine.wake();
}

export const listRuns = defineOperation({
  name: 'list-runs',
  kind: 'look',
  tag: 'ledger',
  role: 'viewer',
  summary: 'Lists runs, the newest first.',
  at: 'GET /runs',
  request: z.strictObject({
    source: Source,
    stream: z.string().optional(),
    result: z.enum(['complete', 'failed', 'guarded', 'held', 'interrupted', 'running']).optional(),
    ...page,
  }),
  result: listOf(RunRow),
  run: ({ after, limit, ...filter }, { runtime: { reads } }: LookContext) => reads.runs(filter, { after, limit }),
});

export const showRun = defineOperation({
  name: 'show-run',
  kind: 'look',
  tag: 'ledger',
  role: 'viewer',
  summary: 'Shows one run and its counts.',
  at: 'GET /runs/:id',
  request: z.strictObject({ id: z.coerce.number().int() }),
  result: RunRow,
  absent: ({ id }) => `There is no run ${id} in the ledger.`,
  run: ({ id }, { runtime: { reads } }: LookContext) => reads.run(id),
});

export const refuseGuarded = defineOperation({
  name: 'refuse',
  kind: 'act',
  tag: 'work',
  role: 'operator',
  summary:
    'Refuses the export of a source that the guard holds, and its run that is held. What is there stays, and nobody is asked again until an export lacks more or a run would do something else.',
  at: 'POST /sources/:source/refuse',
  action: 'export.refuse',
  request: z.strictObject({ source: z.string().describe('The id of the source.') }),
  result: z.strictObject({
    source: z.string(),
    refused: z.array(
      z.strictObject({
        stream: z.string(),
        run: z.number().int().describe('The run that has read the export.'),
        missing: Count,
        released: Count,
      }),
    ),
    run: z.number().int().nullable().describe('The held run that is refused; null if none waited for a decision.'),
  }),
  async run({ source }, { runtime, who, clock }) {
    assertSources(runtime.config, [source]);
    const reads = await runtime.ledger.refuse({ source, by: who });
    const held = await runtime.held.refuse(source, { by: who, at: clock.now() });
    if (reads.length === 0 && held === null) {
      throw fault('usage', `No export and no run of ${source} waits for a decision, so nothing was refused.`, {
        suggestion: 'See what waits: dpp-sync status',
      });
    }
    const refused = reads.map(({ stream, runId, missing, released }) => ({ stream, run: runId, missing, released }));
    return { source, refused, run: held?.runId ?? null };
  },
  exitCode: () => 0,
  say: ({ source, refused, run }) => [
    ...refused.map(
      ({ stream }) =>
        `Refused the export of ${source}/${stream}: what was there stays. Nobody is asked again until an export lacks more.`,
    ),
    ...(run === null
      ? []
      : [
          `Refused run ${run} of ${source}: nothing of it was stored. Nobody is asked again until a run would do something else.`,
        ]),
  ],
  help: `
Examples:
  $ dpp-sync refuse erp                  keeps what is there of erp, and asks nobody again until an export lacks more or a run would do something else`,
});

export const stopRun = defineOperation({
  name: 'stop-run',
  kind: 'act',
  tag: 'work',
  role: 'operator',
  summary: 'Interrupts the run of a source between two pages. What it has read stays.',
  at: 'POST /sources/:source/stop',
  action: 'run.stop',
  request: z.strictObject({ source: z.string() }),
  result: z.strictObject({ stopped: z.boolean() }),
  async run({ source }, { runtime }) {
    if (!runtime.config.sources.some(({ id }) => id === source)) {
      throw fault('item.unknown', `The config has no source "${source}".`);
    }
    return { stopped: runtime.stopRun(source) };
  },
});

const PlanAsked = z.strictObject({
  /** Source ids; an empty list stands for all. */
  sources: z.array(z.string()).default([]),
});
export type PlanAsked = z.infer<typeof PlanAsked>;

/** The context of a plan. */
interface PlanContext extends Pick<OperationContext, 'abort' | 'bytes'> {
  runtime: Pick<OperationRuntime, 'config' | 'plan' | 'secrets'>;
}

/** The last line of a plan. */
interface PlanEnd {
  /** False if the run of a source would fail. */
  ok: boolean;
}

/** Plans the next sync, and writes the lines of the plan to the operation's `bytes`: one JSON object on each line. */
export const planSources: Operation<PlanAsked, PlanEnd, PlanContext> = {
  name: 'plan',
  kind: 'file',
  tag: 'work',
  role: 'viewer',
  summary: 'Plans the next sync: the lines of `plan --json`, each planned item on a line. Sends and stores nothing.',
  request: PlanAsked,
  result: worked(),
  async run({ sources }, { runtime, bytes, abort }) {
    assertSources(runtime.config, sources);
    const scrubbed = (_: string, member: unknown) =>
      typeof member === 'string' ? runtime.secrets.scrubValue(member) : member;
    const write = async (lines: readonly object[]): Promise<void> => {
      const text = lines.map((line) => `${JSON.stringify(line, scrubbed)}\n`).join('');
      await bytes.write(Buffer.from(text));
    };
    return runtime.plan(sources, write, abort);
  },
};
