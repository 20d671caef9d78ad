import {
  createPageBuffer,
  type OpenFile,
  type Page,
  readFileText,
  sourceFault,
  type TextPiece,
} from '../../src/sdk/index.ts';
import { assertDecimalColumns, columnNames } from './column-names.ts';
import { RecordScanner } from './record-scanner.ts';
import { createRowBuilder } from './row-builder.ts';
import type { Dialect } from './schema.ts';

export interface CsvRequest {
  dialect: Dialect;
  /** The `decimalColumns` that stand under the stream itself, and not under the source, which may have other streams. */
  decimalsOfStream: readonly string[];
  signal: AbortSignal;
}

/** Reads the rows of one file. */
export async function* readCsv(file: OpenFile, request: CsvRequest): AsyncGenerator<Page> {
  const page = createPageBuffer();
  const scanner = new RecordScanner(request.dialect);
  let build: ReturnType<typeof createRowBuilder> | undefined;
  for await (const piece of textOf(file, request)) {
    scanner.feed(piece.text, piece.final);
    while (scanner.next()) {
      if (build === undefined) {
        const { encoding } = piece;
        const names = namesOf(scanner, file, request, encoding);
        build = createRowBuilder({ file: file.name, names, encoding, dialect: request.dialect }, scanner);
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
export async function readColumnNames(file: OpenFile, request: CsvRequest): Promise<string[]> {
  const scanner = new RecordScanner(request.dialect);
  for await (const piece of textOf(file, request)) {
    scanner.feed(piece.text, piece.final);
    if (scanner.next()) return namesOf(scanner, file, request, piece.encoding);
  }
  assertHeader(false, file, request.dialect);
  return request.dialect.columns ?? [];
}

function namesOf(first: RecordScanner, file: OpenFile, request: CsvRequest, encoding: string): string[] {
  const names = columnNames(first, request.dialect, file.name, encoding);
  assertDecimalColumns(names, request, file.name);
  return names;
}

const textOf = (file: OpenFile, { dialect, signal }: CsvRequest): AsyncGenerator<TextPiece> =>
  readFileText(file, { encoding: dialect.encoding, format: 'CSV', signal });

/**
 * Throws if the file has no header. A file without a header is probably a failed export; a file with only a header is
 * an empty catalogue.
 */
function assertHeader(found: boolean, file: OpenFile, dialect: Dialect): void {
  if (found || !dialect.header) return;
  throw sourceFault(`${file.name} has no header row: it is empty.`, {
    suggestion:
      'Check the export. A file without records still has its header. If the files have no header, set `header: false`.',
  });
}
