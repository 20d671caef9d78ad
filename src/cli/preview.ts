import type { Command } from 'commander';
import { assertSources } from '../admin/named-sources.ts';
import type { PreviewedRecord } from '../daemon/preview.ts';
import { fault } from '../domain/faults.ts';
import type { ItemRef } from '../domain/item.ts';
import { formatPlace } from '../domain/place.ts';
import { kindWord } from '../domain/words.ts';
import { suggest } from '../lib/suggest.ts';
import { wholeNumber } from './arguments.ts';
import type { CommandContext, RunAction } from './context.ts';
import type { Output } from './output.ts';
import { plural, printable, shorten } from './style.ts';
import { formatIssue, formatValue } from './words.ts';

interface PreviewOptions {
  limit: number;
  stream?: string;
}

const EXAMPLES = `
Examples:
  $ dpp-sync preview erp                      the first 10 records of each stream
  $ dpp-sync preview erp --stream boms --limit 50
  $ dpp-sync preview erp --json | jq '.streams[].records[].issues'

Nothing is sent and nothing is stored. Neither the API nor the ledger is needed.`;

export function addPreviewCommand(program: Command, run: RunAction): void {
  program
    .command('preview')
    .description('show records beside the items that they map to, and what is wrong with them')
    .argument('<source>', 'the id of a source')
    .option('--limit <n>', 'how many records of each stream', wholeNumber(1, 10_000), 10)
    .option('--stream <name>', 'only this stream')
    .addHelpText('after', EXAMPLES)
    .action((source: string, options: PreviewOptions) => run((context) => preview(source, options, context)));
}

async function preview(id: string, { limit, stream }: PreviewOptions, context: CommandContext): Promise<number> {
  const { output, log } = context;
  const config = await context.loadConfig();
  assertSources(config, [id]);
  const source = config.sources.find((one) => one.id === id);
  const names = source?.streams.map(({ name }) => name) ?? [];
  if (!source || (stream !== undefined && !names.includes(stream))) {
    const likely = suggest(stream ?? '', names);
    throw fault('usage', `The source "${id}" has no stream "${stream}".`, {
      suggestion: likely === undefined ? `Its streams are ${names.join(', ')}.` : `Did you mean ${likely}?`,
    });
  }
  const signal = context.interruption();
  const { previewStream } = await import('../daemon/preview.ts');
  const streams: { stream: string; records: PreviewedRecord[] }[] = [];
  for (const name of stream === undefined ? names : [stream]) {
    const records: PreviewedRecord[] = [];
    for await (const record of previewStream(source, config, { stream: name, limit, log, signal }))
      records.push(record);
    streams.push({ stream: name, records });
    printStream(`${id}/${name}`, records, output);
  }
  if (output.json) output.document({ ok: true, source: id, streams });
  return 0;
}

const MARKS = { mapped: '✓', excluded: '–', quarantined: '✗' } as const;
const COLOURS = { mapped: 'green', excluded: 'dim', quarantined: 'red' } as const;

function printStream(title: string, records: readonly PreviewedRecord[], output: Output): void {
  const count = { mapped: 0, excluded: 0, quarantined: 0 };
  for (const { status } of records) count[status] += 1;
  const told = Object.entries(count).flatMap(([status, n]) => (n === 0 ? [] : [`${n} ${status}`]));
  const summary = records.length === 0 ? 'no records' : `${plural(records.length, 'record')}: ${told.join(', ')}`;
  output.print(`${output.paint('bold', title)}  ${output.paint('dim', summary)}`, '');
  for (const record of records) {
    const { place, status } = record;
    output.print(`${output.paint(COLOURS[status], `${MARKS[status]} ${status}`)}  ${printable(formatPlace(place))}`);
    output.print(...sideBySide(recordLines(record), itemLines(record, output), output), '');
  }
}

/** The columns that have a value. */
function recordLines({ fields }: PreviewedRecord): string[] {
  const filled = Object.entries(fields).filter(([, value]) => value !== '' && value !== null);
  const width = Math.min(16, Math.max(0, ...filled.map(([name]) => name.length)));
  return filled.map(([name, value]) => `${printable(name).padEnd(width)}  ${formatValue(value, 200)}`);
}

function itemLines({ status, items, issues }: PreviewedRecord, { paint }: Output): string[] {
  if (status === 'excluded') return [paint('dim', 'no mapping wants this record')];
  const lines = issues.flatMap((issue) => [
    paint('red', formatIssue(issue)),
    ...(issue.cure === undefined ? [] : [`  ${printable(issue.cure)}`]),
  ]);
  for (const { kind, key, payload, refs } of items) {
    const names = [...Object.keys(payload), ...refs.map(roleWord)];
    const width = Math.max(0, ...names.map((name) => name.length));
    lines.push(paint('bold', `${kindWord(kind)} ${printable(key)}`));
    for (const ref of refs) {
      const kindOfRef = ref.either === true ? 'product or material' : kindWord(ref.kind);
      lines.push(`  ${roleWord(ref).padEnd(width)}  → ${kindOfRef} ${printable(ref.key)}`);
    }
    for (const [name, value] of Object.entries(payload)) {
      lines.push(`  ${name.padEnd(width)}  ${formatValue(value, 72)}`);
    }
  }
  return lines;
}

/** The name of a ref as mappings write it. */
function roleWord({ role, either }: ItemRef): string {
  return either === true ? 'part' : role;
}

const LEFT_WIDTH = 46;

function sideBySide(left: readonly string[], right: readonly string[], { paint }: Output): string[] {
  const lines: string[] = [];
  for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
    const cell = shorten(left[index] ?? '', LEFT_WIDTH).padEnd(LEFT_WIDTH);
    lines.push(`  ${paint('dim', `${cell} │`)} ${right[index] ?? ''}`);
  }
  return lines;
}
