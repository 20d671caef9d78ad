import type { FileHandle } from 'node:fs/promises';
import type { Command } from 'commander';
import type { PlanSummary } from '../../daemon/plan/plan.ts';
import type { WritePlanTools } from '../../daemon/plan/write-plan.ts';
import type { RuntimeConfig } from '../../daemon/sources/open-source.ts';
import { SUBJECT_KINDS } from '../../domain/item.ts';
import { type FieldChange, PLANNED_ACTIONS, PLANNED_WRITES, type PlannedItem } from '../../domain/plan.ts';
import { kindWord, stateWord } from '../../domain/words/states.ts';
import { counted, formatCount } from '../../lib/text/amounts.ts';
import { assertSources } from '../../operations/named.ts';
import { showStatus } from '../../operations/status.ts';
import { wholeNumber } from '../arguments.ts';
import type { CommandContext, RunAction } from '../context.ts';
import { writeWholeFile } from '../files.ts';
import type { Output } from '../text/output.ts';
import { createReadProgress, type ReadProgress } from '../text/progress.ts';
import { formatDuration, printable, shorten } from '../text/style.ts';
import { countKind, formatValue } from '../text/words.ts';
import { runLines } from './sync.ts';

interface PlanFlags {
  out?: string;
  limit: number;
  stored?: boolean;
  exitCode?: boolean;
}

const EXAMPLES = `
Examples:
  $ dpp-sync plan                            what the next sync would do
  $ dpp-sync plan erp --out tonight.jsonl    all of it in a file, one JSON object on each line
  $ dpp-sync plan -c new.yaml --stored       what another config would change in the rows that are stored
  $ dpp-sync plan --exit-code --quiet        for scripts: 0 if there is nothing to do, 4 if there is

Nothing is sent, stored, archived or deleted, and the platform is not asked: the sync is rehearsed on a copy of the
ledger, which is removed. What only the platform knows is said: before its lists were read, a product is "create or
adopt", and whether a rule of the platform holds a passport back is not known.`;

export function addPlanCommand(program: Command, run: RunAction): void {
  program
    .command('plan')
    .argument('[source...]', 'ids of sources; without any id, all sources')
    .option('--out <file>', 'write every planned item to this file, one JSON object on each line')
    .option('--limit <n>', 'how many items of each action and kind are shown', wholeNumber(0, 10_000), 5)
    .option('--stored', 'read no source: what this config would change in the rows that are stored')
    .option('--exit-code', 'exit with 4 if there is something to do')
    .addHelpText('after', EXAMPLES)
    .action((sources: string[], flags: PlanFlags) => run((context) => planSync(sources, flags, context)));
}

async function planSync(sources: readonly string[], flags: PlanFlags, context: CommandContext): Promise<number> {
  const { output } = context;
  // Without a read of the sources, their passwords are not needed.
  const config = await context.loadConfig(flags.stored === true ? 'dialects' : 'sources');
  assertSources(config, sources);
  const made =
    flags.out === undefined
      ? await rehearse(sources, flags, { config, context, file: null })
      : (await writeWholeFile(flags.out, 0o600, (file) => rehearse(sources, flags, { config, context, file }))).written;
  if (!output.json) output.print(...planLines(made, flags, output));
  for (const { source, error } of made.summary.failed) output.error(`error: The run of ${source} would fail: ${error}`);
  return exitCodeOf(made.summary, flags);
}

/** A plan, with the first items of each action. */
interface Made {
  summary: PlanSummary;
  shown: PlannedItem[];
  /** How many requests a second the platform allows: as the daemon has learnt it, or as the config limits it; null if nothing is known. */
  rate: number | null;
}

/** Shows one progress after the other: that of each stream, and that of the planned items. */
function createStages(output: Output) {
  let present: { name: string; progress: ReadProgress } | null = null;
  return {
    show(name: string, count: number, place: Parameters<ReadProgress['show']>[1], unit: 'rows' | 'items'): void {
      if (present?.name !== name) {
        present?.progress.stop();
        present = { name, progress: createReadProgress(name, output, unit) };
      }
      present.progress.show(count, place);
    },
    stop: () => present?.progress.stop(),
  };
}

