import {
  cellValue,
  columnLettersOf,
  createPageBuffer,
  damageIssue,
  defineFileConnector,
  type FoundColumns,
  type HeaderCandidate,
  type JsonObject,
  type OpenFile,
  type OwnIssue,
  type Page,
  type SourceRow,
  type SpreadsheetCell,
  type SpreadsheetContext,
  sourceFault,
  withoutTextFormula,
  z,
} from '../../src/sdk/index.ts';
import { type Archive, assertWorkbook, openArchive } from './archive.ts';
import { createMergedValues, findMergedCells } from './merged-cells.ts';
import { NO_STRINGS } from './shared-strings.ts';
import {
  columnNames,
  createSheetScanner,
  type HeaderRow,
  type MergedCells,
  nameIn,
  type RawRow,
  type SheetScanner,
  unnamedColumn,
} from './sheet.ts';
import {
  chooseSheet,
  openWorkbook,
  type PartLimits,
  readPart,
  readStrings,
  readStyles,
  type Sheet,
  type Workbook,
} from './workbook.ts';

const Fields = z.strictObject({
  sheet: z
    .union([z.string().min(1), z.int().min(1)])
    .describe('The name of the sheet, or its number from 1. Without it, the first sheet that is not hidden is read.'),
  header: z
    .union([z.int().min(1), z.literal(false)])
    .describe(
      'The number of the row with the column names, as the spreadsheet counts rows. The rows above the header are not read. With `false` the sheet has no header, and the columns are named A, B, C.',
    ),
  headerRows: z
    .int()
    .min(1)
    .max(5)
    .describe(
      'How many rows the column names take, beginning with `header`. The names of a column are joined with a space; a merged cell names each of its columns.',
    ),
  hidden: z
    .enum(['read', 'skip'])
    .describe('Whether hidden rows and columns are read (`read`) or not (`skip`). A filter hides rows, for example.'),
  merged: z
    .enum(['first', 'repeat'])
    .describe(
      'The cells below the header that have the value of a merged cell: `first`, only the upper left one, or `repeat`, each of them.',
    ),
  emptyErrors: z
    .array(z.string().regex(/^#/))
    .describe(
      'Error values that mean an empty cell, such as `["#N/A"]`. Any other error value is an issue of its row.',
    ),
  maxCellCharacters: z.int().min(64).max(16_777_216).describe('The longest text of a cell that is accepted.'),
  maxColumns: z
    .int()
    .min(1)
    .max(16_384)
    .describe('How many columns of a sheet are accepted. Empty cells beyond these columns do not count.'),
  maxUnpackedBytes: z
    .int()
    .min(1_000_000)
    .describe('The highest number of bytes of an unpacked sheet. A file with a larger sheet is refused.'),
});

/** The source's `options`. */
const OPTIONS = {
  sheet: Fields.shape.sheet.optional(),
  header: Fields.shape.header.default(1),
  headerRows: Fields.shape.headerRows.default(1),
  hidden: Fields.shape.hidden.default('read'),
  merged: Fields.shape.merged.default('first'),
  emptyErrors: Fields.shape.emptyErrors.default([]),
  maxCellCharacters: Fields.shape.maxCellCharacters.default(1_048_576),
  maxColumns: Fields.shape.maxColumns.default(1_000),
  maxUnpackedBytes: Fields.shape.maxUnpackedBytes.default(4_294_967_296),
};

/** The settings for reading a workbook. */
type Layout = z.infer<z.ZodObject<typeof OPTIONS>>;

/** The options of a stream besides its files. They replace those of the source. */
const STREAM_OPTIONS = Fields.partial().shape;
type StreamOptions = z.infer<z.ZodObject<typeof STREAM_OPTIONS>>;

/** The source's layout with the changes of the stream. */
function layoutOf(options: Layout, stream: StreamOptions): Layout {
  const overrides = Object.entries(stream).filter(([name, value]) => name in Fields.shape && value !== undefined);
  return { ...options, ...Object.fromEntries(overrides) };
}

/** Workbooks of Excel and of other spreadsheet programs. */
export const xlsx = defineFileConnector({
  id: 'xlsx',
  title: 'Spreadsheets (XLSX)',
  endings: ['.xlsx', '.xlsm'],
  fixedColumns: true,
  zipEntry: '[Content_Types].xml',
  options: OPTIONS,
  streamOptions: STREAM_OPTIONS,
  read: (file, { options, stream, ...request }) => readXlsx(file, { layout: layoutOf(options, stream), ...request }),
  columns: (file, { options, stream, ...request }) =>
    readColumnNames(file, { layout: layoutOf(options, stream), ...request }),
});

interface XlsxRequest {
  layout: Layout;
  signal: AbortSignal;
  onColumns: (found: FoundColumns) => void;
}

/** Reads the rows of one sheet. */
async function* readXlsx(file: OpenFile, request: XlsxRequest): AsyncGenerator<Page> {
  const page = createPageBuffer();
  const done = (share: number) => ({ done: Math.floor(Math.min(1, share) * file.bytes), total: file.bytes });
  yield* withSheet(file, request, async function* (open) {
    let build: ReturnType<typeof createRowBuilder> | undefined;
    const mergedInto = await mergedValues(open);
    for await (const { rows, names, scanner, share } of readRows(open)) {
      const { archive, sheet, layout } = open;
      const isSkipped = (column: number) => layout.hidden === 'skip' && scanner.isHidden(column);
      build ??= createRowBuilder({ ...open.cells, file: archive.file, sheet: sheet.name, names, isSkipped });
      for (const raw of rows) {
        const row = build(raw, mergedInto(raw));
        if (row !== null && raw.hidden && layout.hidden === 'skip') row.isLeftOut = true;
        if (row !== null && page.add(row, sizeOf(raw))) yield page.take(done(share));
      }
    }
    // The path may name another file by now. Then the rows are a mixture of two files, so this is checked.
    await file.localPath(request.signal);
    if (!page.empty) yield page.take(done(1));
  });
}

/** The column names of a sheet, from its first rows. */
async function readColumnNames(file: OpenFile, request: XlsxRequest): Promise<string[]> {
  const found = withSheet(file, request, async function* (open) {
    for await (const { names, scanner } of readRows(open)) {
      yield shownNames(names, open.layout, scanner);
      return;
    }
  });
  for await (const names of found) return names;
  return [];
}

interface OpenSheet {
  archive: Archive;
  workbook: Workbook;
  sheet: Sheet;
  layout: Layout;
  limits: PartLimits;
  cells: SpreadsheetContext;
  onColumns: XlsxRequest['onColumns'];
}

/** Opens a workbook, and closes it when the reading has ended. */
async function* withSheet<Result>(
  file: OpenFile,
  { layout, signal, onColumns }: XlsxRequest,
  read: (open: OpenSheet) => AsyncGenerator<Result>,
): AsyncGenerator<Result> {
  signal.throwIfAborted();
  const path = await file.localPath(signal);
  await assertWorkbook(path, file.name);
  const limits = { cellMax: layout.maxCellCharacters, bytesMax: layout.maxUnpackedBytes, signal };
  const archive = await openArchive(path, file.name);
  let strings = NO_STRINGS;
  try {
    const workbook = await openWorkbook(archive, limits);
    const sheet = chooseSheet(workbook, layout.sheet, file.name);
    const styles = await readStyles(archive, workbook, limits);
    strings = await readStrings(archive, workbook, limits);
    const { is1904 } = workbook;
    const emptyErrors = new Set(layout.emptyErrors);
    const cells = { strings, styles, is1904, emptyErrors, maxCellCharacters: layout.maxCellCharacters };
    yield* read({ archive, workbook, sheet, layout, limits, cells, onColumns });
  } finally {
    strings.close();
    archive.close();
  }
}

interface FoundRows {
  names: Names;
  /** The rows below the header that a piece of the sheet has. */
  rows: readonly RawRow[];
  scanner: SheetScanner;
  share: number;
}

/** Gives the rows of a sheet after its header is complete. */
async function* readRows(open: OpenSheet): AsyncGenerator<FoundRows> {
  const { archive, sheet, layout, limits } = open;
  const { header, headerRows } = layout;
  const lastOfHeader = lastRowOfHeader(layout);
  const merged = headerRows > 1 ? await findMergedCells(open, (row) => row <= lastOfHeader) : [];
  let waiting: RawRow[] = [];
  let beyond: string | null = null;
  const scanner = createSheetScanner({
    cellMax: layout.maxCellCharacters,
    columnsMax: layout.maxColumns,
    onBeyond: (row, cell) => {
      // An empty text does not count either.
      if (beyond === null && cellValue(cell, open.cells) !== '') beyond = `${columnLettersOf(cell.column)}${row}`;
    },
    onRow: (row) => waiting.push(row),
  });
  const headerCells: RawRow[] = [];
  let names: Names | undefined;
  for await (const { share, ended } of readPart(archive, sheet.part, { handlers: scanner.part, limits })) {
    if (beyond !== null) throw tooWide(beyond, open);
    const rows = waiting;
    waiting = [];
    headerCells.push(...rows.filter(({ number }) => number <= lastOfHeader));
    const below = rows.filter(({ number }) => number > lastOfHeader);
    if (names === undefined && (below.length > 0 || ended)) {
      names = namesOf(headerCells, below, merged, open);
      const candidates = (from: RawRow[]) => () =>
        from.slice(0, ROWS_SEARCHED_MAX).map((row) => headerCandidate(row, open));
      const isAbove = ({ number }: RawRow) => number < Number(header);
      open.onColumns({
        names: shownNames(names, layout, scanner),
        where: archive.file,
        rowsBelow: candidates(below),
        skipped: { option: `header: ${header}`, rows: candidates(headerCells.filter(isAbove)) },
        headerNames: filledColumns(headerCells.filter((row) => !isAbove(row))).size,
      });
    }
    if (names !== undefined && (below.length > 0 || ended)) yield { names, rows: below, scanner, share };
  }
}

function tooWide(cell: string, { archive, sheet, layout }: OpenSheet): Error {
  return sourceFault(
    `Cell ${cell} of the sheet ${sheet.name} (${archive.file}) has a value beyond column ${layout.maxColumns}, and \`maxColumns\` allows no more columns.`,
    { suggestion: 'Clear the cell. If the sheet has so many columns, raise `maxColumns`.' },
  );
}

/** The names of columns, by number; undefined for a column without a name and without values in the first rows. */
type Names = (string | undefined)[];

/**
 * The names of the header. Further columns with values in the first rows get their letters, so that they are known even
 * if they are empty in some rows. Without a header every column up to the last one gets its letters.
 */
function namesOf(header: RawRow[], below: RawRow[], merged: MergedCells[], open: OpenSheet): Names {
  const { layout, sheet, archive } = open;
  const columns = filledColumns(below);
  if (layout.header === false) {
    return Array.from({ length: Math.max(-1, ...columns) + 1 }, (_, column) => columnLettersOf(column));
  }
  const from = layout.header;
  const rows = header.filter(({ number }) => number >= from).map((row) => headerRow(row, open));
  const named = columnNames(rows, merged, `Row ${from} of the sheet ${sheet.name} (${archive.file})`);
  const names: Names = Array.from({ length: Math.max(named.length, ...[...columns].map((column) => column + 1)) });
  for (const column of [...named.keys(), ...columns]) names[column] = named[column] ?? unnamedColumn(column, named);
  return names;
}

function shownNames(names: Names, { hidden }: Layout, scanner: SheetScanner): string[] {
  const isShown = (column: number) => hidden === 'read' || !scanner.isHidden(column);
  return names.flatMap((name, column) => (name !== undefined && isShown(column) ? [name] : []));
}

/** How many rows are searched for the header, if the header lacks columns. */
const ROWS_SEARCHED_MAX = 50;

function headerCandidate({ number, cells }: RawRow, { cells: context }: OpenSheet): HeaderCandidate {
  const values = cells.map((cell) => {
    const value = cellValue(cell, context);
    return typeof value === 'object' ? '' : nameIn(String(value));
  });
  return { values, title: `Row ${number}`, option: `header: ${number}` };
}

function filledColumns(rows: readonly RawRow[]): Set<number> {
  const filled = rows.flatMap(({ cells }) => cells.filter(({ text }) => text !== ''));
  return new Set(filled.map(({ column }) => column));
}

function headerRow({ number, cells }: RawRow, { cells: context, sheet, archive }: OpenSheet): HeaderRow {
  const texts = cells.map((cell): [number, string] => {
    const value = cellValue(cell, context);
    if (typeof value !== 'object') return [cell.column, String(value)];
    const place = `${columnLettersOf(cell.column)}${number} of the sheet ${sheet.name} (${archive.file})`;
    throw sourceFault(`The column name in ${place} ${value.message}`, { suggestion: value.cure });
  });
  return { number, texts: new Map(texts) };
}

function lastRowOfHeader({ header, headerRows }: Layout): number {
  return header === false ? 0 : header + headerRows - 1;
}

/** Repeats values of merged cells below the header, if the option says so. */
async function mergedValues(open: OpenSheet): Promise<ReturnType<typeof createMergedValues>> {
  const { layout } = open;
  const last = lastRowOfHeader(layout);
  const ranges = layout.merged === 'repeat' ? await findMergedCells(open, (row) => row > last) : [];
  return createMergedValues(ranges, layout.maxColumns);
}

/** The approximate size of the cells of a row, for the size of a page. */
function sizeOf({ cells }: RawRow): number {
  return cells.reduce((sum, { text }) => sum + (text?.length ?? 0) + 8, 0);
}

interface RowContext extends SpreadsheetContext {
  file: string;
  sheet: string;
  /** The names by column; undefined for a column without a name so far. */
  names: readonly (string | undefined)[];
  /** True for a column that is skipped. */
  isSkipped: (column: number) => boolean;
}

/** Makes source rows from the rows of a sheet. Null stands for a row without any value. */
function createRowBuilder(context: RowContext): (row: RawRow, merged: readonly SpreadsheetCell[]) => SourceRow | null {
  const { file, sheet, isSkipped } = context;
  const skipped: boolean[] = [];
  const names = [...context.names];
  // Rows are copies of one object with all names, so that they share a hidden class. JSON.parse makes own properties
  // for all names.
  const shown = names.filter((name, column) => name !== undefined && !isSkipped(column));
  const template = JSON.parse(`{${shown.map((name) => `${JSON.stringify(name)}:""`).join()}}`) as JsonObject;

  return ({ number, cells }, merged) => {
    const fields: JsonObject = { ...template };
    let issues: OwnIssue[] | undefined;
    let isBlank = true;
    const take = (cell: SpreadsheetCell): void => {
      const { column } = cell;
      if ((skipped[column] ??= isSkipped(column))) return;
      const value = cellValue(cell, context);
      if (value === '') return;
      isBlank = false;
      const name = (names[column] ??= unnamedColumn(column, names));
      if (typeof value === 'object') {
        const { message, ...problem } = value;
        const where = cellOf(column, number, sheet);
        (issues ??= []).push({ ...problem, field: name, message: `${where} ${message}`, onlyField: true });
        fields[name] = value.value;
        return;
      }
      fields[name] = typeof value === 'string' ? withoutTextFormula(value) : value;
      if (typeof value === 'string' && value.includes('\uFFFD')) {
        (issues ??= []).push(encodingIssue(name, value, cellOf(column, number, sheet)));
      }
    };
    for (const cell of cells) take(cell);
    // A row that has only repeated values has no values of its own.
    if (isBlank) return null;
    for (const cell of merged) if (names[cell.column] !== undefined) take(cell);
    const place = { file, line: number, path: sheet };
    return issues === undefined ? { fields, place } : { fields, place, issues };
  };
}

function cellOf(column: number, row: number, sheet: string): string {
  return `Cell ${columnLettersOf(column)}${row} of the sheet ${sheet}`;
}

function encodingIssue(field: string, value: string, cell: string): OwnIssue {
  const message = `${cell} holds text that is not valid, or was damaged before it was exported.`;
  return damageIssue({ field, message, cure: 'Export the file from the source system again.' }, value);
}
