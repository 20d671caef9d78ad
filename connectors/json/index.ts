import {
  assertContent,
  contentFault,
  createPageBuffer,
  defineFileConnector,
  type FileRequest,
  type OpenFile,
  type Page,
  type SourceRow,
  sourceFault,
  z,
} from '../../src/sdk/index.ts';
import {
  formatDocumentPath,
  type ParentValue,
  type PathStep,
  parentValueOf,
  parseDocumentPath,
  recordPathOf,
} from './document-path.ts';
import { DocumentScanner } from './document-scanner.ts';
import { brokenRow, type Element, type ElementRules, elementRows, type SizedRow } from './element-row.ts';
import { RecordSearch } from './record-search.ts';
import { measureValue } from './value-scanner.ts';

const Fields = z.strictObject({
  format: z
    .enum(['auto', 'array', 'ndjson'])
    .describe(
      '`array`: one document with a list in it. `ndjson`: one value per line. `auto`: a file whose name ends with `.ndjson` or `.jsonl` is NDJSON. Without `at`, a file whose first two lines are each a complete object is NDJSON too. Every other file is a document.',
    ),
  maxRecordBytes: z
    .int()
    .min(64)
    .max(64 * 1024 * 1024)
    .describe('The longest element or line that is accepted, in bytes.'),
});

/** The source's `options`. */
const OPTIONS = {
  format: Fields.shape.format.default('auto'),
  maxRecordBytes: Fields.shape.maxRecordBytes.default(1024 * 1024),
};
type Options = z.infer<z.ZodObject<typeof OPTIONS>>;

/** The options of a stream besides its files. */
const STREAM_OPTIONS = {
  at: z
    .string()
    .default('$')
    .refine((at) => parseDocumentPath(at) !== null, {
      message: 'Write a path such as $, $.data.parts, $["data set"].parts, $.pages[0].items or $.parts[*].lines[*].',
    })
    .describe(
      'The place of the list in a document. `$` means that the document is the list. Otherwise write the names of members and indexes, such as `$.data.parts`, `$["data set"].parts` or `$.pages[0].items`. `[*]` stands for every element of a list, so a nested list can be a stream: `$.parts[*].lines[*]`.',
    ),
  where: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
    .optional()
    .describe(
      'Only elements whose members have these values are read, such as `{ model: part.part }`. So a list with several kinds of records can be several streams. An element that is not an object is reported in each of these streams.',
    ),
  parent: z
    .record(
      z.string().min(1),
      z.string().refine((path) => parseDocumentPath(path) !== null, { message: 'Write a path such as $.parts[*].id.' }),
    )
    .optional()
    .describe(
      'Values from around a nested record, by the names that they get in the row: `{ product: "$.parts[*].id" }`.',
    ),
  ...Fields.partial().shape,
};
type StreamOptions = z.infer<z.ZodObject<typeof STREAM_OPTIONS>>;

/** JSON documents with a list of records in them, and NDJSON. */
export const json = defineFileConnector({
  id: 'json',
  title: 'JSON and NDJSON files',
  endings: ['.json', '.jsonl', '.ndjson'],
  options: OPTIONS,
  streamOptions: STREAM_OPTIONS,
  read: (file, request) => readJson(file, jsonRequest(request)),
  async columns(file, request) {
    for await (const page of readJson(file, jsonRequest(request))) {
      const members = Object.keys(page.rows.find((row) => row.issues === undefined)?.fields ?? {});
      if (members.length > 0) return members;
    }
    return [];
  },
});

function jsonRequest({ options, stream, signal, onNoRecords }: FileRequest<Options, StreamOptions>): JsonRequest {
  const at = parseDocumentPath(stream.at) ?? [];
  const { outer, inner } = recordPathOf(at);
  return {
    format: stream.format ?? options.format,
    outer,
    rules: {
      maxRecordBytes: stream.maxRecordBytes ?? options.maxRecordBytes,
      where: stream.where,
      inner,
      parent: stream.parent === undefined ? undefined : parentValuesOf(at, stream.parent),
    },
    signal,
    onNoRecords,
  };
}

