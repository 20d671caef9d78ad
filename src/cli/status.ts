import type { Command } from 'commander';
import { createSourcePauses } from '../daemon/schedules/source-pauses.ts';
import type { RuntimeConfig } from '../daemon/sources/open-source.ts';
import { nextRunsOf } from '../daemon/views/next-runs.ts';
import type { OpenedViews } from '../daemon/views/open-views.ts';
import { standingAsked } from '../daemon/views/standing.ts';
import { describeWait } from '../daemon/watches.ts';
import type { StageCounts } from '../delivery/delivery-window.ts';
import { runWarnings } from '../domain/attention-words.ts';
import { type ImportProofs, UNTRIED } from '../domain/delivery/import-proof.ts';
import type { ApiWait } from '../domain/delivery/outcome.ts';
import { ITEM_KINDS } from '../domain/item.ts';
import type { BackupStatus, ReloadStatus } from '../domain/ports/ledger/care-ledger.ts';
import type {
  Attention,
  Deferred,
  ItemCounts,
  RefusedWork,
  RunView,
  StreamAccount,
} from '../domain/ports/ledger/ledger-views.ts';
import type { QueueCounts, QueueName } from '../domain/ports/queues.ts';
import { FULL_BYTES, freeBytesBeside } from '../ledger/file/file.ts';
import { Fault } from '../lib/errors.ts';
import { type Cause, causesOf } from '../observe/causes.ts';
import { deliveryStages } from '../operations/daemon.ts';
import { contactDocument, guardedDocument, guardWarnings, isoOrNull } from '../operations/result-documents.ts';
import type { CommandContext, RunAction } from './context.ts';
import { attentionLines, countOf, type Standing } from './text/attention.ts';
import { importDocuments, importLines } from './text/import-lines.ts';
import { decidedLines, NO_CONTACT_ATTENTION } from './text/item-lines.ts';
import type { Output } from './text/output.ts';
import { missedLines } from './text/row-lines.ts';
import {
  careLines,
  deliveriesLines,
  itemLines,
  noLedgerText,
  passportLines,
  refusedLines,
  unpublishedLines,
} from './text/standing.ts';
import { formatBytes, formatCount, formatDuration, formatTime, plural, printable } from './text/style.ts';
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

interface Queue {
  kind: 'embedded' | 'redis';
  /** Null if the counts cannot be read: the embedded queue is in another process, or Redis is out of reach. */
  counts: Record<QueueName, QueueCounts> | null;
  /** The queues that a person has paused in the dashboard. */
  paused: QueueName[];
  /** Why there are no counts; null if this is not a problem. */
  problem: string | null;
}

interface SourceStatus {
  source: string;
  /** The end of the present pause; null if the source is not paused. */
  pausedUntil: number | null;
  lastRun: RunView | null;
  nextRunAt: number | null;
}

interface Found {
  now: number;
  /** Free space on the ledger's disk in bytes; null if it is not known. */
  freeBytes: number | null;
  standing: Standing;
  attention: Attention;
  /** The present wait of more than a minute that the API has asked for; null if there is none. */
  apiWait: ApiWait | null;
  /** Due deliveries whose last attempt found the API away; null if there are none. */
  deferred: Deferred | null;
  /** Whether bulk imports are used for new products, and for changed ones. */
  importProofs: ImportProofs;
  /** The notes of the last daemon. */
  notes: { reload: ReloadStatus | null; backup: BackupStatus | null; dueRuns: string[] };
  sources: SourceStatus[];
  queue: Queue;
  /** The deliveries by stage; null if no daemon answers. */
  deliveries: StageCounts | null;
}

