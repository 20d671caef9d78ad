import type { Command } from 'commander';
import {
  createPreviewCounter,
  createPreviewFilter,
  type Preview,
  type PreviewCounts,
  type PreviewedRecord,
  type PreviewFilter,
} from '../../daemon/preview/preview.ts';
import type { ConfiguredSource, RuntimeConfig } from '../../daemon/sources/open-source.ts';
import { fault } from '../../domain/faults.ts';
import { formatPlace } from '../../domain/issue.ts';
import { ITEM_KINDS, type ItemRef } from '../../domain/item.ts';
import { type MappingDefinition, whyExcluded } from '../../domain/mapping.ts';
import { kindWord } from '../../domain/words/states.ts';
import { counted, formatCount } from '../../lib/text/amounts.ts';
import { suggest } from '../../lib/text/suggest.ts';
import { assertSources } from '../../operations/named.ts';
import { wholeNumber } from '../arguments.ts';
import type { CommandContext, RunAction } from '../context.ts';
import { fieldLines, repeatedRows } from '../text/attention.ts';
import type { Output } from '../text/output.ts';
import { createReadProgress } from '../text/progress.ts';
import { printable, shorten, wrap } from '../text/style.ts';
import { countKind, formatIssue, formatValue } from '../text/words.ts';

interface PreviewOptions extends PreviewFilter {
  limit: number;
  stream?: string;
  /** False with `--no-counts`. */
  counts: boolean;
}

const EXAMPLES = `
Examples:
  $ dpp-sync preview erp                      the first 10 records of each stream, and counts over all of them
  $ dpp-sync preview erp --stream boms --limit 50
  $ dpp-sync preview erp --issues             only records with issues
  $ dpp-sync preview erp --item A-1           the records that make the item A-1
  $ dpp-sync preview erp --json | jq '.counts.issues'

The whole source is read for the counts; --no-counts ends the read once the records are shown.
Nothing is sent and nothing is stored. Neither the API nor the ledger is needed.
Two rows that make the same item with different values are found by a sync, not by a preview.`;

export function addPreviewCommand(program: Command, run: RunAction): void {
  program
    .command('preview')
    .argument('<source>', 'the id of a source')
    .option('--limit <n>', 'how many records of each stream are shown', wholeNumber(1, 10_000), 10)
    .option('--stream <name>', 'only this stream')
    .option('--issues', 'only records that have an issue')
    .option('--key <key>', 'only the record with this key; the values of several key columns are joined by `/`')
    .option('--item <key>', 'only records that make the item with this key, SKU or code')
    .option('--no-counts', 'stop reading after the records that are shown, and count nothing')
    .addHelpText('after', EXAMPLES)
    .action((source: string, options: PreviewOptions) => run((context) => preview(source, options, context)));
}

async function preview(id: string, options: PreviewOptions, context: CommandContext): Promise<number> {
  const config = await context.loadConfig('sources');
  const { source, names } = selected(id, options.stream, config);
  const { counts, streams } = await previewSource(source, config, { ...options, streams: names }, context);
  if (context.output.json) context.output.document({ ok: true, source: source.id, counts, streams });
  return 0;
}

/** @throws Fault `usage` for a source or a stream that the config does not have */
function selected(id: string, stream: string | undefined, config: RuntimeConfig) {
  assertSources(config, [id]);
  const source = config.sources.find((one) => one.id === id);
  const names = source?.streams.map(({ name }) => name) ?? [];
  if (!source || (stream !== undefined && !names.includes(stream))) {
    const likely = suggest(stream ?? '', names);
    throw fault('usage', `The source "${id}" has no stream "${stream}".`, {
      suggestion: likely === undefined ? `Name one of its streams: ${names.join(', ')}.` : `Did you mean ${likely}?`,
    });
  }
  return { source, names: stream === undefined ? names : [stream] };
}

interface PreviewedStream {
  stream: string;
  records: PreviewedRecord[];
  /** How many records of the stream fit the filters; null if not all of it was read. */
  matching: number | null;
  counts: PreviewCounts | null;
}

