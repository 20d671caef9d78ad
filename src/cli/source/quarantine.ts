import type { FileHandle } from 'node:fs/promises';
import type { Command } from 'commander';
import { dialectOf, type RuntimeConfig } from '../../daemon/sources/open-source.ts';
import { cellText, formatPlace } from '../../domain/issue.ts';
import type { Listed } from '../../domain/ports/ledger/dashboard-views.ts';
import type { QuarantinedRecord } from '../../domain/ports/ledger/ledger-views.ts';
import type { Reads } from '../../domain/ports/ledger/reads.ts';
import { isKeyedByContent, readableKey } from '../../domain/record.ts';
import { type JsonObject, memberOf } from '../../lib/json.ts';
import { counted } from '../../lib/text/amounts.ts';
import { defuseFormula } from '../../lib/text/safe-text.ts';
import { QuarantinedRow } from '../../operations/documents.ts';
import { assertSources } from '../../operations/named.ts';
import { pagesOf, rowDocument } from '../answers.ts';
import { wholeNumber } from '../arguments.ts';
import type { CommandContext, RunAction } from '../context.ts';
import { writeWholeFile } from '../files.ts';
import type { Output } from '../text/output.ts';
import { noLedgerText } from '../text/standing.ts';
import { printable } from '../text/style.ts';
import { formatIssue, formatValue } from '../text/words.ts';

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
const VALUES_SHOWN = 3;
const VALUE_MAX = 30;

export function addQuarantineCommand(program: Command, run: RunAction): void {
  program
    .command('quarantine')
    .option('--source <id>', 'only records of this source')
    .option('--out <file>', 'write all of them as CSV, for the people who own the data')
    .option('--limit <n>', 'how many at most', wholeNumber(1))
    .addHelpText('after', EXAMPLES)
    .action((options: QuarantineOptions) => run((context) => quarantine(options, context)));
}

async function quarantine(options: QuarantineOptions, context: CommandContext): Promise<number> {
  const { source, out } = options;
  const { output } = context;
  const config = await context.loadConfig('dialects');
  if (source !== undefined) assertSources(config, [source]);
  return context.withViews(config, async (opened) => {
    const pages: Pages = (most = Number.POSITIVE_INFINITY) =>
      opened === null ? noPages() : pagesOf((page) => opened.reads.quarantine({ source }, page), most);
    if (out !== undefined) {
      const { file, records } = await writeQuarantineFile(out, pages, (of) => delimiterOf(of, config));
      if (output.json) output.document({ ok: true, file, records });
      else output.print(`${counted(records, 'record')} written to ${file}`);
      return 0;
    }
    if (opened === null) output.note(noLedgerText(config));
    else await list(opened.reads, pages, options, output);
    return 0;
  });
}

async function* noPages(): AsyncGenerator<Listed<QuarantinedRecord>> {}

/** The delimiter of a source's own files. It is a comma if the config no longer has the source. */
function delimiterOf(
  { source, stream }: Pick<QuarantinedRecord, 'source' | 'stream'>,
  { sources }: RuntimeConfig,
): string {
  const known = sources.find(({ id }) => id === source);
  return known === undefined ? ',' : dialectOf(known, stream).delimiter;
}

async function list(reads: Reads, pages: Pages, { source, limit }: QuarantineOptions, output: Output): Promise<void> {
  let shown = 0;
  let hasMore = false;
  for await (const page of pages(limit ?? (output.json ? Number.POSITIVE_INFINITY : SHOWN))) {
    hasMore = page.next !== null;
    shown += page.rows.length;
    if (output.json) {
      for (const row of page.rows) if (!(await output.jsonLine(rowDocument(QuarantinedRow, row)))) return;
    } else {
      for (const line of page.rows.flatMap((row) => recordLines(row, output)))
        if (!(await output.listLine(line))) return;
    }
  }
  if (shown === 0) output.note('No row has an error.');
  if (!hasMore) return;
  const { count, atLeast } = (await reads.quarantine({ source }, { limit: 1 })).total;
  const isKnown = !atLeast && count > shown;
  const more = isKnown ? `… and ${counted(count - shown, 'record')} more` : 'There are more records';
  output.note(`${more}: --limit shows more of them, --out writes all to a file.`);
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

/** Without a byte order mark, spreadsheets read the file in the usual encoding of the country. */
const BYTE_ORDER_MARK = '\ufeff';
const ADDED = ['file', 'line', 'issues'] as const;

/** The pages of the list, from the beginning each time. */
type Pages = (most?: number) => AsyncIterable<Listed<QuarantinedRecord>>;
type DelimiterOf = (stream: Pick<QuarantinedRecord, 'source' | 'stream'>) => string;

/**
 * Writes quarantined records as CSV (RFC 4180, UTF-8): every column that one of them has, then the file, line and
 * issues of each. The file appears only when it is complete. Its mode is 0600, because it contains the company's data.
 *
 * @param pages gives the records from the beginning each time: once for the columns, once for the rows
 * @param delimiterOf the delimiter of a stream's own files; the file has it if all records have the same one, else commas
 * @returns the file's absolute path and how many records are in it
 * @throws Fault `usage` when the file cannot be written
 */
async function writeQuarantineFile(
  path: string,
  pages: Pages,
  delimiterOf: DelimiterOf,
): Promise<{ file: string; records: number }> {
  const { file, written } = await writeWholeFile(path, 0o600, (handle) => writeRows(handle, pages, delimiterOf));
  return { file, records: written };
}

async function writeRows(handle: FileHandle, pages: Pages, delimiterOf: DelimiterOf): Promise<number> {
  const columns = new Set<string>();
  const delimiters = new Set<string>();
  for await (const { rows } of pages()) {
    for (const record of rows) {
      for (const name of Object.keys(record.fields)) columns.add(name);
      delimiters.add(delimiterOf(record));
    }
  }
  const [own = ',', other] = delimiters;
  const delimiter = other === undefined ? own : ',';
  const csvLine = (values: readonly string[]) =>
    `${values.map((value) => csvCell(defuseFormula(value), delimiter)).join(delimiter)}\r\n`;
  const added = ADDED.map((name) => freeName(name, columns));
  await handle.writeFile(BYTE_ORDER_MARK + csvLine([...columns, ...added]));

  let records = 0;
  for await (const { rows } of pages()) {
    const lines = rows.map(({ fields, place, issues }) =>
      csvLine([
        ...[...columns].map((name) => cellText(memberOf(fields, name))),
        place.file ?? '',
        place.line === undefined ? (place.path ?? '') : String(place.line),
        issues.map((issue) => wholeIssue(issue, fields)).join(' | '),
      ]),
    );
    await handle.writeFile(lines.join(''));
    records += rows.length;
  }
  return records;
}

/** An issue with its whole value and its cure. */
function wholeIssue(issue: QuarantinedRecord['issues'][number], fields: JsonObject): string {
  const text = formatIssue(issue, { fields, lengthMax: Number.POSITIVE_INFINITY });
  return issue.cure === undefined ? text : `${text} ${issue.cure}`;
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  return taken.has(name) ? freeName(`dpp_${name}`, taken) : name;
}

function csvCell(text: string, delimiter: string): string {
  return text.includes(delimiter) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