async function status(context: CommandContext): Promise<number> {
  const { output } = context;
  const config = await context.loadConfig('ledger_and_queue');
  const now = context.clock.now();
  const next = nextRunsOf(config, now);
  const pausedUntil = createSourcePauses(config);
  const ids = config.sources.map(({ id }) => id);
  const sourcesWith = (lastRunOf: (source: string) => RunView | null): SourceStatus[] =>
    ids.map((source) => ({
      source,
      lastRun: lastRunOf(source),
      nextRunAt: next.get(source) ?? null,
      pausedUntil: pausedUntil(source, now),
    }));
  const opened = await context.withViews(config, async (ledger) => ledger && look(ledger));

  async function look(ledger: OpenedViews): Promise<Found> {
    const { reads } = ledger;
    const runs = await reads.sourceRuns(ids);
    return {
      now,
      freeBytes: freeBytesBeside(config.ledger),
      standing: await reads.standing(standingAsked(config)),
      attention: await reads.attention([]),
      apiWait: goingOn(await reads.apiWait(), now),
      deferred: await reads.deferred(),
      importProofs: await reads.importProofs(),
      sources: sourcesWith((source) => runs.find((run) => run.source === source)?.lastRun ?? null),
      notes: {
        reload: await reads.daemonNote('reload'),
        backup: await reads.daemonNote('backup'),
        dueRuns: Object.keys((await reads.daemonNote('dueRuns')) ?? {}),
      },
      queue: await queueOf(ledger, context, config),
      deliveries: await context.lookInDaemon(config, deliveryStages, {}),
    };
  }

  const found = opened ?? {
    now,
    freeBytes: null,
    standing: NOTHING,
    attention: {
      waitingFor: [],
      stuck: [],
      awaitingReadBack: { count: 0, nextLookAt: null },
      duplicates: { count: 0, whole: 0, examples: [] },
      ...NO_CONTACT_ATTENTION,
    },
    apiWait: null,
    deferred: null,
    importProofs: { creates: UNTRIED, changes: UNTRIED },
    sources: sourcesWith(() => null),
    notes: { reload: null, backup: null, dueRuns: [] },
    queue: { kind: config.queue.kind, counts: null, paused: [], problem: null },
    deliveries: null,
  };
  const causes = causesOf(atRest(found));
  const exitCode = exitCodeOf(found.queue, causes);
  if (output.json) output.document(statusDocument(found, config, { exitCode, causes, exists: opened !== null }));
  else printStatus(found, config, opened !== null, output);
  return exitCode;
}

/** No delivery is sent without the queue, so an unreachable queue decides the exit code first. */
function exitCodeOf({ problem }: Queue, causes: readonly Cause[]): number {
  if (problem !== null) return 3;
  return causes.length > 0 ? 4 : 0;
}

/**
 * The wait that may still last. The ledger keeps the last wait, but a wait without an end is out of date if no process
 * asks the API any more.
 */
function goingOn(wait: ApiWait | null, now: number): ApiWait | null {
  return wait !== null && now < (wait.until ?? wait.askAgainAt + OLD_NEWS_MS) ? wait : null;
}

const OLD_NEWS_MS = 60_000;

function waitLine(wait: ApiWait, now: number): string {
  const next =
    wait.askAgainAt > now
      ? `The API is asked again at ${formatTime(wait.askAgainAt)}`
      : 'The daemon or the next sync asks the API again';
  return `${printable(describeWait(wait, formatTime))} ${next}; everything stays due.`;
}

async function queueOf(ledger: OpenedViews, { log }: CommandContext, config: RuntimeConfig): Promise<Queue> {
  const { kind } = config.queue;
  try {
    const found = await ledger.queues(log);
    return { kind, counts: found?.counts ?? null, paused: found?.paused ?? [], problem: null };
  } catch (error) {
    // The ledger's counts are shown even without the queue.
    if (error instanceof Fault) return { kind, counts: null, paused: [], problem: error.message };
    throw error;
  }
}

const NOTHING: Standing = {
  items: { product: {}, material: {}, bom_item: {} },
  passports: {},
  quarantined: 0,
  guarded: [],
  failedRuns: [],
  suspended: [],
  otherForms: [],
  refused: [],
  missing: {},
  missingOutcomes: [],
  paddedKeys: [],
};