function parentValuesOf(
  at: readonly PathStep[],
  parent: Readonly<Record<string, string>>,
): Record<string, ParentValue> {
  const values = Object.entries(parent).map(([name, text]): [string, ParentValue] => {
    const value = parentValueOf(at, parseDocumentPath(text) ?? []);
    if (value !== null) return [name, value];
    throw sourceFault(
      `The path ${text} of parent.${name} names no value around the records at ${formatDocumentPath(at)}.`,
      {
        suggestion:
          'Write the path of a list that contains the records, then [*], then the name of the value: $.parts[*].id.',
      },
    );
  });
  return Object.fromEntries(values);
}

interface JsonRequest {
  format: 'auto' | JsonFormat;
  /** The path to the list whose elements are read one by one. */
  outer: readonly (string | number)[];
  rules: ElementRules;
  signal: AbortSignal;
  /** See `FileRequest`. */
  onNoRecords: (message: string) => void;
}

/** Reads the elements of one file. */
async function* readJson(file: OpenFile, request: JsonRequest): AsyncGenerator<Page> {
  const page = createPageBuffer();
  const { maxRecordBytes } = request.rules;
  let format = request.format;
  let scanner: DocumentScanner | LineScanner | undefined;
  let search: RecordSearch | null = new RecordSearch(file.name, request.outer, request.rules);
  for await (const chunk of readBytes(file, request.signal)) {
    if (scanner === undefined) {
      if (format === 'auto') {
        format = detectFormat({ file: file.name, head: chunk.bytes, atRoot: request.outer.length === 0 });
      }
      scanner =
        format === 'ndjson'
          ? new LineScanner({ file, maxRecordBytes })
          : new DocumentScanner({ file, maxRecordBytes, steps: request.outer });
    }
    scanner.feed(chunk.bytes, chunk.final);
    for (let element = scanner.next(); element !== null; element = scanner.next()) {
      for (const { row, bytes } of rowsOf(element, request.rules, { format, search })) {
        search = null;
        if (!page.add(row, bytes)) continue;
        request.signal.throwIfAborted();
        yield page.take({ done: file.position(), total: file.bytes });
      }
    }
  }
  if (!page.empty) yield page.take({ done: file.position(), total: file.bytes });
  if (search !== null) reportNoRecords(search, request);
}

function reportNoRecords(search: RecordSearch, { onNoRecords }: JsonRequest): void {
  const none = search.explain();
  if (none === null) return;
  const { message, option, isFault } = none;
  if (!isFault) {
    onNoRecords(`${message} If there should be records, correct \`${option}\`.`);
    return;
  }
  throw sourceFault(message, {
    suggestion: `Correct \`${option}\`, or check whether this is the right file. Upper and lower case are different.`,
  });
}

async function* readBytes(file: OpenFile, signal: AbortSignal): AsyncGenerator<{ bytes: Buffer; final: boolean }> {
  let isFirst = true;
  for await (const chunk of file.chunks(signal)) {
    if (isFirst) assertJson(file.name, chunk);
    yield { bytes: isFirst ? withoutByteOrderMark(chunk, file.name) : chunk, final: false };
    isFirst = false;
  }
  yield { bytes: Buffer.alloc(0), final: true };
}

/** No JSON begins with a tag, which may be any text in other formats. */
function assertJson(file: string, head: Buffer): void {
  assertContent(file, head, { format: 'JSON', accepts: 'json' });
  if (/^(?:ï»¿)?\s*</.test(head.toString('latin1', 0, 100))) throw contentFault(file, 'xml', 'JSON');
}

function* rowsOf(
  element: Element,
  rules: ElementRules,
  { format, search }: { format: JsonRequest['format']; search: RecordSearch | null },
): Generator<SizedRow> {
  try {
    yield* elementRows(element, rules, search);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    if (format !== 'ndjson') throw brokenDocument(element, error);
    yield { row: brokenLine(element, error), bytes: element.bytes.length };
  }
}

