import { openArchive } from '../../../connectors/xlsx/archive.ts';
import { openWorkbook } from '../../../connectors/xlsx/workbook.ts';
import { connectorLoader } from '../../daemon/sources/load-connector.ts';
import type { Place } from '../../domain/issue.ts';
import { comparableName } from '../../domain/natural-key.ts';
import type { Page } from '../../domain/ports/source.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Logger } from '../../lib/logging/logging.ts';
import type { Connector } from '../../sdk/connector.ts';
import type { FileHead, FoundOption, Recognised } from './recognise-format.ts';
import { looksLikeValue } from './value-checks.ts';

/** The first records of a file, which its connector has read. */
export interface Sample {
  rows: JsonObject[];
  /** The line or row at which each record begins; 0 if that is not known. */
  lines: number[];
  /** Records that could not be read, which are not among `rows`. */
  broken: number;
  /** The place of each value that was damaged before the export, or that is not valid in the encoding. */
  damaged: string[];
  /** True if the file has no more records. */
  isWhole: boolean;
  /** True if every row has the same columns. */
  isTable: boolean;
}

const ROWS_MAX = 20_000;
const CHARACTERS_MAX = 16 * 1024 * 1024;
const STREAM = 'sample';

/**
 * Reads the first records of a file with a connector, so that the sample is what a run will read.
 *
 * @throws Fault `source.unreadable` if the file cannot be read
 */
export async function readSample(
  path: string,
  { connector: id, options, stream }: { connector: string; options: FoundOption[]; stream: FoundOption[] },
  { log, signal, rowsMax = ROWS_MAX }: { log: Logger; signal: AbortSignal; rowsMax?: number },
): Promise<Sample> {
  const loaded = await connectorLoader.load(id, '.');
  if (loaded === null || !loaded.ok) throw new Error(`There is no connector ${id}.`);
  const connector: Connector = loaded.value;
  const sourceOptions = parsed(connector.options, valuesOf(options));
  const streamOptions = parsed(connector.streamOptions, { path, ...valuesOf(stream) });
  const reads = connector.reads(sourceOptions, streamOptions);
  const mode = reads === 'changes' ? 'changes' : 'snapshot';
  const opened = await connector.open(sourceOptions, { resolvePath: (given) => given, log });
  try {
    const request = { name: STREAM, options: streamOptions, key: [], mode, cursor: null, signal } as const;
    return await sampleOf(opened.pull(request), { isTable: connector.fixedColumns === true, rowsMax });
  } finally {
    await opened.close();
  }
}

/** Takes the first records of a read. */
export async function sampleOf(
  pages: AsyncIterable<Pick<Page, 'rows'>>,
  { isTable, rowsMax = ROWS_MAX }: { isTable: boolean; rowsMax?: number },
): Promise<Sample> {
  const rows: JsonObject[] = [];
  const lines: number[] = [];
  const damaged: string[] = [];
  let broken = 0;
  let characters = 0;
  for await (const page of pages) {
    for (const { fields, issues, place, isGone } of page.rows) {
      if (isGone === true) continue;
      if (rows.length >= rowsMax || characters >= CHARACTERS_MAX)
        return { rows, lines, broken, damaged, isWhole: false, isTable };
      if (issues !== undefined) {
        broken += 1;
        const places = issues.filter(({ code }) => code === 'row.encoding').map(({ field }) => fieldAt(field, place));
        damaged.push(...places);
      } else {
        rows.push(isTable ? withPlainNames(fields) : fields);
        lines.push(place.line ?? 0);
      }
      characters += JSON.stringify(fields).length;
    }
  }
  return { rows, lines, broken, damaged, isWhole: true, isTable };
}

function fieldAt(field: string | undefined, { file, line, path }: Place): string {
  const where = [file, line === undefined ? path : `line ${line}`, field === undefined ? undefined : `column ${field}`];
  return where.filter((part) => part !== undefined).join(', ');
}

/** The fields with names that a person can see and type. A read compares the names of a table in this form. */
function withPlainNames(fields: JsonObject): JsonObject {
  const names = Object.keys(fields);
  const plain = names.map(comparableName);
  if (new Set(plain).size < names.length) return fields;
  return Object.fromEntries(Object.values(fields).map((value, at) => [plain[at] ?? '', value]));
}

function valuesOf(options: readonly FoundOption[]): Record<string, unknown> {
  return Object.fromEntries(options.map(({ name, value }) => [name, value]));
}

/** `init` has made the options, so if the connector refuses one, this is a defect. */
function parsed(schema: Connector['options'], value: Record<string, unknown>): unknown {
  return schema.parse(value);
}

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
  );
  if (header !== null) stream.push(header);
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
  try {
    const archive = await openArchive(head.path, head.name);
    try {
      const limits = { cellMax: CELL_CHARACTERS_MAX, bytesMax: UNPACKED_BYTES_MAX, signal };
      const { sheets } = await openWorkbook(archive, limits);
      return sheets.flatMap(({ name, hidden }) => (hidden ? [] : [name]));
    } finally {
      archive.close();
    }
  } catch {
    signal.throwIfAborted();
    return [];
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
 * @returns null if the header is the first row, because this needs no option
 */
export function recogniseHeader(rows: readonly { number: number; fields: JsonObject }[]): FoundOption | null {
  const sizes = rows.map(({ fields }) => cellsOf(fields).length);
  const widest = Math.max(0, ...sizes);
  const header = rows.find(({ fields }) => {
    const cells = cellsOf(fields);
    const isWide = cells.length >= widest * 0.7;
    return isWide && new Set(cells).size === cells.length && !cells.some((cell) => looksLikeValue(cell));
  });
  if (header === undefined) {
    const reason = `no row looks like a header; the columns are A, B, C and so on. ${OF_TITLE}`;
    return { name: 'header', value: false, reason };
  }
  if (header.number === 1) return null;
  return { name: 'header', value: header.number, reason: 'the rows above it have fewer cells or values in them' };
}

function cellsOf(fields: JsonObject): string[] {
  return Object.values(fields).flatMap((value) => {
    const text = typeof value === 'object' ? '' : String(value).trim();
    return text === '' ? [] : [text];
  });
}
