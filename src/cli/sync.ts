import { type Command, Option } from 'commander';
import type { RuntimeConfig } from '../daemon/open-source.ts';
import type { Runtime } from '../daemon/runtime.ts';
import { standingOf } from '../daemon/standing.ts';
import { exitCodeOf, type SyncReport, sync } from '../daemon/sync.ts';
import { fault } from '../domain/faults.ts';
import { createRequestCounts } from '../observe/request-counts.ts';
import { assertSources, collect, seconds } from './arguments.ts';
import { type Attention, attentionLines, attentionOf } from './attention.ts';
import type { CommandContext, RunAction } from './context.ts';
import { failureLines, failureOf } from './errors.ts';
import { createProgress } from './progress.ts';
import { contactDocument } from './standing.ts';
import { plural } from './style.ts';
import { acceptedLines, reportLines, syncDocument } from './sync-report.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync sync                        every source
  $ dpp-sync sync erp pim                these alone
  $ dpp-sync sync --json --wait 600      for scripts; gives an API that is away ten minutes to come back
  $ dpp-sync sync --accept erp           what is held of erp is right: a small export, changes of items that were there before

It may be stopped at any time (Ctrl-C finishes what is under way, a second one ends at once) and run again:
nothing is lost and nothing is sent twice.`;

export const WAIT_SECONDS = 60;

export function addSyncCommand(program: Command, run: RunAction): void {
  program
    .command('sync')
    .description('pull, map, push and publish until nothing is left that could go on by itself')
    .argument('[source...]', 'ids of sources; all of them without any')
    .option('--wait <seconds>', 'how long the API or the queue may be out of reach', seconds, WAIT_SECONDS)
    .addOption(
      new Option(
        '--accept <source>',
        'accept what status shows as held of this source, or as changes of what was there before; may be repeated',
      ).argParser((value: string, before?: string[]) => collect(value, before)),
    )
    .addHelpText('after', EXAMPLES)
    .action((sources: string[], { wait, accept = [] }: { wait: number; accept?: string[] }) =>
      run(async (context) => {
        const config = await context.loadConfig();
        assertSources(config, [...sources, ...accept]);
        assertSelected(sources, accept);
        const { report, attention } = await syncWith(context, config, { command: 'sync', sources }, (runtime, abort) =>
          sync(runtime, { sources, accept, waitMs: wait * 1000, abort }, context.clock),
        );
        if (context.output.json) {
          context.output.document({ ...syncDocument(report), ...contactDocument(attention) });
        }
        tellReport(context, report, attention);
        return exitCodeOf(report);
      }),
    );
}

/**
 * What is accepted is used by the run that follows, so its source has to be among those that are synced.
 *
 * @throws Fault `usage`
 */
function assertSelected(sources: readonly string[], accept: readonly string[]): void {
  const other = sources.length === 0 ? undefined : accept.find((source) => !sources.includes(source));
  if (other === undefined) return;
  throw fault('usage', `--accept names ${other}, which is not among the sources of this sync.`, {
    suggestion: 'Name it as a source too, or name none to sync all of them.',
  });
}

/**
 * Opens everything, works with it under a progress display, and closes everything. After an interruption what is under
 * way is drained by the closing, so items and requests are counted after it.
 *
 * @param sources whose items and records count; empty for all
 */
export async function syncWith(
  context: CommandContext,
  config: RuntimeConfig,
  { command, sources }: { command: string; sources: readonly string[] },
  work: (runtime: Runtime, abort: AbortSignal) => Promise<SyncReport>,
): Promise<{ report: SyncReport; attention: Attention }> {
  const abort = context.interruption();
  const runtime = await context.openRuntime(config, command);
  const progress = createProgress({ output: context.output, views: runtime.views, clock: context.clock });
  const requests = createRequestCounts();
  runtime.bus.subscribe(requests.observe);
  const unsubscribe = runtime.bus.subscribe(progress.observe);
  let report: SyncReport;
  let attention: Attention;
  try {
    report = await work(runtime, abort);
    attention = attentionOf(runtime.views, sources);
  } finally {
    unsubscribe();
    progress.stop();
    await runtime.close();
  }
  if (!abort.aborted) return { report, attention };
  const present = { ...report, requests: requests.counts };
  return context.withViews(config, async (opened) => {
    if (opened === null) return { report: present, attention };
    const { views } = opened;
    const selected = sources.length > 0 ? sources : config.sources.map(({ id }) => id);
    const standing = { items: views.itemCounts(sources), ...standingOf(views, config, selected) };
    return { report: { ...present, ...standing }, attention: attentionOf(views, sources) };
  });
}

/** Tells people what a sync did. With `--quiet` only what needs them. */
export function tellReport(context: CommandContext, report: SyncReport, attention: Attention): void {
  const { output } = context;
  if (output.quiet) output.print(...acceptedLines(report), ...attentionLines(report, attention, output.paint));
  else output.print(...reportLines(report, attention, output.paint));
  if (report.fault === null) return;
  for (const line of failureLines(failureOf(report.fault))) output.error(line);
  const left = Object.values(report.items).reduce((sum, { due = 0, sending = 0 }) => sum + due + sending, 0);
  if (left > 0) output.error(`  ${plural(left, 'delivery is', 'deliveries are')} left and will be sent next time.`);
}
