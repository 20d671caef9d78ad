import {
  createPageBuffer,
  defineFileConnector,
  type FoundColumns,
  type OpenFile,
  type Page,
  readFileText,
  type TextPiece,
} from '../../src/sdk/index.ts';
import { RecordScanner } from './record-scanner.ts';
import { createRowBuilder } from './row-builder.ts';
import { type Layout, layoutOf, OPTIONS, STREAM_OPTIONS } from './schema.ts';

/** Text files with columns at fixed positions, which SAP and older systems write. */
export const fixedWidth = defineFileConnector({
  id: 'fixed-width',
  title: 'Text in columns of fixed width (SAP flat files)',
  endings: ['.txt', '.dat'],
  fixedColumns: true,
  options: OPTIONS,
  streamOptions: STREAM_OPTIONS,
  read: (file, { options, stream, ...request }) =>
    readFixedWidth(file, { layout: layoutOf(options, stream), ...request }),
  columns: (file, { options, stream, ...request }) =>
    readColumnNames(file, { layout: layoutOf(options, stream), ...request }),
});

interface FixedWidthRequest {
  layout: Layout;
  signal: AbortSignal;
  onColumns: (found: FoundColumns) => void;
}

/** Reads the rows of one file. */
export async function* readFixedWidth(
  file: OpenFile,
  { layout, signal, onColumns }: FixedWidthRequest,
): AsyncGenerator<Page> {
  onColumns({ names: namesOf(layout), where: file.name });
  const page = createPageBuffer();
  const scanner = new RecordScanner({ recordLength: layout.recordLength, max: layout.maxRecordBytes });
  let build: ReturnType<typeof createRowBuilder> | undefined;
  let toSkip = layout.skipLines;
  for await (const { text, final, encoding } of textOf(file, layout.encoding, signal)) {
    build ??= createRowBuilder({ file: file.name, encoding, layout });
    scanner.feed(text, final);
    for (let record = scanner.next(); record !== null; record = scanner.next()) {
      if (toSkip-- > 0) continue;
      const row = build(record);
      if (row === null || !page.add(row, record.text.length)) continue;
      signal.throwIfAborted();
      yield page.take({ done: file.position(), total: file.bytes });
    }
  }
  if (!page.empty) yield page.take({ done: file.position(), total: file.bytes });
}

/** The names of the columns. Throws if the file is not text. */
export async function readColumnNames(
  file: OpenFile,
  { layout, signal, onColumns }: FixedWidthRequest,
): Promise<string[]> {
  for await (const _ of textOf(file, layout.encoding, signal)) break;
  const names = namesOf(layout);
  onColumns({ names, where: file.name });
  return names;
}

function namesOf({ columns, parent }: Layout): string[] {
  return [...(parent?.columns ?? []), ...columns].map(({ name }) => name);
}

const textOf = (file: OpenFile, encoding: string, signal: AbortSignal): AsyncGenerator<TextPiece> =>
  readFileText(file, { encoding, format: 'text in columns of fixed width', accepts: 'idoc', signal });
