import {
  createPageBuffer,
  defineFileConnector,
  type FileRequest,
  type FoundColumns,
  type HeaderCandidate,
  type OpenFile,
  type Page,
  readFileText,
  sourceFault,
  type TextPiece,
} from '../../src/sdk/index.ts';
import { RecordScanner } from './record-scanner.ts';
import { assertDecimalColumns, columnNames, createRowBuilder } from './row-builder.ts';
import { assertSeparator, type Dialect, dialectOf, OPTIONS, STREAM_OPTIONS, type StreamOptions } from './schema.ts';

/** Delimited text files: CSV, TSV and the flat files of older systems. */
export const csv = defineFileConnector({
  id: 'csv',
  title: 'Delimited text files (CSV, TSV)',
  endings: ['.csv', '.tsv', '.txt'],
  fixedColumns: true,
  options: OPTIONS,
  streamOptions: STREAM_OPTIONS,
  read: (file, request) => readCsv(file, requestOf(request)),
  columns: (file, request) => readColumnNames(file, requestOf(request)),
});

function requestOf(request: FileRequest<Dialect, StreamOptions>): CsvRequest {
  const { options, stream, signal, onColumns } = request;
  return { dialect: dialectOf(options, stream), decimalsOfStream: stream.decimalColumns ?? [], signal, onColumns };
}

interface CsvRequest {
  dialect: Dialect;
  /** The `decimalColumns` that stand under the stream itself, and not under the source, which may have other streams. */
  decimalsOfStream: readonly string[];
  signal: AbortSignal;
  onColumns: (found: FoundColumns) => void;
}

/** Reads the rows of one file. */
async function* readCsv(file: OpenFile, request: CsvRequest): AsyncGenerator<Page> {
  const page = createPageBuffer();
  const scanner = new RecordScanner(request.dialect);
  let build: ReturnType<typeof createRowBuilder> | undefined;
  for await (const piece of textOf(file, request)) {
    scanner.feed(piece.text, piece.final);
    while (scanner.next()) {
      if (build === undefined) {
        const names = namesOf(scanner, file, request, piece);
        build = createRowBuilder(
          { file: file.name, names, encoding: piece.encoding, dialect: request.dialect },
          scanner,
        );
        if (request.dialect.header) continue;
      }
      if (page.add(build(), scanner.length)) {
        request.signal.throwIfAborted();
        yield page.take({ done: file.position(), total: file.bytes });
      }
    }
  }
  assertHeader(build !== undefined, file, request.dialect);
  if (!page.empty) yield page.take({ done: file.position(), total: file.bytes });
}

/** The column names of a file, from its first bytes. */
async function readColumnNames(file: OpenFile, request: CsvRequest): Promise<string[]> {
  const scanner = new RecordScanner(request.dialect);
  for await (const piece of textOf(file, request)) {
    scanner.feed(piece.text, piece.final);
    if (scanner.next()) return namesOf(scanner, file, request, piece);
  }
  assertHeader(false, file, request.dialect);
  return request.dialect.columns ?? [];
}

/** The names of the columns, which the host has checked. */
function namesOf(first: RecordScanner, file: OpenFile, request: CsvRequest, piece: TextPiece): string[] {
  const { dialect, onColumns } = request;
  const below = () => firstRows(dialect, piece, (line) => line > first.recordLine);
  const { values, recordLine } = first;
  assertSeparator({ values, recordLine, file: file.name, text: piece.text, dialect, below });
  const names = columnNames(first, dialect, file.name, piece.encoding);
  const isNamedByFile = dialect.header && dialect.columns === undefined;
  const filled = names.filter((name) => name !== '');
  onColumns({
    names: filled,
    where: file.name,
    ...(isNamedByFile
      ? {
          rowsBelow: below,
          skipped: {
            option: `skipLines: ${dialect.skipLines}`,
            rows: () => firstRows(dialect, piece, (line) => line < first.recordLine && line <= dialect.skipLines),
          },
          headerNames: filled.length,
        }
      : {}),
  });
  assertDecimalColumns(names, request, file.name);
  return names;
}

/** How many rows are searched for the header, if the first row lacks columns. */
const ROWS_SEARCHED_MAX = 50;

/** The rows at certain lines that the piece of text has from its beginning. */
function firstRows(
  dialect: Dialect,
  { text, final }: TextPiece,
  isWanted: (line: number) => boolean,
): HeaderCandidate[] {
  const scanner = new RecordScanner({ ...dialect, skipLines: 0 });
  scanner.feed(text, final);
  const rows: HeaderCandidate[] = [];
  while (rows.length < ROWS_SEARCHED_MAX && scanner.next()) {
    const { recordLine: line, values, defect } = scanner;
    if (!isWanted(line) || defect !== undefined) continue;
    rows.push({ values: [...values], title: `Line ${line}`, option: `skipLines: ${line - 1}` });
  }
  return rows;
}

const textOf = (file: OpenFile, { dialect, signal }: CsvRequest): AsyncGenerator<TextPiece> =>
  readFileText(file, { encoding: dialect.encoding, format: 'CSV', signal });

/**
 * Throws if the file has no header. A file without a header is probably a failed export; a file with only a header is
 * an empty catalogue.
 */
function assertHeader(found: boolean, file: OpenFile, { header, skipLines }: Dialect): void {
  if (found || !header) return;
  if (skipLines > 0) {
    throw sourceFault(`${file.name} has no header row below the lines that \`skipLines: ${skipLines}\` skips.`, {
      suggestion:
        'If one of these lines is the header, set `skipLines` to the number of lines above it (under the stream, if other files of the source need more). Otherwise check the export.',
    });
  }
  throw sourceFault(`${file.name} has no header row: it is empty.`, {
    suggestion:
      'Check the export. A file without records still has its header. If the files have no header, set `header: false`.',
  });
}
