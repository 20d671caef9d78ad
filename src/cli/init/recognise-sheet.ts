import { type Archive, openArchive } from '../../../connectors/xlsx/archive.ts';
import { findMergedCells } from '../../../connectors/xlsx/merged-cells.ts';
import { chooseSheet, openWorkbook, type PartLimits, type Workbook } from '../../../connectors/xlsx/workbook.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import { readSample } from './read-sample.ts';
import type { FileHead, FoundOption, Recognised } from './recognise-format.ts';
import { looksLikeValue } from './value-checks.ts';

/** At most this many sheets are read. */
const SHEETS_MAX = 20;
/** This many rows of each sheet are read to find the largest one. */
const HEADER_ROWS_MAX = 1_000;
const UNPACKED_BYTES_MAX = 1024 * 1024 * 1024;
const CELL_CHARACTERS_MAX = 32_767;

interface FoundSheet {
  /** Null for the sheet that is read without an option. */
  name: string | null;
  rows: JsonObject[];
  lines: number[];
  cells: number;
  isWhole: boolean;
}

/**
 * Finds the sheet of a workbook that has the records, and its header. The first sheet is often a cover or an explanation, so the one with
 * the most cells is proposed, and the others are named.
 */
export async function sheetOptions(
  head: FileHead,
  context: { log: Logger; signal: AbortSignal },
): Promise<Pick<Recognised, 'stream' | 'hints'>> {
  const names = await sheetNames(head, context.signal);
  const sheets: FoundSheet[] = [];
  for (const name of names.length < 2 ? [null] : names.slice(0, SHEETS_MAX)) {
    const sheet = await lookAt(head, name, context);
    if (sheet !== null) sheets.push(sheet);
  }
  const largest = Math.max(0, ...sheets.map(({ cells }) => cells));
  const chosen = sheets.find(({ cells }) => cells === largest);
  if (chosen === undefined) return { stream: [], hints: [] };
  const stream: FoundOption[] = [];
  if (chosen.name !== null) {
    const reason = `of the ${names.length} sheets the one with the most cells${names.length > SHEETS_MAX ? ' among the first' : ''}`;
    stream.push({ name: 'sheet', value: chosen.name, reason });
  }
  const header = recogniseHeader(
    chosen.rows.slice(0, SHEET_ROWS).map((fields, index) => ({ number: chosen.lines[index] ?? 0, fields })),
    await mergedRows(head, chosen.name, context.signal),
  );
  stream.push(...header);
  const hints = sheets
    .filter((sheet) => sheet !== chosen && sheet.rows.length > 1)
    .map(({ name, rows, isWhole }) => {
      const count = `${isWhole ? '' : 'more than '}${rows.length}`;
      return `Another stream could be of the sheet ${JSON.stringify(name)}, which has ${count} rows.`;
    });
  return { stream, hints };
}

/**
 * The names of the sheets that are not hidden. Empty if the file is packed in another file or cannot be read; reading
 * the sample then reports the problem.
 */
async function sheetNames(head: FileHead, signal: AbortSignal): Promise<string[]> {
  const found = await inWorkbook(head, signal, async ({ workbook }) =>
    workbook.sheets.flatMap(({ name, hidden }) => (hidden ? [] : [name])),
  );
  return found ?? [];
}

/** The numbers of the first rows in which cells are merged. */
async function mergedRows(head: FileHead, name: string | null, signal: AbortSignal): Promise<ReadonlySet<number>> {
  const found = await inWorkbook(head, signal, async ({ archive, workbook, limits }) => {
    const sheet = chooseSheet(workbook, name ?? undefined, head.name);
    return await findMergedCells({ archive, sheet, limits }, (firstRow) => firstRow <= SHEET_ROWS);
  });
  return new Set(found?.map(({ firstRow }) => firstRow));
}

interface OpenBook {
  archive: Archive;
  workbook: Workbook;
  limits: PartLimits;
}