/** Leaves out items that need no person, because beside a daemon there are always some. */
function atRest({ standing, attention }: Found): Standing {
  const items: ItemCounts = { product: {}, material: {}, bom_item: {} };
  let underWay = attention.awaitingReadBack.count;
  for (const kind of ITEM_KINDS) {
    const { due: _, sending: __, waiting = 0, in_doubt: inDoubt = 0, ...counts } = standing.items[kind];
    const looked = Math.min(inDoubt, underWay);
    underWay -= looked;
    items[kind] = { ...counts, in_doubt: inDoubt - looked, waiting: attention.waitingFor.length > 0 ? waiting : 0 };
  }
  return { ...standing, items };
}

function statusDocument(
  found: Found,
  config: RuntimeConfig,
  facts: { exitCode: number; causes: Cause[]; exists: boolean },
): object {
  const { standing, attention, sources, queue, deliveries } = found;
  return {
    ok: facts.exitCode === 0,
    ledger: { file: config.ledger, exists: facts.exists, freeBytes: found.freeBytes },
    items: standing.items,
    passports: standing.passports,
    quarantined: standing.quarantined,
    // As in the document of a sync, `warnings` also has the messages of the guard.
    warnings: [...guardWarnings(standing.guarded), ...runWarnings(lastReadOf(found))],
    guarded: standing.guarded.map(guardedDocument),
    missing: standing.missing,
    missingOutcomes: standing.missingOutcomes,
    paddedKeys: standing.paddedKeys,
    suspended: standing.suspended,
    refused: standing.refused,
    causes: facts.causes,
    waitingFor: attention.waitingFor,
    duplicates: attention.duplicates,
    otherForms: standing.otherForms,
    ...contactDocument(attention),
    apiWait: found.apiWait && {
      since: isoOrNull(found.apiWait.since),
      until: isoOrNull(found.apiWait.until),
      askAgainAt: isoOrNull(found.apiWait.askAgainAt),
      message: found.apiWait.message,
    },
    deferred: found.deferred && { ...found.deferred, since: isoOrNull(found.deferred.since) },
    imports: importDocuments(found.importProofs, config),
    queue: { kind: queue.kind, counts: queue.counts, paused: queue.paused, problem: queue.problem },
    deliveries: deliveries && { ...deliveries, inFlightSince: isoOrNull(deliveries.inFlightSince) },
    ...careDocument(found.notes),
    sources: sources.map(({ source, lastRun, nextRunAt, pausedUntil }) => ({
      source,
      lastRun: lastRun && {
        trigger: lastRun.trigger,
        startedAt: isoOrNull(lastRun.startedAt),
        endedAt: isoOrNull(lastRun.endedAt),
        result: lastRun.result,
        error: lastRun.error,
        streams: lastRun.streams,
      },
      nextRunAt: isoOrNull(nextRunAt),
      due: found.notes.dueRuns.includes(source),
      pausedUntil: isoOrNull(pausedUntil),
    })),
  };
}

function careDocument({ reload, backup }: Found['notes']) {
  return {
    reload: reload && { ...reload, at: isoOrNull(reload.at) },
    backup: backup && {
      ...backup,
      at: isoOrNull(backup.at),
      last: backup.last && { ...backup.last, madeAt: isoOrNull(backup.last.madeAt) },
    },
  };
}

