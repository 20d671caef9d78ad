import type { Command } from 'commander';
import type { Preview, PreviewedRecord } from '../../daemon/preview/preview.ts';
import { createPreviewFilter, type PreviewFilter } from '../../daemon/preview/preview.ts';
import { createPreviewCounter, type PreviewCounts } from '../../daemon/preview/preview-counts.ts';
import type { ConfiguredSource, RuntimeConfig } from '../../daemon/sources/open-source.ts';
import { fault } from '../../domain/faults.ts';
import { suggest } from '../../lib/text/suggest.ts';
import { assertSources } from '../../operations/named.ts';
import { wholeNumber } from '../arguments.ts';
import type { CommandContext, RunAction } from '../context.ts';
import type { Output } from '../text/output.ts';
import { createReadProgress } from '../text/progress.ts';
import { printable } from '../text/style.ts';
import { countLines, recordLines } from './preview-lines.ts';

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
    .option('--limit <n>', 'how many records of each stream', wholeNumber(1, 10_000), 10)
    .option('--stream <name>', 'only this stream')
    .option('--issues', 'only records with issues')
    .option('--key <key>', 'only the record with this key')
    .option('--item <key>', 'only records that make the item with this key, SKU or code')
    .option('--no-counts', 'read no further than the records that are shown')
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
  options: Pick<PreviewOptions, 'limit' | 'counts'> & {
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