async function rehearse(
  sources: readonly string[],
  { limit, stored = false }: PlanFlags,
  { config, context, file }: { config: RuntimeConfig; context: CommandContext; file: FileHandle | null },
): Promise<Made> {
  const { output, secrets, clock } = context;
  const { smallestRate, writePlan } = await import('../../daemon/plan/write-plan.ts');
  const shown: PlannedItem[] = [];
  let planned = 0;
  const counts = new Map<string, number>();
  const progress = createStages(output);

  async function write(lines: readonly object[]): Promise<void> {
    await file?.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    if (output.json) for (const line of lines) await output.jsonLine(line);
  }

  async function onItems(items: readonly PlannedItem[]): Promise<void> {
    for (const item of items) {
      const group = `${item.action} ${item.kind}`;
      const count = (counts.get(group) ?? 0) + 1;
      counts.set(group, count);
      if (count <= limit) shown.push(item);
    }
    planned += items.length;
    progress.show('planned', planned, null, 'items');
  }

  const request = { of: stored ? ('config' as const) : ('sync' as const), config, sources };
  const tools: WritePlanTools = {
    secrets,
    clock,
    log: await context.log(),
    version: context.package.version,
    onRead: (stream, rows, place) => progress.show(stream, rows, place, 'rows'),
    onItems,
    write,
    async rate() {
      // The daemon that works on the ledger has learnt the rate.
      const status = await context.lookInDaemon(config, showStatus, {});
      return smallestRate(status?.requestsPerSecond?.allowed, config.target.maxRate);
    },
  };
  try {
    const { summary, rate } = await writePlan(request, tools, context.interruption());
    return { summary, shown, rate };
  } finally {
    progress.stop();
  }
}

function exitCodeOf(summary: PlanSummary, { exitCode = false }: PlanFlags): number {
  if (summary.failed.length > 0) return 3;
  return exitCode && writesOf(summary) + summary.unconfirmed > 0 ? 4 : 0;
}

function countOf({ counts }: PlanSummary, action: PlannedItem['action']): number {
  return Object.values(counts[action] ?? {}).reduce((sum, count) => sum + count, 0);
}

function writesOf(summary: PlanSummary): number {
  return PLANNED_WRITES.reduce((sum, action) => sum + countOf(summary, action), 0);
}

const TITLES: Record<PlannedItem['action'], string> = {
  create: 'create',
  create_or_adopt: 'create or adopt',
  update: 'change',
  prepare: 'prepare',
  publish: 'publish',
  unpublish: 'withdraw',
  differs: 'public passports that would show other data',
  blocked: 'not sent',
};
const MARKS: Record<PlannedItem['action'], string> = {
  create: '+',
  create_or_adopt: '+',
  update: '~',
  prepare: '+',
  publish: '+',
  unpublish: '-',
  differs: '~',
  blocked: '!',
};
const COLOURS = { '+': 'green', '~': 'yellow', '-': 'red', '!': 'red' } as const;

function planLines({ summary, shown, rate }: Made, { out, stored = false }: PlanFlags, output: Output): string[] {
  const { paint } = output;
  const lines = runLines(summary, output);
  const present = PLANNED_ACTIONS.filter((action) => countOf(summary, action) > 0);
  for (const action of present) {
    const ofKind = summary.counts[action] ?? {};
    const counts = SUBJECT_KINDS.flatMap((kind) => {
      const count = ofKind[kind];
      return count === undefined ? [] : [countKind(count, kind)];
    });
    lines.push('', `${paint('bold', TITLES[action])}  ${counts.join(', ')}`);
    const ofAction = shown.filter((one) => one.action === action);
    for (const item of ofAction) lines.push(...itemLines(item, output));
    const more = countOf(summary, action) - ofAction.length;
    if (more > 0) lines.push(`  … and ${formatCount(more)} more`);
  }
  const guards = summary.standing.guarded.map(
    ({ source, stream }) =>
      `${paint('yellow', 'held:')} The guard would hold ${source}/${stream}. \`dpp-sync status\` says more once a sync has read it.`,
  );
  return [...lines, '', ...guards, ...closing(summary, { out, stored, present: present.length, rate, paint })];
}