/** Shows records of a source to people, and returns what it has shown. */
export async function previewSource(
  source: ConfiguredSource,
  config: RuntimeConfig,
  options: Omit<PreviewOptions, 'stream'> & { streams: readonly string[] },
  context: CommandContext,
): Promise<{ counts: PreviewCounts | null; streams: PreviewedStream[] }> {
  const { output } = context;
  const { openPreview } = await import('../../daemon/preview/preview.ts');
  const opened = await openPreview(source, config, {
    log: await context.log(),
    signal: context.interruption(),
  });
  const isShown = createPreviewFilter(options, config.profile);
  // If there is only one stream, its counts are also those of the source.
  const total = options.streams.length === 1 ? null : createPreviewCounter();
  const streams: PreviewedStream[] = [];
  try {
    for (const stream of options.streams) {
      streams.push(await previewStream(opened, { ...options, source, stream, isShown, total }, output));
    }
  } finally {
    await opened.close();
  }
  const isFiltered = options.issues === true || options.key !== undefined || options.item !== undefined;
  if (isFiltered && streams.every(({ matching }) => matching === 0)) output.note(noneFits(options));
  const counts = options.counts ? (total?.counts() ?? streams[0]?.counts ?? null) : null;
  if (counts !== null && streams.length > 1)
    output.print(...countLines(source.id, { ...counts, issues: [] }, output), '');
  return { counts, streams };
}

/** A record with an issue makes no item, so it cannot be found by the item that it should make. */
function noneFits({ issues = false, key, item }: PreviewFilter): string {
  const record = `No record${key === undefined ? '' : ` with the key ${printable(key)}`}`;
  if (item !== undefined) {
    return `${record} makes the item ${printable(item)}. A record with issues makes no item. To see such records, add --issues.`;
  }
  return issues ? `${record} has a problem.` : `${record} was found.`;
}

async function previewStream(
  opened: Preview,
  options: PreviewOptions & {
    source: ConfiguredSource;
    stream: string;
    isShown: (record: PreviewedRecord) => boolean;
    total: ReturnType<typeof createPreviewCounter> | null;
  },
  output: Output,
): Promise<PreviewedStream> {
  const { source, stream, limit, isShown, total } = options;
  const title = `${source.id}/${stream}`;
  const mappings = source.mappings.filter((mapping) => mapping.stream === stream);
  const counter = createPreviewCounter();
  const records: PreviewedRecord[] = [];
  let matching = 0;
  let read = 0;
  output.print(output.paint('bold', title), '');
  let progress = createReadProgress(title, output);
  const show = (): void => {
    progress.stop();
    for (const record of records) output.print(...recordLines(record, mappings, output));
  };
  try {
    for await (const page of opened.read(stream)) {
      for (const record of page.records) {
        read += 1;
        counter.add(record);
        total?.add(record);
        if (!isShown(record)) continue;
        matching += 1;
        if (matching > limit) continue;
        records.push(record);
        if (matching < limit) continue;
        // The records are shown before the rest of the stream is counted.
        show();
        if (!options.counts) return { stream, records, matching: null, counts: null };
        progress = createReadProgress(title, output);
      }
      progress.show(read, page.progress);
    }
    if (matching < limit) show();
  } finally {
    progress.stop();
  }
  if (!options.counts) return { stream, records, matching, counts: null };
  const counts = counter.counts();
  output.print(...countLines(title, counts, output), '');
  return { stream, records, matching, counts };
}

const MARKS = { mapped: '✓', excluded: '–', quarantined: '✗' } as const;
const NAMES = { mapped: 'mapped', excluded: 'excluded', quarantined: 'with an error' } as const;
const COLOURS = { mapped: 'green', excluded: 'dim', quarantined: 'red' } as const;

/** How many characters a line has besides its two cells. */
const BETWEEN = 5;
const LEFT_MAX = 46;
const RIGHT_MIN = 30;
/** The longest value on a line if there is no terminal. */
const RIGHT_WITHOUT_TERMINAL = 100;

/**
 * A record beside the items that it maps to.
 *
 * @param mappings the mappings of its stream
 */
function recordLines(
  record: PreviewedRecord,
  mappings: readonly MappingDefinition[],
  { paint, width }: Output,
): string[] {
  const { place, status } = record;
  const left = width === null ? LEFT_MAX : Math.min(LEFT_MAX, Math.floor((width - BETWEEN) * 0.45));
  const right = width === null ? RIGHT_WITHOUT_TERMINAL : Math.max(RIGHT_MIN, width - BETWEEN - left);
  return [
    `${paint(COLOURS[status], `${MARKS[status]} ${NAMES[status]}`)}  ${printable(formatPlace(place))}`,
    ...sideBySide(
      fieldLines(record.fields, 200),
      status === 'excluded'
        ? excludedLines(mappings, { paint, width: right })
        : itemLines(record, { paint, width: right }),
      { paint, width: left },
    ),
    '',
  ];
}

/** The size of a cell, and how it is coloured. */
interface Cell {
  paint: Output['paint'];
  width: number;
}

/** Why each mapping of the stream makes no item of a record. */
function excludedLines(mappings: readonly MappingDefinition[], { paint, width }: Cell): string[] {
  if (mappings.length === 0) return [paint('dim', 'no mapping uses this stream')];
  return whyExcluded(mappings).flatMap((why) => wrap(printable(why), width).map((line) => paint('dim', line)));
}

