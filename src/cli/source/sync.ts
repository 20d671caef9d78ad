import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { RuntimeConfig } from '../../daemon/sources/open-source.ts';
import { heldText } from '../../domain/approval.ts';
import { fault } from '../../domain/faults.ts';
import type { GuardedRead } from '../../domain/ports/guarded-intake.ts';
import { counted, formatCount } from '../../lib/text/amounts.ts';
import { exitCodeOf } from '../../observe/standing.ts';
import { assertSources } from '../../operations/named.ts';
import { syncSources } from '../../operations/runs.ts';
import type { Synced } from '../../operations/runtime.ts';
import { answered } from '../answers.ts';
import { collect, seconds } from '../arguments.ts';
import type { CommandContext, RunAction } from '../context.ts';
import { failureLines } from '../errors.ts';
import { attentionLines, decidedLines, missedLines, outcomeText } from '../text/attention.ts';
import { runShown } from '../text/progress.ts';
import { countCell, itemLines, passportLines, unpublishedLines } from '../text/standing.ts';
import { formatDuration, type Paint, printable } from '../text/style.ts';
import { formatTable, isWithin, type TableStyle } from '../text/table.ts';
import { countKind } from '../text/words.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync sync                        every source
  $ dpp-sync sync erp pim                these alone
  $ dpp-sync sync --json --wait 600      for scripts; waits up to ten minutes for an API that is out of reach
  $ dpp-sync sync --accept erp           accepts the guarded export, the held run and the adopted items of erp
  $ dpp-sync sync --plan tonight.jsonl   exactly what \`dpp-sync plan --out tonight.jsonl\` has shown, or nothing

It may be stopped at any time (Ctrl-C finishes work in progress, a second one ends at once) and run again:
nothing is lost and nothing is sent twice.`;

/** The option of the commands that wait for the API and the queue. */
export const WAIT = [
  '--wait <seconds>',
  'how long the API or the queue may stay unreachable, or ask to wait',
  seconds,
  60,
] as const;

