import type { Command } from 'commander';
import type { LedgerConfig } from '../config/loaded-config.ts';
import { scheduleOf } from '../daemon/schedules/run-times.ts';
import { describeWait } from '../daemon/watches.ts';
import { formerSourceWarnings, refusedRunWarnings, runWarnings } from '../domain/attention.ts';
import type { ApiWait } from '../domain/delivery/outcome.ts';
import type { Attention, Deferred, RefusedWork } from '../domain/ports/ledger/ledger-standing.ts';
import type { RunView } from '../domain/ports/ledger/ledger-views.ts';
import { FULL_BYTES } from '../ledger/file/file.ts';
import { counted, formatCount } from '../lib/text/amounts.ts';
import { showStatus } from '../operations/status.ts';
import { answered } from './answers.ts';
import type { CommandContext, RunAction } from './context.ts';
import { attentionLines, countOf, decidedLines, missedLines } from './text/attention.ts';
import type { Output } from './text/output.ts';
import {
  careLines,
  deliveriesLines,
  importLines,
  itemLines,
  noLedgerText,
  passportLines,
  refusedLines,
  unpublishedLines,
} from './text/standing.ts';
import { formatBytes, formatDuration, formatTime, printable } from './text/style.ts';
import { formatTable } from './text/table.ts';

const EXAMPLES = `
Examples:
  $ dpp-sync status
  $ dpp-sync status --json | jq .items

The command only reads, so it may run beside a daemon or a sync. Exit code 4: items need a person or wait for other items,
records are quarantined, the guard holds an export, the last run of a source failed, items are not created because
a list of the platform cannot be read, or the API refuses what is due. Exit code 3: the queue cannot be reached.`;

export function addStatusCommand(program: Command, run: RunAction): void {
  program
    .command('status')
    .addHelpText('after', EXAMPLES)
    .action(() => run(status));
}

type Found = Awaited<ReturnType<typeof showStatus.run>>;

async function status(context: CommandContext): Promise<number> {
  const { output, clock, log } = context;
  const config = await context.loadConfig('ledger_and_queue');
  const found =
    (await context.lookInDaemon(config, showStatus, {})) ??
    (await context.withViews(config, (opened) =>
      showStatus.run(
        {},
        {
          runtime: opened ?? { config, reads: null, alerts: null },
          clock,
          queues: async () => opened?.queues(log) ?? null,
          schedule: scheduleOf(config, clock),
          daemon: null,
        },
      ),
    ));
  const lines = output.json ? [] : statusLines(found, config, { now: clock.now(), output });
  return answered(output, { operation: showStatus, result: found }, lines);
}

function waitLine(wait: ApiWait, now: number): string {
  const next =
    wait.askAgainAt > now
      ? `The API is asked again at ${formatTime(wait.askAgainAt)}`
      : 'The daemon or the next sync asks the API again';
  return `${printable(describeWait(wait, formatTime))} ${next}; everything stays due.`;
}

function statusLines(found: Found, config: LedgerConfig, { now, output }: { now: number; output: Output }): string[] {
  const { paint } = output;
  const { ledger, items, sources, refused, awaitingReadBack, apiWait, deferred } = found;
  const passports = passportLines(found.passports, output);
  const state = ledger.exists
    ? [...itemLines(items, output), '', ...(passports.length > 0 ? [...passports, ''] : [])]
    : [noLedgerText(config), ''];
  const rows = sources.map(({ source, lastRun, nextRunAt }) => [
    source,
    lastRun === null ? 'never' : formatTime(lastRun.startedAt),
    lastRun === null ? '' : resultOf(lastRun),
    nextRunAt === null ? 'on demand' : formatTime(nextRunAt),
  ]);
  const columns = [
    { title: 'source' },
    { title: 'last run', fixed: true },
    { title: 'result', max: 60 },
    { title: 'next', fixed: true },
  ];
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const isScheduled = sources.some(({ nextRunAt }) => nextRunAt !== null);
  const zoneLine = `times are in ${zone}${isScheduled ? '; next runs start while a daemon runs' : ''}`;
  const { freeBytes } = ledger;
  const underWay = Math.max(0, countOf(items, ['due', 'sending']) - refusedItems(refused));
  const lastRuns = sources.flatMap(({ lastRun }) => lastRun ?? []);
  const lastRead = lastRuns.flatMap(({ streams }) => streams);
  return [
    ...state,
    ...formatTable(columns, rows, output),
    `  ${paint('dim', zoneLine)}`,
    '',
    queueLine(found.queue),
    ...deliveriesLines(found.deliveries),
    ...leftLines(found.left),
    ...(freeBytes !== null && freeBytes < LITTLE_ROOM_BYTES ? [roomLine(freeBytes)] : []),
    ...part(careLines(found, config.backups !== null)),
    ...(apiWait === null ? [] : ['', waitLine(apiWait, now)]),
    ...(underWay > 0 ? ['', underWayLine(underWay)] : []),
    ...(awaitingReadBack.count > 0 ? ['', readBackLine(awaitingReadBack, now)] : []),
    ...(deferred === null ? [] : [deferredLine(deferred)]),
    ...importLines(found.imports, now),
    ...part([
      ...[...formerSourceWarnings(found), ...runWarnings(lastRead), ...refusedRunWarnings(lastRuns, found)].map(
        (text) => `${paint('yellow', 'warning:')} ${printable(text)}`,
      ),
      ...missedLines(lastRead, paint),
      ...refusedLines(refused, paint),
      ...attentionLines(found, { ...found, parts: found.unansweredParts }, paint),
      ...decidedLines(found.missingOutcomes),
    ]),
    ...part(unpublishedLines(found.passports, config)),
  ];
}