/** Looks into a workbook; null if it cannot be read. */
async function inWorkbook<Result>(
  head: FileHead,
  signal: AbortSignal,
  look: (open: OpenBook) => Promise<Result>,
): Promise<Result | null> {
  try {
    const archive = await openArchive(head.path, head.name);
    try {
      const limits = { cellMax: CELL_CHARACTERS_MAX, bytesMax: UNPACKED_BYTES_MAX, signal };
      return await look({ archive, workbook: await openWorkbook(archive, limits), limits });
    } finally {
      archive.close();
    }
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

async function lookAt(
  head: FileHead,
  name: string | null,
  context: { log: Logger; signal: AbortSignal },
): Promise<FoundSheet | null> {
  const stream: FoundOption[] = [{ name: 'header', value: false, reason: '' }];
  if (name !== null) stream.push({ name: 'sheet', value: name, reason: '' });
  const request = { connector: 'xlsx', options: [], stream };
  const read = readSample(head.path, request, { ...context, rowsMax: name === null ? SHEET_ROWS : HEADER_ROWS_MAX });
  // If one of several sheets cannot be read, it is not proposed.
  const sample = name === null ? await read : await read.catch(() => null);
  context.signal.throwIfAborted();
  if (sample === null) return null;
  const { rows, lines, isWhole } = sample;
  const cells = rows.reduce((sum, fields) => sum + Object.values(fields).filter(isFilled).length, 0);
  return { name, rows, lines, cells, isWhole };
}

function isFilled(value: unknown): boolean {
  return value !== null && value !== '';
}

/** The header is searched for in this many rows. */
const SHEET_ROWS = 30;
const OF_TITLE =
  'If the first rows are a title, delete them and run init again with --force. Or set `header` to the number of the row with the names, and write the names in the mapping.';

/**
 * Finds the row of a sheet that has the names of the columns: the first row that has only text and is about as wide as the widest
 * row.
 *
 * @param rows the rows with their numbers, read without a header
 * @param merged the numbers of the rows in which cells are merged
 * @returns no option if the header is the first row
 */
export function recogniseHeader(rows: readonly SheetRow[], merged: ReadonlySet<number>): FoundOption[] {
  const sizes = rows.map(({ fields }) => cellsOf(fields).length);
  const widest = Math.max(0, ...sizes);
  const isHeader = ({ fields }: SheetRow): boolean => {
    const cells = cellsOf(fields);
    const isWide = cells.length >= widest * 0.7;
    return isWide && new Set(cells).size === cells.length && !cells.some((cell) => looksLikeValue(cell));
  };
  const header = rows.find(isHeader);
  if (header === undefined) {
    const reason = `no row looks like a header; the columns are A, B, C and so on. ${OF_TITLE}`;
    return [{ name: 'header', value: false, reason }];
  }
  const at = rows.indexOf(header);
  const first = [rows[at - 1], header].find(
    (row) => row !== undefined && merged.has(row.number) && isUpperHalf(row, rows),
  );
  if (first !== undefined) {
    const reason = 'the names of some columns stand in the first of these rows, and those of others in the second';
    return [
      { name: 'header', value: first.number, reason },
      { name: 'headerRows', value: 2, reason: 'a merged cell names each of its columns' },
    ];
  }
  if (header.number === 1) return [];
  return [{ name: 'header', value: header.number, reason: 'the rows above it have fewer cells or values in them' }];
}

interface SheetRow {
  number: number;
  fields: JsonObject;
}

/** True for the first of two rows of a header: each column of the table has a name in one of them, and some only in the second. */
function isUpperHalf(upper: SheetRow, rows: readonly SheetRow[]): boolean {
  const at = rows.indexOf(upper);
  const lower = rows[at + 1];
  if (lower === undefined || lower.number !== upper.number + 1) return false;
  const table = new Set(rows.slice(at + 2).flatMap(({ fields }) => filledColumns(fields)));
  const [above, below] = [new Set(filledColumns(upper.fields)), new Set(filledColumns(lower.fields))];
  const isText = [upper, lower].every(({ fields }) => !cellsOf(fields).some((cell) => looksLikeValue(cell)));
  return (
    isText &&
    table.size > 0 &&
    [...table].every((column) => above.has(column) || below.has(column)) &&
    [...table].some((column) => !above.has(column)) &&
    [...table].some((column) => !below.has(column))
  );
}

function filledColumns(fields: JsonObject): string[] {
  return Object.entries(fields).flatMap(([name, value]) => (isFilled(value) ? [name] : []));
}

function cellsOf(fields: JsonObject): string[] {
  return Object.values(fields).flatMap((value) => {
    const text = typeof value === 'object' ? '' : String(value).trim();
    return text === '' ? [] : [text];
  });
}
