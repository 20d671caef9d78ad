import {
  assertContent,
  createPageBuffer,
  type JsonObject,
  type OpenFile,
  type Page,
  type SourceRow,
  sourceFault,
} from '../../src/sdk/index.ts';
import { detectFormat, type JsonFormat, withoutByteOrderMark } from './detect-format.ts';
import type { PathStep } from './document-path.ts';
import { DocumentScanner } from './document-scanner.ts';
import { brokenRow, type Element, elementRow } from './element-row.ts';
import { LineScanner } from './line-scanner.ts';

export interface JsonRequest {
  format: 'auto' | JsonFormat;
  maxRecordBytes: number;
  steps: readonly PathStep[];
  where: JsonObject | undefined;
  signal: AbortSignal;
}

/** Reads the elements of one file. */
export async function* readJson(file: OpenFile, request: JsonRequest): AsyncGenerator<Page> {
  const page = createPageBuffer();
  let format = request.format;
  let scanner: DocumentScanner | LineScanner | undefined;
  for await (const chunk of readBytes(file, request.signal)) {
    if (scanner === undefined) {
      if (format === 'auto') {
        format = detectFormat({ file: file.name, head: chunk.bytes, atRoot: request.steps.length === 0 });
      }
      scanner =
        format === 'ndjson'
          ? new LineScanner({ file, maxRecordBytes: request.maxRecordBytes })
          : new DocumentScanner({ file, maxRecordBytes: request.maxRecordBytes, steps: request.steps });
    }
    scanner.feed(chunk.bytes, chunk.final);
    for (let element = scanner.next(); element !== null; element = scanner.next()) {
      const row = format === 'ndjson' ? lineRow(element, request) : documentRow(element, request);
      if (row === null || !page.add(row, element.bytes.length)) continue;
      request.signal.throwIfAborted();
      yield page.take({ done: file.position(), total: file.bytes });
    }
  }
  if (!page.empty) yield page.take({ done: file.position(), total: file.bytes });
}

async function* readBytes(file: OpenFile, signal: AbortSignal): AsyncGenerator<{ bytes: Buffer; final: boolean }> {
  let isFirst = true;
  for await (const chunk of file.chunks(signal)) {
    if (isFirst) assertContent(file.name, chunk, { format: 'JSON', accepts: 'json' });
    yield { bytes: isFirst ? withoutByteOrderMark(chunk, file.name) : chunk, final: false };
    isFirst = false;
  }
  yield { bytes: Buffer.alloc(0), final: true };
}

/** A line that is not JSON costs itself. */
function lineRow(element: Element, request: JsonRequest): SourceRow | null {
  try {
    return elementRow(element, request);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return brokenRow(element.place, element.bytes.toString('utf8'), {
      code: 'row.json',
      message: `Line ${element.place.line ?? 0} is not valid JSON: ${error.message}.`,
      cure: 'Each line must hold one complete JSON value; for a document over several lines set `format: array`.',
    });
  }
}

/** A document that is not JSON somewhere cannot be trusted after that. */
function documentRow(element: Element, request: JsonRequest): SourceRow | null {
  try {
    return elementRow(element, request);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const { file, line, path } = element.place;
    throw sourceFault(
      `${file ?? ''} is not valid JSON in ${path ?? ''}, which begins at line ${line ?? 0}: ${error.message}.`,
      {
        suggestion: 'The rest of the file is not read: have it written anew.',
        cause: error,
      },
    );
  }
}
