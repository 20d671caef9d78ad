import { Readable } from 'node:stream';
import { escapeUTF8 } from 'entities/escape';
import iconv from 'iconv-lite';
import { ZipFile } from 'yazl';
import { CELL_CHARACTERS_MAX } from '../daemon/uploads/plan-corrections.ts';
import { cellText } from '../domain/issue.ts';
import { type JsonObject, memberOf } from '../lib/json.ts';
import { defuseFormula } from '../lib/text/safe-text.ts';
import { columnLettersOf } from '../sdk/spreadsheet.ts';
import type { WebAnswer } from './server/route.ts';

const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE_RELATIONS = 'http://schemas.openxmlformats.org/package/2006/relationships';
const TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

const PARTS: Record<string, string> = {
  '[Content_Types].xml': `${HEAD}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${TYPE}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${TYPE}.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="${TYPE}.styles+xml"/></Types>`,
  '_rels/.rels': `${HEAD}<Relationships xmlns="${PACKAGE_RELATIONS}"><Relationship Id="rId1" Type="${RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  'xl/workbook.xml': `${HEAD}<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><sheets><sheet name="Rows" sheetId="1" r:id="rId1"/></sheets></workbook>`,
  'xl/_rels/workbook.xml.rels': `${HEAD}<Relationships xmlns="${PACKAGE_RELATIONS}"><Relationship Id="rId1" Type="${RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="${RELATIONS}/styles" Target="styles.xml"/></Relationships>`,
  // The second cell format has the number 49, which means text. So values that a person types into these cells stay text
  // and keep their leading zeros.
  'xl/styles.xml': `${HEAD}<styleSheet xmlns="${MAIN}"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="3"><xf xfId="0"/><xf xfId="0" numFmtId="49" applyNumberFormat="1"/><xf xfId="0" numFmtId="49" fontId="1" applyNumberFormat="1" applyFont="1"/></cellXfs></styleSheet>`,
};

const TEXT_STYLE = 1;
const HEADER_STYLE = 2;

/**
 * Rows as a workbook with one sheet and a header. Every cell is an inline string, so a spreadsheet never runs a value
 * as a formula, and leading zeros are kept. The rows are streamed.
 */
export async function* xlsxFile(
  columns: readonly string[],
  pages: AsyncIterable<readonly JsonObject[]>,
): AsyncGenerator<Uint8Array> {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  const mtime = new Date(Date.UTC(1980, 0, 1));
  for (const [name, text] of Object.entries(PARTS)) zip.addBuffer(Buffer.from(text), name, { mtime });
  const sheet = Readable.from(sheetText(columns, pages), { objectMode: false, encoding: 'utf8' });
  sheet.on('error', (error) => output.destroy(error));
  zip.on('error', (error: Error) => output.destroy(error));
  zip.addReadStream(sheet, 'xl/worksheets/sheet1.xml', { mtime });
  zip.end();
  try {
    for await (const chunk of output) yield chunk as Buffer;
  } finally {
    sheet.destroy();
  }
}

async function* sheetText(
  columns: readonly string[],
  pages: AsyncIterable<readonly JsonObject[]>,
): AsyncGenerator<string> {
  yield `${HEAD}<worksheet xmlns="${MAIN}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>${widths(columns)}<sheetData>`;
  const letters = columns.map((_, at) => columnLettersOf(at));
  let number = 1;
  const row = (values: readonly string[], style: number): string => {
    const cells = values.map((value, at) => cell(value, `${letters[at]}${number}`, style)).join('');
    const text = `<row r="${number}">${cells}</row>`;
    number += 1;
    return text;
  };
  yield row(columns, HEADER_STYLE);
  for await (const rows of pages) {
    yield rows
      .map((fields) =>
        row(
          columns.map((name) => cellText(memberOf(fields, name))),
          TEXT_STYLE,
        ),
      )
      .join('');
  }
  yield '</sheetData></worksheet>';
}

/** Whole columns are text, so that cells below the last row are text as well. */
function widths(columns: readonly string[]): string {
  if (columns.length === 0) return '';
  return `<cols><col min="1" max="${columns.length}" width="18" style="${TEXT_STYLE}" customWidth="1"/></cols>`;
}

function cell(text: string, place: string, style: number): string {
  if (text === '') return '';
  const kept = text.slice(0, CELL_CHARACTERS_MAX).toWellFormed();
  return `<c r="${place}" s="${style}" t="inlineStr"><is><t xml:space="preserve">${escapeXml(kept)}</t></is></c>`;
}

/**
 * Matches characters that XML cannot contain, a carriage return, which XML would change, and text that looks like the
 * escape of such a character.
 */
const UNHOLDABLE = /(?![\t\n])\p{Cc}|[\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)/gu;

/**
 * Escapes text for XML. A character that XML cannot contain is written in the form of Office, `_x000D_` (ECMA-376 part
 * 1, 22.9.2.19).
 */
function escapeXml(text: string): string {
  return escapeUTF8(
    text.replace(UNHOLDABLE, (found) => `_x${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`),
  );
}

const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

/**
 * Rows as a file to download.
 *
 * @param about what the file is about. These parts make its name
 */
export function tableDownload(
  about: readonly string[],
  columns: readonly string[],
  pages: AsyncIterable<readonly JsonObject[]>,
  { format, dialect }: { format: 'csv' | 'xlsx'; dialect: CsvDialect },
): Extract<WebAnswer, { type: 'download' }> {
  const name = `${about.map(fileNamePart).join('-')}.${format}`;
  if (format === 'xlsx') return { type: 'download', name, contentType: XLSX, chunks: xlsxFile(columns, pages) };
  const contentType = `text/csv; charset=${dialect.encoding}; header=present`;
  return { type: 'download', name, contentType, chunks: csvFile(columns, pages, dialect) };
}

/** A word of a file's name: letters, digits, `_` and `-`. */
function fileNamePart(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}_-]+/gu, '-').slice(0, 60);
}

/** The form in which a CSV file is written. */
interface CsvDialect {
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
    `${values.map((value) => csvCell(defuseFormula(value), dialect)).join(dialect.delimiter)}\r\n`;
  yield encoder.write((MARKED.test(dialect.encoding) ? '\ufeff' : '') + line(columns));
  for await (const rows of pages) {
    yield encoder.write(rows.map((fields) => line(columns.map((name) => cellText(memberOf(fields, name))))).join(''));
  }
  const rest = encoder.end();
  if (rest !== undefined && rest.length > 0) yield rest;
}

function csvCell(text: string, { delimiter, quote }: CsvDialect): string {
  const needsQuotes = text.includes(delimiter) || text.includes(quote) || /[\r\n]/.test(text) || text !== text.trim();
  return needsQuotes ? `${quote}${text.replaceAll(quote, quote + quote)}${quote}` : text;
}