export function addSyncCommand(program: Command, run: RunAction): void {
  program
    .command('sync')
    .argument('[source...]', 'ids of sources; without any id, all sources')
    .option(...WAIT)
    .addOption(
      new Option(
        '--accept <source>',
        'accept an export of this source that the guard holds, its held run, and the changes of its adopted items, as `status` shows them when the sync begins; may be repeated',
      ).argParser((value: string, before?: string[]) => collect(value, before)),
    )
    .option('--plan <file>', 'apply exactly this plan, or nothing if anything that it depends on has changed')
    .addHelpText('after', EXAMPLES)
    .action((sources: string[], { wait, accept = [], plan }: { wait: number; accept?: string[]; plan?: string }) =>
      run(async (context) => {
        const config = await context.loadConfig();
        assertSources(config, [...sources, ...accept]);
        assertSelected(sources, accept);
        if (plan !== undefined) assertPlanAlone(sources, accept);
        const ofPlan = plan === undefined ? {} : { plan: resolve(plan) };
        const asked = { sources, accept, waitMs: wait * 1000, ...ofPlan };
        const synced = await runShown(context, config, { command: 'sync', operation: syncSources }, asked);
        const exitCode = answered(context.output, { operation: syncSources, result: synced }, []);
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

/** @throws Fault `usage` */
function assertPlanAlone(sources: readonly string[], accept: readonly string[]): void {
  if (sources.length + accept.length === 0) return;
  throw fault('usage', '--plan names its sources itself, so it takes no other source and no --accept.', {
    suggestion: 'Leave them out, or make a plan of these sources alone: `dpp-sync plan SOURCE --out FILE`.',
  });
}

/** Prints the result of a sync for people. With `--quiet` it only prints lines about items that need a person. */
export function showReport({ output }: CommandContext, config: RuntimeConfig, report: Synced): void {
  if (output.quiet) output.print(...acceptedLines(report), ...attentionLines(report, report.attention, output.paint));
  else output.print(...reportLines(report, output), ...unpublishedLines(report.passports, config));
  if (report.fault === null) return;
  for (const line of failureLines(report.fault)) output.error(line);
  const left = Object.values(report.items).reduce((sum, { due = 0, sending = 0 }) => sum + due + sending, 0);
  if (left > 0) output.error(`  ${counted(left, 'delivery is', 'deliveries are')} left and will be sent next time.`);
}

const WARNINGS_MAX = 5;

/** The result of a sync, without the list of items that need a person. */
type Report = Omit<Synced, 'attention'>;

/** The columns of the table of runs. */
const RUN_COLUMNS = [
  { count: 'read', title: 'read', colour: null },
  { count: 'unchanged', title: 'unchanged', colour: null },
  { count: 'changed', title: 'changed', colour: null },
  { count: 'quarantined', title: 'with an error', colour: 'yellow' },
  { count: 'excluded', title: 'excluded', colour: null },
  { count: 'missing', title: 'missing', colour: 'yellow' },
] as const;

/** A table of the counts of each stream. In a narrow terminal each stream has a line of text. */
export function runLines({ runs }: Pick<Report, 'runs'>, style: TableStyle): string[] {
  if (runs.length === 0) return [];
  const right = { align: 'right' } as const;
  const rows = runs.map((account) => [
    `${account.source}/${account.stream}`,
    ...RUN_COLUMNS.map(({ count, colour }) => countCell(account[count], colour)),
  ]);
  const lines = formatTable(
    [{ title: 'stream', cut: 'middle' }, ...RUN_COLUMNS.map(({ title }) => ({ title, ...right }))],
    rows,
    style,
  );
  if (isWithin(lines, style)) return lines;
  return runs.map((account) => {
    const counts = RUN_COLUMNS.map(({ count, title }) => `${formatCount(account[count])} ${title}`);
    return `  ${account.source}/${account.stream}  ${counts.join(', ')}`;
  });
}

/**
 * The line about rows in quarantine that the table of runs does not count as rows with an error. An unchanged row counts as unchanged,
 * whether it stays in quarantine or a changed row has put it there.
 */
function quarantinedNowLines({ runs, quarantined }: Pick<Report, 'runs' | 'quarantined'>): string[] {
  const others = quarantined - runs.reduce((sum, account) => sum + account.quarantined, 0);
  if (runs.length === 0 || others <= 0) return [];
  const rows = counted(others, 'further row has', 'further rows have');
  return [`  ${rows} an error. The column counts only rows that are new or changed.`];
}

/**
 * The line about missing rows if no item needs a decision because of them, as after the correction of a key in the export.
 * The lines about missing items say what was done with items of these rows.
 */
function missingRowsLines({
  runs,
  missingOutcomes,
  guarded,
}: Pick<Report, 'runs' | 'missingOutcomes' | 'guarded'>): string[] {
  const count = runs.reduce((sum, account) => sum + account.missing, 0);
  if (count === 0 || guarded.length > 0) return [];
  const ignored = outcomeText(missingOutcomes, 'ignored');
  if (ignored === null && missingOutcomes.length > 0) return [];
  const rows = counted(
    count,
    'row of an earlier run is missing or has another key now',
    'rows of earlier runs are missing or have other keys now',
  );
  return [`  ${rows}. ${ignored === null ? 'No item is missing.' : `Missing items: ${ignored}.`}`];
}

/** Why rows that are the same in the export are counted as changed. */
function remappedLines({ remapped }: Pick<Report, 'remapped'>): string[] {
  return remapped.map(({ source, rows }) => {
    const which = rows === 1 ? 'its 1 stored row was' : `its ${formatCount(rows)} stored rows were`;
    return `  The mapping of ${source} has changed, so ${which} mapped again. Only items that became different are sent.`;
  });
}

function acceptedText({ missing, read, released, isOlder }: GuardedRead): string {
  if (released > 0) return `${counted(released, 'item')} that no record makes any more`;
  if (isOlder) {
    const lacks = missing === 0 ? '' : `, and lacks ${counted(missing, 'record')}`;
    return `an export that is older than the one that was read before${lacks}`;
  }
  return `an export with ${counted(read, 'row')} in which ${counted(missing, 'record is', 'records are')} missing`;
}

/** Lines about the exports that `--accept` has accepted, and the sources that had nothing to accept. */
function acceptedLines({ accepted }: Pick<Report, 'accepted'>): string[] {
  if (accepted === null) return [];
  const { sources, guarded, held, adopted } = accepted;
  return sources.flatMap((source) => {
    const reads = guarded.filter((one) => one.source === source);
    const changes = adopted.filter((one) => one.source === source);
    const runs = held.filter((one) => one.source === source);
    if (reads.length + runs.length + changes.length === 0)
      return [`No export, no run and no change of ${source} waits for a decision, so nothing was accepted.`];
    const lines = reads.map((read) => `Accepted of ${source}/${read.stream}: ${acceptedText(read)}.`);
    lines.push(...runs.map((run) => `Approved run ${run.runId} of ${source}: ${heldText(run)}.`));
    const counts = changes.map(({ kind, count }) => countKind(count, kind)).join(', ');
    if (changes.length > 0) {
      lines.push(`Accepted of ${source}: changes of items that were at the platform before: ${counts}.`);
    }
    return lines;
  });
}

/** The result of a sync, for people. */
function reportLines(report: Synced, style: TableStyle): string[] {
  const { paint } = style;
  const { items, requests, durationMs, warnings } = report;
  const notes = warnings
    .slice(0, WARNINGS_MAX)
    .map((warning) => `${paint('yellow', 'warning:')} ${printable(warning)}`);
  if (warnings.length > WARNINGS_MAX) notes.push(`  … and ${warnings.length - WARNINGS_MAX} more warnings`);
  const extra = [
    ...(requests.throttled > 0 ? [`${formatCount(requests.throttled)} throttled`] : []),
    ...(requests.retried > 0 ? [`${formatCount(requests.retried)} sent again`] : []),
  ];
  const detail = extra.length === 0 ? '' : ` (${extra.join(', ')})`;
  const sections = [
    acceptedLines(report),
    [...runLines(report, style), ...remappedLines(report), ...missingRowsLines(report), ...quarantinedNowLines(report)],
    itemLines(items, style),
    passportLines(report.passports, style),
    [...notes, ...missedLines(report.runs, paint)],
    [...attentionLines(report, report.attention, paint), ...decidedLines(report.missingOutcomes)],
    [`${counted(requests.sent, 'request')}${detail} in ${formatDuration(durationMs)}. ${decision(report, paint)}`],
  ];
  return sections.filter((lines) => lines.length > 0).flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));
}

function decision(report: Report, paint: Paint): string {
  const exitCode = exitCodeOf(report);
  if (exitCode === 0) return paint('green', 'All is delivered.');
  if (exitCode === 4) return paint('yellow', 'Finished, with something left to look at (exit code 4).');
  return paint('red', 'Not finished.');
}
