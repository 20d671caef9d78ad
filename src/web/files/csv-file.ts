import iconv from 'iconv-lite';
import { cellText } from '../../daemon/uploads/plan-corrections.ts';
import { type JsonObject, memberOf } from '../../lib/json.ts';
import { defuseFormula } from '../../lib/text/safe-text.ts';

/** The form in which a CSV file is written. */
export interface CsvDialect {
  delimiter: string;
  quote: string;
  /** An encoding that iconv-lite knows. */
  encoding: string;
}

/**
 * Encodings whose files begin with a byte order mark. Without this mark, spreadsheets read UTF-8 as text in the usual
 * encoding of the country.
 */
const MARKED = /^(utf-?8|utf-?16(le|be)?)$/i;

/**
 * Rows as CSV, with a header. A value that a spreadsheet would run as a formula has an apostrophe in front, which an
 * upload removes again.
 */
export async function* csvFile(
  columns: readonly string[],
  pages: AsyncIterable<readonly JsonObject[]>,
  dialect: CsvDialect,
): AsyncGenerator<Uint8Array> {
  const encoder = iconv.getEncoder(dialect.encoding, { addBOM: false });
  const line = (values: readonly string[]) =>
    `${values.map((value) => cell(defuseFormula(value), dialect)).join(dialect.delimiter)}\r\n`;
  yield encoder.write((MARKED.test(dialect.encoding) ? '\ufeff' : '') + line(columns));
  for await (const rows of pages) {
    yield encoder.write(rows.map((fields) => line(columns.map((name) => cellText(memberOf(fields, name))))).join(''));
  }
  const rest = encoder.end();
  if (rest !== undefined && rest.length > 0) yield rest;
}

function cell(text: string, { delimiter, quote }: CsvDialect): string {
  const needsQuotes = text.includes(delimiter) || text.includes(quote) || /[\r\n]/.test(text) || text !== text.trim();
  return needsQuotes ? `${quote}${text.replaceAll(quote, quote + quote)}${quote}` : text;
}
