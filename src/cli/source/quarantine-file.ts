import type { FileHandle } from 'node:fs/promises';
import type { QuarantinedRecord } from '../../domain/ports/ledger/ledger-views.ts';
import { type JsonObject, type JsonValue, memberOf } from '../../lib/json.ts';
import { defuseFormula } from '../../lib/text/formula-safety.ts';
import { formatIssue } from '../text/words.ts';
import { writeWholeFile } from '../whole-file.ts';

/** Without a byte order mark, spreadsheets read the file in the usual encoding of the country. */
const BYTE_ORDER_MARK = '\ufeff';
const ADDED = ['file', 'line', 'issues'] as const;

type Pages = () => Iterable<QuarantinedRecord[]>;
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
export async function writeQuarantineFile(
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
  for (const page of pages()) {
    for (const record of page) {
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
  for (const page of pages()) {
    const lines = page.map(({ fields, place, issues }) =>
      csvLine([
        ...[...columns].map((name) => textOf(memberOf(fields, name))),
        place.file ?? '',
        place.line === undefined ? (place.path ?? '') : String(place.line),
        issues.map((issue) => wholeIssue(issue, fields)).join(' | '),
      ]),
    );
    await handle.writeFile(lines.join(''));
    records += page.length;
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

function textOf(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function csvCell(text: string, delimiter: string): string {
  return text.includes(delimiter) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