function itemLines({ items, issues }: PreviewedRecord, { paint, width }: Cell): string[] {
  const lines = issues.flatMap((issue) => [
    ...wrap(formatIssue(issue), width).map((line) => paint('red', line)),
    ...(issue.cure === undefined ? [] : wrap(printable(issue.cure), width - 2).map((line) => `  ${line}`)),
  ]);
  for (const { kind, key, payload, refs } of items) {
    const names = [...Object.keys(payload), ...refs.map(roleWord)];
    const nameWidth = Math.max(0, ...names.map((name) => name.length));
    const valueWidth = Math.max(10, Math.min(72, width - nameWidth - 4));
    lines.push(paint('bold', shorten(`${kindWord(kind)} ${printable(key)}`, width)));
    for (const ref of refs) {
      const kindOfRef = ref.either === true ? 'product or material' : kindWord(ref.kind);
      lines.push(
        `  ${roleWord(ref).padEnd(nameWidth)}  ${shorten(`→ ${kindOfRef} ${printable(ref.key)}`, valueWidth)}`,
      );
    }
    for (const [name, value] of Object.entries(payload)) {
      lines.push(`  ${name.padEnd(nameWidth)}  ${formatValue(value, valueWidth)}`);
    }
  }
  return lines;
}

/** The name of a ref as mappings write it. */
function roleWord({ role, either }: ItemRef): string {
  return either === true ? 'part' : role;
}

function sideBySide(left: readonly string[], right: readonly string[], { paint, width }: Cell): string[] {
  const lines: string[] = [];
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const cell = shorten(left[index] ?? '', width).padEnd(width);
    lines.push(`  ${paint('dim', `${cell} │`)} ${right[index] ?? ''}`);
  }
  return lines;
}

const ISSUES_SHOWN = 20;

/** Lines about all records of a stream or of a source. */
function countLines(title: string, counts: PreviewCounts, { paint, width: terminal }: Output): string[] {
  const { records, items, repeating, whole, conflicting, conflict, uncompared, issues, otherIssues } = counts;
  const lines = [`${paint('bold', title)}  ${recordWords(counts)}`];
  const made = ITEM_KINDS.filter((kind) => items[kind] > 0).map((kind) => countKind(items[kind], kind));
  if (records > 0) lines.push(`  ${made.length === 0 ? paint('yellow', 'no items') : `items: ${made.join(', ')}`}`);
  const repeated = repeatedRows({ count: repeating, whole });
  const said = [repeated.whole, repeated.shared].filter((words) => words !== null);
  if (said.length > 0) lines.push(`  ${said.join('. ')}. Each item is sent once.`);
  if (conflict !== null) {
    const which = `${printable(formatPlace(conflict.place))} (${kindWord(conflict.kind)} ${printable(conflict.key)})`;
    const more = conflicting === 1 ? '' : ', …';
    const rows = counted(conflicting, 'row makes an item', 'rows make items');
    const them = conflicting === 1 ? 'it' : 'them';
    lines.push(
      paint(
        'yellow',
        `  ${rows} that another row makes with other values: ${which}${more}. A sync does not send ${them}.`,
      ),
    );
  }
  if (uncompared > 0) {
    lines.push(
      `  ${counted(uncompared, 'item is', 'items are')} counted but not compared with earlier items, because there are too many`,
    );
  }
  const width = formatCount(issues[0]?.records ?? 0).length;
  const textWidth = (terminal ?? Number.POSITIVE_INFINITY) - width - 6;
  for (const { code, field, records: having, example } of issues.slice(0, ISSUES_SHOWN)) {
    const where = field === null ? '' : ` in ${printable(field)}`;
    const count = formatCount(having).padStart(width);
    lines.push(
      `  ${paint('red', `✗ ${count}`)}  ${paint('bold', printable(code))}${where}`,
      ...wrap(`${printable(formatPlace(example.place))}: ${printable(example.message)}`, textWidth).map(
        (line) => `    ${' '.repeat(width)}  ${paint('dim', line)}`,
      ),
    );
  }
  const left = issues.length - ISSUES_SHOWN;
  if (left > 0) lines.push(`  and ${counted(left, 'other kind')} of issue; --json has them`);
  if (otherIssues > 0) lines.push(`  and ${counted(otherIssues, 'issue')} of further kinds`);
  return lines;
}

function recordWords({ records, mapped, excluded, quarantined }: PreviewCounts): string {
  if (records === 0) return 'no records';
  const statuses = Object.entries({ mapped, excluded, [NAMES.quarantined]: quarantined }).filter(
    ([, count]) => count > 0,
  );
  return `${counted(records, 'record')}: ${statuses.map(([status, count]) => `${formatCount(count)} ${status}`).join(', ')}`;
}
