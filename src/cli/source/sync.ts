import { type Command, Option } from 'commander';
import type { RuntimeConfig } from '../../daemon/sources/open-source.ts';
import { fault } from '../../domain/faults.ts';
import { assertSources } from '../../operations/named.ts';
import { syncSources } from '../../operations/runs.ts';
import type { Synced } from '../../operations/runtime.ts';
import { answered } from '../answered.ts';
import { collect, seconds } from '../arguments.ts';
import type { CommandContext, RunAction } from '../context.ts';
import { failureLines } from '../errors.ts';
import { attentionLines } from '../text/attention.ts';
import { runShown } from '../text/progress.ts';
import { unpublishedLines } from '../text/standing.ts';
import { plural } from '../text/style.ts';
import { acceptedLines, reportLines } from './sync-report.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync sync                        every source
  $ dpp-sync sync erp pim                these alone
  $ dpp-sync sync --json --wait 600      for scripts; waits up to ten minutes for an API that is out of reach
  $ dpp-sync sync --accept erp           accepts the guarded export and the adopted items of erp

It may be stopped at any time (Ctrl-C finishes work in progress, a second one ends at once) and run again:
nothing is lost and nothing is sent twice.`;

export const WAIT_SECONDS = 60;

export function addSyncCommand(program: Command, run: RunAction): void {
  program
    .command('sync')
    .argument('[source...]', 'ids of sources; without any id, all sources')
    .option('--wait <seconds>', 'how long the API or the queue may be out of reach', seconds, WAIT_SECONDS)
    .addOption(
      new Option(
        '--accept <source>',
        'accept the guarded export of this source, and changes of its adopted items; may be repeated',
      ).argParser((value: string, before?: string[]) => collect(value, before)),
    )
    .addHelpText('after', EXAMPLES)
    .action((sources: string[], { wait, accept = [] }: { wait: number; accept?: string[] }) =>
      run(async (context) => {
        const config = await context.loadConfig();
        assertSources(config, [...sources, ...accept]);
        assertSelected(sources, accept);
        const asked = { sources, accept, waitMs: wait * 1000 };
        const synced = await runShown(context, config, { command: 'sync', operation: syncSources }, asked);
        const exitCode = answered(context.output, { operation: syncSources, asked, result: synced }, []);
        showReport(context, config, synced);
        return exitCode;
      }),
    );
}

/**
 * Checks that the sync includes the accepted sources, because it is the sync that uses the acceptance.
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

/** Prints the result of a sync for people. With `--quiet` it only prints lines about items that need a person. */
export function showReport({ output }: CommandContext, config: RuntimeConfig, report: Synced): void {
  if (output.quiet) output.print(...acceptedLines(report), ...attentionLines(report, report.attention, output.paint));
  else output.print(...reportLines(report, output), ...unpublishedLines(report.passports, config));
  if (report.fault === null) return;
  for (const line of failureLines(report.fault)) output.error(line);
  const left = Object.values(report.items).reduce((sum, { due = 0, sending = 0 }) => sum + due + sending, 0);
  if (left > 0) output.error(`  ${plural(left, 'delivery is', 'deliveries are')} left and will be sent next time.`);
}
