import type { Command } from 'commander';
import { assertSources } from '../../admin/named.ts';
import type { RuntimeConfig } from '../../daemon/sources/open-source.ts';
import { dialectOf } from '../../daemon/sources/stream-dialect.ts';
import { formatPlace } from '../../domain/place.ts';
import type { LedgerViews, QuarantinedRecord } from '../../domain/ports/ledger/ledger-views.ts';
import { isKeyedByContent, readableKey } from '../../domain/record.ts';
import { wholeNumber } from '../arguments.ts';
import type { CommandContext, RunAction } from '../context.ts';
import type { Output } from '../text/output.ts';
import { noLedgerText } from '../text/standing.ts';
import { plural, printable } from '../text/style.ts';
import { formatIssue, formatValue } from '../text/words.ts';
import { writeQuarantineFile } from './quarantine-file.ts';

interface QuarantineOptions {
  source?: string;
  out?: string;
  limit?: number;
}

const EXAMPLES = `
Examples:
  $ dpp-sync quarantine --source erp
  $ dpp-sync quarantine --out wrong-rows.csv       the original rows with file, line and issues
  $ dpp-sync quarantine --json | jq -r '.issues[].code' | sort | uniq -c

Correct the rows in the source, or the mapping: the next sync maps them again. After you have corrected the
mapping, \`dpp-sync replay --state quarantined\` maps the rows without another pull.
In the file, a value that a spreadsheet would run as a formula has an apostrophe in front.`;

const SHOWN = 50;
const PAGE = 500;
const VALUES_SHOWN = 3;
const VALUE_MAX = 30;

export function addQuarantineCommand(program: Command, run: RunAction): void {
  program
    .command('quarantine')
    .description('list the records that could not be mapped, with place, value, rule and correction')
    .option('--source <id>', 'only records of this source')
    .option('--out <file>', 'write them as CSV, for the people who own the data')
    .option('--limit <n>', 'how many to list at most', wholeNumber(1))
    .addHelpText('after', EXAMPLES)
    .action((options: QuarantineOptions) => run((context) => quarantine(options, context)));
}

async function quarantine(options: QuarantineOptions, context: CommandContext): Promise<number> {
  const { source, out } = options;
  const { output } = context;
  const config = await context.loadConfig('ledger');
  if (source !== undefined) assertSources(config, [source]);
  return context.withViews(config, async (opened) => {
    if (out !== undefined) {
      const { file, records } = await writeQuarantineFile(
        out,
        () => pagesOf(opened?.views ?? null, source),
        (of) => delimiterOf(of, config),
      );
      if (output.json) output.document({ ok: true, file, records });
      else output.print(`${plural(records, 'record')} written to ${file}`);
      return 0;
    }
    if (opened === null) output.note(noLedgerText(config));
    else await list(opened.views, options, output);
    return 0;
  });
}

/** The delimiter of a source's own files. It is a comma if the config no longer has the source. */
function delimiterOf(
  { source, stream }: Pick<QuarantinedRecord, 'source' | 'stream'>,
  { sources }: RuntimeConfig,
): string {
  const known = sources.find(({ id }) => id === source);
  return known === undefined ? ',' : dialectOf(known, stream).delimiter;
}

async function list(views: LedgerViews, { source, limit }: QuarantineOptions, output: Output): Promise<void> {
  const most = limit ?? (output.json ? Number.POSITIVE_INFINITY : SHOWN);
  let shown = 0;
  for (const page of pagesOf(views, source)) {
    for (const record of page) {
      if (shown === most) {
        const total = views.quarantinedCount(source === undefined ? [] : [source]);
        output.note(
          `… and ${plural(total - shown, 'record')} more; --limit shows more of them, --out writes all to a file.`,
        );
        return;
      }
      shown += 1;
      if (output.json) {
        const { id: _, ...rest } = record;
        if (!(await output.jsonLine(rest))) return;
      } else for (const line of recordLines(record, output)) if (!(await output.listLine(line))) return;
    }
  }
  if (shown === 0) output.note('No record is quarantined.');
}

/** The key of a row. For a row without a key, its first values, by which a person recognises it. */
function rowName(record: QuarantinedRecord): string {
  if (!isKeyedByContent(record)) return printable(readableKey(record.key));
  const filled = Object.values(record.fields).filter((value) => value !== null && value !== '');
  const shown = filled.slice(0, VALUES_SHOWN).map((value) => formatValue(value, VALUE_MAX));
  return shown.length === 0 ? 'no key' : `no key: ${shown.join(', ')}${filled.length > shown.length ? ', …' : ''}`;
}

function recordLines(record: QuarantinedRecord, { paint }: Output): string[] {
  const { source, stream, place, fields, issues } = record;
  const lines = [
    `${paint('bold', printable(formatPlace(place)))}  ${source}/${stream}  ${paint('dim', rowName(record))}`,
  ];
  for (const issue of issues) {
    lines.push(
      `  ${paint('red', '✗')} ${formatIssue(issue, { fields })} ${paint('dim', `[${printable(issue.code)}]`)}`,
    );
    if (issue.cure !== undefined) lines.push(`    ${paint('dim', printable(issue.cure))}`);
  }
  return [...lines, ''];
}

/** All quarantined records, page by page, because there may be more than fit into memory. */
function* pagesOf(views: LedgerViews | null, source: string | undefined): Generator<QuarantinedRecord[]> {
  let afterId = 0;
  while (views !== null) {
    const page = views.quarantined({ ...(source === undefined ? {} : { source }), afterId, limit: PAGE });
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    afterId = last.id;
  }
}