function printStatus(found: Found, config: RuntimeConfig, exists: boolean, output: Output): void {
  const { paint } = output;
  if (!exists) {
    output.print(noLedgerText(config), '');
  } else {
    output.print(...itemLines(found.standing.items, output), '');
    const passports = passportLines(found.standing.passports, output);
    if (passports.length > 0) output.print(...passports, '');
  }
  const rows = found.sources.map(({ source, lastRun, nextRunAt }) => [
    source,
    lastRun === null ? 'never' : formatTime(lastRun.startedAt),
    lastRun === null ? '' : resultOf(lastRun),
    nextRunAt === null ? 'on demand' : formatTime(nextRunAt),
  ]);
  output.print(
    ...formatTable(
      [
        { title: 'source' },
        { title: 'last run', fixed: true },
        { title: 'result', max: 60 },
        { title: 'next', fixed: true },
      ],
      rows,
      output,
    ),
  );
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const isScheduled = found.sources.some(({ nextRunAt }) => nextRunAt !== null);
  const zoneLine = `times are in ${zone}${isScheduled ? '; next runs start while a daemon runs' : ''}`;
  output.print(`  ${paint('dim', zoneLine)}`, '', queueLine(found.queue), ...deliveriesLines(found.deliveries));
  if (found.freeBytes !== null && found.freeBytes < LITTLE_ROOM_BYTES) output.print(roomLine(found.freeBytes));
  const care = careLines(found.notes, found.sources, config.backups !== null);
  if (care.length > 0) output.print('', ...care);
  const { refused } = found.standing;
  const underWay = Math.max(0, countOf(found.standing.items, ['due', 'sending']) - refusedItems(refused));
  const { awaitingReadBack } = found.attention;
  if (found.apiWait !== null) output.print('', waitLine(found.apiWait, found.now));
  if (underWay > 0) output.print('', underWayLine(underWay));
  if (awaitingReadBack.count > 0) output.print('', readBackLine(awaitingReadBack, found.now));
  if (found.deferred !== null) output.print(deferredLine(found.deferred));
  output.print(...importLines(found.importProofs, config, found.now));
  const lastRead = lastReadOf(found);
  const lines = [
    ...runWarnings(lastRead).map((text) => `${paint('yellow', 'warning:')} ${printable(text)}`),
    ...missedLines(lastRead, paint),
    ...refusedLines(refused, paint),
    ...attentionLines(found.standing, found.attention, paint),
    ...decidedLines(found.standing.missingOutcomes),
  ];
  if (lines.length > 0) output.print('', ...lines);
  const unpublished = unpublishedLines(found.standing.passports, config);
  if (unpublished.length > 0) output.print('', ...unpublished);
}

/** The accounts of the last run of each source. */
function lastReadOf({ sources }: Pick<Found, 'sources'>): StreamAccount[] {
  return sources.flatMap(({ lastRun }) => lastRun?.streams ?? []);
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

function underWayLine(count: number): string {
  const are = count === 1 ? 'is' : 'are';
  const them = count === 1 ? 'it' : 'them';
  return `${plural(count, 'item')} ${are} due. A running daemon or sync sends ${them}, or else the next sync does.`;
}

/** The line about items whose write has no clear answer so far, with the time of the next read-back. */
function readBackLine({ count, nextLookAt }: Attention['awaitingReadBack'], now: number): string {
  const what = count === 1 ? '1 item was sent, and' : `${formatCount(count)} items were sent, and`;
  const when = nextLookAt !== null && nextLookAt > now ? `, next at ${formatTime(nextLookAt)}` : '';
  return `${what} no answer shows whether ${count === 1 ? 'it' : 'they'} arrived. The daemon or the next sync looks at the platform${when}.`;
}

function deferredLine({ count, since, message }: Deferred): string {
  return `${plural(count, 'delivery', 'deliveries')} could not be sent since ${formatTime(since)}: ${printable(message)}`;
}

/** The error of a failed run is too long for a table. It is shown below. */
function resultOf({ result, startedAt, endedAt, streams }: RunView): string {
  if (result === 'failed') return 'failed';
  const read = streams.reduce((sum, account) => sum + account.read, 0);
  const took = endedAt === null ? '' : ` in ${formatDuration(endedAt - startedAt)}`;
  return `${result ?? 'running'}, ${formatCount(read)} read${took}`;
}

function queueLine({ kind, counts, paused, problem }: Queue): string {
  if (problem !== null) return `Queue: ${printable(problem)}`;
  if (counts === null) return `Queue: ${kind}${kind === 'embedded' ? ', in the process that syncs' : ''}`;
  const shown = Object.entries(counts).map(
    ([name, { waiting, active, failed }]) => `${name} ${waiting} waiting, ${active} active, ${failed} failed`,
  );
  const stopped =
    paused.length === 0 ? '' : `. Paused in the dashboard: ${paused.join(', ')}. Resume the queues there.`;
  return `Queue: ${kind}; ${shown.join('; ')}${stopped}`;
}