/** The row for a line that is not JSON. Only this line is lost. */
function brokenLine({ place, bytes }: Element, error: SyntaxError): SourceRow {
  return brokenRow(place, bytes.toString('utf8'), {
    code: 'row.json',
    message: `Line ${place.line ?? 0} is not valid JSON: ${error.message}.`,
  });
}

/** The error for a document that is not JSON at one place. The rest of such a document cannot be trusted. */
function brokenDocument({ place: { file, line, path } }: Element, error: SyntaxError): Error {
  return sourceFault(
    `${file ?? ''} is not valid JSON in ${path ?? ''}, which begins at line ${line ?? 0}: ${error.message}.`,
    { suggestion: 'The rest of the file is not read. Export it again.', cause: error },
  );
}

const LINE_FEED = 0x0a;
const RAW_BYTES_MAX = 1_000;

/**
 * Cuts NDJSON into lines. At most one line, up to `maxRecordBytes`, and one chunk are in memory. Of a longer line only
 * the beginning is reported, and the rest is skipped. Blank lines are not elements.
 */
class LineScanner {
  private readonly file: OpenFile;
  private readonly max: number;
  private buffer: Buffer = Buffer.alloc(0);
  private position = 0;
  private line = 0;
  private final = false;
  private discarding = false;

  constructor(options: { file: OpenFile; maxRecordBytes: number }) {
    this.file = options.file;
    this.max = options.maxRecordBytes;
  }

  feed(chunk: Buffer, final: boolean): void {
    const rest = this.buffer.subarray(this.position);
    this.buffer = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
    this.position = 0;
    this.final = final;
  }

  /** The next line as an element, or null if more text is needed or there are no more lines. */
  next(): Element | null {
    while (this.position < this.buffer.length) {
      const found = this.buffer.indexOf(LINE_FEED, this.position);
      if (this.discarding) {
        this.position = found === -1 ? this.buffer.length : found + 1;
        this.discarding = found === -1;
        continue;
      }
      const end = found === -1 ? this.buffer.length : found;
      const tooLong = end - this.position > this.max;
      if (found === -1 && !this.final && !tooLong) return null;
      const whole = this.buffer.subarray(this.position + byteOrderMarksAt(this.buffer, this.position), end);
      const bytes = tooLong ? Buffer.from(whole.subarray(0, RAW_BYTES_MAX)) : whole;
      this.position = found === -1 ? end : end + 1;
      this.discarding = found === -1;
      this.line++;
      if (isBlank(bytes)) continue;
      return { bytes, tooLong, ...measureValue(bytes), place: { file: this.file.name, line: this.line } };
    }
    return null;
  }
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x0d || byte === 0x09);
}

type JsonFormat = 'array' | 'ndjson';

/** How many bytes of byte order marks are at a position. Files that were joined have marks in their middle. */
function byteOrderMarksAt(bytes: Buffer, position: number): number {
  let at = position;
  while (bytes[at] === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf) at += 3;
  return at - position;
}

/** Removes byte order marks from the beginning of a UTF-8 file, because they are not part of the text. */
function withoutByteOrderMark(head: Buffer, file: string): Buffer {
  const [first, second] = head;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    throw sourceFault(`${file} is UTF-16, but JSON is exchanged as UTF-8.`, {
      suggestion: 'Set the source system to UTF-8, or convert the file.',
    });
  }
  return head.subarray(byteOrderMarksAt(head, 0));
}

/**
 * Recognises the format of a file by its extension and its first chunk. A file that begins with an object is NDJSON
 * only if its first line is complete and a second object follows, because a single object may be a document.
 */
export function detectFormat(options: { file: string; head: Buffer; atRoot: boolean }): JsonFormat {
  if (/\.(?:ndjson|jsonl)(?:\.gz)?$/i.test(options.file)) return 'ndjson';
  if (!options.atRoot) return 'array';
  const [first = '', ...others] = options.head.toString('utf8').trimStart().split('\n');
  if (!first.startsWith('{') || !others.some((line) => line.startsWith('{'))) return 'array';
  return isComplete(first) ? 'ndjson' : 'array';
}

function isComplete(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}
