import { createPageBuffer, type Page, readFileChunks, type SourceFile, sourceFault } from '../../src/sdk/index.ts';
import { columnNames } from './column-names.ts';
import { RecordScanner } from './record-scanner.ts';
import { createRowBuilder } from './row-builder.ts';
import type { Dialect } from './schema.ts';
import { createFileDecoder, type FileDecoder } from './text-decoder.ts';

export interface CsvRequest {
  dialect: Dialect;
  signal: AbortSignal;
}

/** Reads files of one dialect as one stream. Progress counts bytes over all of them. */
export async function* readCsv(files: readonly SourceFile[], request: CsvRequest): AsyncGenerator<Page> {
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  const page = createPageBuffer();
  let before = 0;
  for (const file of files) {
    const scanner = new RecordScanner(request.dialect);
    let build: ReturnType<typeof createRowBuilder> | undefined;
    for await (const piece of readText(file, request)) {
      scanner.feed(piece.text, piece.final);
      const progress = { done: before + piece.bytesRead, total };
      while (scanner.next()) {
        if (build === undefined) {
          const { encoding } = piece.decoder;
          const names = columnNames(scanner, request.dialect, file.name, encoding);
          build = createRowBuilder({ file: file.name, names, encoding, dialect: request.dialect }, scanner);
          if (request.dialect.header) continue;
        }
        if (page.add(build(), scanner.length)) {
          request.signal.throwIfAborted();
          yield page.take(progress);
        }
      }
    }
    assertHeader(build !== undefined, file, request.dialect);
    before += file.bytes;
  }
  if (!page.empty) yield page.take({ done: total, total });
}

/** The column names of a file, from its first bytes. */
export async function readColumnNames(file: SourceFile, request: CsvRequest): Promise<string[]> {
  const scanner = new RecordScanner(request.dialect);
  for await (const piece of readText(file, request)) {
    scanner.feed(piece.text, piece.final);
    if (scanner.next()) return columnNames(scanner, request.dialect, file.name, piece.decoder.encoding);
  }
  assertHeader(false, file, request.dialect);
  return request.dialect.columns ?? [];
}

interface TextPiece {
  text: string;
  final: boolean;
  bytesRead: number;
  decoder: FileDecoder;
}

async function* readText(file: SourceFile, { dialect, signal }: CsvRequest): AsyncGenerator<TextPiece> {
  let decoder: FileDecoder | undefined;
  let bytesRead = 0;
  for await (const chunk of readFileChunks(file, signal)) {
    decoder ??= createFileDecoder(dialect.encoding, chunk);
    bytesRead += chunk.length;
    yield { text: decoder.write(chunk), final: false, bytesRead, decoder };
  }
  if (decoder !== undefined) yield { text: decoder.end(), final: true, bytesRead, decoder };
}

/** An empty file is more likely a failed export than an empty catalogue, and a header is the proof of the latter. */
function assertHeader(found: boolean, file: SourceFile, dialect: Dialect): void {
  if (found || !dialect.header) return;
  throw sourceFault(`${file.name} has no header row: it is empty.`, {
    suggestion: 'Check the export. A file without records still has its header; set `header: false` for one without.',
  });
}