function closing(
  summary: PlanSummary,
  {
    out,
    stored,
    present,
    rate,
    paint,
  }: {
    out: string | undefined;
    stored: boolean;
    present: number;
    rate: number | null;
    paint: Output['paint'];
  },
): string[] {
  const who = stored ? 'This config' : 'A sync';
  const unknown = stored ? [] : unknownLines(summary);
  if (writesOf(summary) === 0) {
    if (unknown.length > 0) return ['A sync would send nothing of what is known.', ...unknown];
    return [paint('green', stored ? 'This config would change nothing.' : 'A sync would send nothing.')];
  }
  const { requests } = summary;
  const lists = summary.lists.map((kind) => `${kind}s`).join(' and ');
  const first = lists === '' ? '' : ` Before, it reads the platform's list of ${lists}, which decides what is created.`;
  const time =
    rate === null
      ? 'How long that takes depends on the rate that the platform allows, which is learnt while the sync sends.'
      : `At ${formatCount(rate)} requests a second that takes about ${formatDuration((requests / rate) * 1000)}.`;
  return [
    `${who} would send about ${counted(requests, 'request')}.${first}`,
    time,
    ...unknown,
    ...(out === undefined && present > 0
      ? ['To see every item, add --out FILE or --json.']
      : [`Every item is in ${out}.`]),
  ];
}

/** What a sync may do besides, which cannot be planned. */
function unknownLines({ failed, unconfirmed }: PlanSummary): string[] {
  const writes = counted(unconfirmed, 'write has', 'writes have');
  return [
    ...(unconfirmed === 0
      ? []
      : [
          `${writes} no answer yet. A sync asks the platform what became of them, and what follows from that is not planned.`,
        ]),
    ...(failed.length === 0
      ? []
      : [`What ${failed.map(({ source }) => source).join(' and ')} would change is not known.`]),
  ];
}

const VALUE_MAX = 60;
/** The whole reason is in the lines of `--json`. */
const REASON_MAX = 160;

function itemLines(item: PlannedItem, output: Output): string[] {
  const { action, kind, key, naturalKey, fields, refs = [] } = item;
  const { paint } = output;
  const mark = MARKS[action];
  const name = `${kindWord(kind)} ${printable(naturalKey ?? key)}`;
  const parts = refs.map(({ role, key: to }) => `${role} ${printable(to)}`).join(', ');
  const why = action === 'blocked' ? `  ${whyNot(item)}` : '';
  // The mark of a step of a passport says as much as its status.
  const shown = kind === 'passport' ? {} : fields;
  return [
    `  ${paint(COLOURS[mark as keyof typeof COLOURS], mark)} ${name}${parts === '' ? '' : paint('dim', `  ${parts}`)}${why}`,
    ...Object.entries(shown).map(([field, change]) => `      ${printable(field)}: ${changeText(change)}`),
  ];
}

function whyNot({ state, reason, waitsFor = [] }: PlannedItem): string {
  if (waitsFor.length > 0) {
    return `waits for ${waitsFor.map(({ kind, key }) => `${kindWord(kind)} ${printable(key)}`).join(' and ')}`;
  }
  return `${stateWord(state ?? '')}${reason ? `: ${shorten(printable(reason.message), REASON_MAX)}` : ''}`;
}

function changeText(change: FieldChange): string {
  const shownValue = (value: FieldChange['old']): string =>
    value === undefined ? '(none)' : shorten(printable(formatValue(value, VALUE_MAX)), VALUE_MAX);
  return change.old === undefined ? shownValue(change.new) : `${shownValue(change.old)} → ${shownValue(change.new)}`;
}