/** A part of the lines that is left out if it is empty. */
function part(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', ...lines];
}

/** How many items are due that the API refuses. Passports are not among the items. */
function refusedItems(refused: readonly RefusedWork[]): number {
  const ofItems = refused.filter(({ operation }) => !operation.startsWith('passport.'));
  return ofItems.reduce((sum, { count }) => sum + count, 0);
}

/** Less free space than this is reported. The ledger's log may take as much. */
const LITTLE_ROOM_BYTES = 64 * 1024 * 1024;

function roomLine(freeBytes: number): string {
  const left = freeBytes < FULL_BYTES ? 'is full' : `has ${formatBytes(freeBytes)} left`;
  return `Ledger: its disk ${left}. While the disk is full, nothing is read or sent. When the disk has room again, the work continues automatically.`;
}

/** What is still to be sent, with what is not staged yet. */
function leftLines({ soon, waiting, incomplete, unconfirmed, seconds }: Found['left']): string[] {
  const parts = [
    ...(waiting === 0 ? [] : [`${formatCount(waiting)} ${waiting === 1 ? 'waits' : 'wait'} for other items`]),
    ...(incomplete === 0
      ? []
      : [`${counted(incomplete, 'passport')} ${incomplete === 1 ? 'waits' : 'wait'} for a complete product`]),
    ...(unconfirmed === 0 ? [] : [`${formatCount(unconfirmed)} sent, no answer yet`]),
  ];
  if (soon === 0 && parts.length === 0) return [];
  const lasts = seconds === null || soon === 0 ? '' : `, about ${formatDuration(seconds * 1000)}`;
  return [`Left to send: ${[`${formatCount(soon)}${lasts}`, ...parts].join('; ')}`];
}

function underWayLine(count: number): string {
  const are = count === 1 ? 'is' : 'are';
  const them = count === 1 ? 'it' : 'them';
  return `${counted(count, 'item')} ${are} due. A running daemon or sync sends ${them}, or else the next sync does.`;
}

/** The line about items whose write has no clear answer so far, with the time of the next read-back. */
function readBackLine({ count, nextLookAt }: Attention['awaitingReadBack'], now: number): string {
  const what = count === 1 ? '1 item was sent, and' : `${formatCount(count)} items were sent, and`;
  const when = nextLookAt !== null && nextLookAt > now ? `, next at ${formatTime(nextLookAt)}` : '';
  return `${what} no answer shows whether ${count === 1 ? 'it' : 'they'} arrived. The daemon or the next sync looks at the platform${when}.`;
}

function deferredLine({ count, since, message }: Deferred): string {
  return `${counted(count, 'delivery', 'deliveries')} could not be sent since ${formatTime(since)}: ${printable(message)}`;
}

/** Why a run failed or is held is too long for a table. It is shown below. */
function resultOf({ result, startedAt, endedAt, streams }: RunView): string {
  if (result === 'failed' || result === 'held') return result;
  const read = streams.reduce((sum, account) => sum + account.read, 0);
  const took = endedAt === null ? '' : ` in ${formatDuration(endedAt - startedAt)}`;
  return `${result ?? 'running'}, ${formatCount(read)} read${took}`;
}

function queueLine({ kind, counts, paused, problem }: Found['queue']): string {
  if (problem !== null) return `Queue: ${printable(problem)}`;
  if (counts === null) return `Queue: ${kind}${kind === 'embedded' ? ', in the process that syncs' : ''}`;
  const shown = Object.entries(counts).map(
    ([name, { waiting, active, failed }]) => `${name} ${waiting} waiting, ${active} active, ${failed} failed`,
  );
  const stopped =
    paused.length === 0 ? '' : `. Paused in the dashboard: ${paused.join(', ')}. Resume the queues there.`;
  return `Queue: ${kind}; ${shown.join('; ')}${stopped}`;
}
