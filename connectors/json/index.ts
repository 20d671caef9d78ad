import {
  createPageBuffer,
  defineFileConnector,
  EACH,
  type FileRequest,
  formatDocumentPath,
  type OpenFile,
  type Page,
  type PathStep,
  parseDocumentPath,
  type SourceRow,
  sourceFault,
  z,
} from '../../src/sdk/index.ts';
import { DocumentScanner } from './document-scanner.ts';
import { type DocumentPaths, type FoundValues, readDocumentValues } from './document-values.ts';
import { brokenRow, type Element, type ElementRules, elementRows, type SizedRow } from './element-row.ts';
import { LineScanner, ObjectScanner } from './element-scanners.ts';
import { openTwice, readBytes } from './read-bytes.ts';
import { documentValueOf, type ParentValue, parentValueOf, recordPathOf } from './record-path.ts';
import { RecordSearch } from './record-search.ts';

const Fields = z.strictObject({
  format: z
    .enum(['auto', 'array', 'ndjson', 'object'])
    .describe(
      '`array`: one document with a list in it. `ndjson`: one value per line. `object`: the file is one object, which is a record or has the list of records. `auto`: a file whose name ends with `.ndjson` or `.jsonl` is NDJSON. Without `at`, a file whose first two lines are each a complete object is NDJSON too. Every other file is a document.',
    ),
  maxRecordBytes: z
    .int()
    .min(64)
    .max(64 * 1024 * 1024)
    .describe('The longest element or line that is accepted, in bytes; with `format: object` the longest file.'),
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
      'The place of the list in a document. `$` means that the document is the list, or with `format: object` the record. Otherwise write the names of members and indexes, such as `$.data.parts`, `$["data set"].parts` or `$.pages[0].items`. `[*]` stands for every element of a list, so a nested list can be a stream: `$.parts[*].lines[*]`.',
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
      'Values from around a record, by the names that they get in the row: `{ product: "$.parts[*].id" }` from an element around a nested record, `{ product: $.product }` from the document.',
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
  const format = stream.format ?? options.format;
  const isOneObject = format === 'object';
  const at = parseDocumentPath(stream.at) ?? [];
  // The file is the only element of an imagined list, so that its lists are nested ones.
  const { outer, inner } = recordPathOf(isOneObject ? [EACH, ...at] : at);
  const { parent, document } = parentsOf({ at, outer, isOneObject }, stream.parent ?? {});
  return {
    format,
    outer,
    shownOuter: isOneObject ? [] : inner === null ? outer : [...outer, EACH],
    document,
    rules: {
      maxRecordBytes: stream.maxRecordBytes ?? options.maxRecordBytes,
      where: stream.where,
      inner: isOneObject && at.length === 0 ? null : inner,
      parent,
      document: {},
    },
    signal,
    onNoRecords,
  };
}

/** Divides the values of `parent` into those of elements around the records, and those of the document. */
function parentsOf(
  { at, outer, isOneObject }: { at: readonly PathStep[]; outer: JsonRequest['outer']; isOneObject: boolean },
  wanted: Readonly<Record<string, string>>,
): { parent: Record<string, ParentValue>; document: DocumentPaths } {
  const parent: Record<string, ParentValue> = {};
  const document: Record<string, readonly (string | number)[]> = {};
  for (const [name, text] of Object.entries(wanted)) {
    const steps = parseDocumentPath(text) ?? [];
    const around = isOneObject ? parentValueOf([EACH, ...at], [EACH, ...steps]) : parentValueOf(at, steps);
    const beside = around === null && !isOneObject ? documentValueOf(outer, steps) : null;
    if (around !== null) parent[name] = around;
    else if (beside !== null) document[name] = beside;
    else throw noParentFault(name, text, at);
  }
  return { parent, document };
}

function noParentFault(name: string, text: string, at: readonly PathStep[]): Error {
  return sourceFault(
    `The path ${text} of parent.${name} names no value around the records at ${formatDocumentPath(at)}.`,
    {
      suggestion:
        'Write the path of a list that contains the records, then [*], then the name of the value: $.parts[*].id. For a value of the document beside the list, write its path: $.product.',
    },
  );
}

interface JsonRequest {
  format: 'auto' | JsonFormat;
  /** The path to the list whose elements are read one by one. */
  outer: readonly (string | number)[];
  /** The path to an element, or to the list if its elements are the records, for messages. */
  shownOuter: readonly PathStep[];
  /** The values of the document that the rows get. */
  document: DocumentPaths;
  rules: ElementRules;
  signal: AbortSignal;
  /** See `FileRequest`. */
  onNoRecords: (message: string) => void;
}

/** Reads the elements of one file. */
async function* readJson(file: OpenFile, request: JsonRequest): AsyncGenerator<Page> {
  const { signal, outer } = request;
  if (Object.keys(request.document).length === 0) {
    yield* readElements(file, { ...request, content: file, beside: undefined });
    return;
  }
  assertDocument(file, request);
  const content = await openTwice(file, signal);
  const { maxRecordBytes } = request.rules;
  const beside = await readDocumentValues(file, content.chunks(signal), {
    steps: outer,
    maxRecordBytes,
    paths: request.document,
  });
  const rules = { ...request.rules, document: beside.values() };
  yield* readElements(file, { ...request, rules, content, beside });
}

/** The lines of NDJSON have no document around them. */
function assertDocument(file: OpenFile, { format, document }: JsonRequest): void {
  const isLines = format === 'ndjson' || (format === 'auto' && LINES_NAME.test(file.name));
  if (!isLines) return;
  const [name = ''] = Object.keys(document);
  throw sourceFault(`${file.name} is NDJSON, so parent.${name} names a value of a document that is not there.`, {
    suggestion: 'Remove the value from `parent`, or set `format: array` for a document.',
  });
}

interface ElementsRequest extends JsonRequest {
  content: Pick<OpenFile, 'chunks' | 'position'>;
  beside: FoundValues | undefined;
}

async function* readElements(file: OpenFile, request: ElementsRequest): AsyncGenerator<Page> {
  const page = createPageBuffer();
  const { content } = request;
  const done = () => ({ done: content.position(), total: file.bytes });
  let format = request.format;
  let scanner: DocumentScanner | LineScanner | ObjectScanner | undefined;
  let search: RecordSearch | null = new RecordSearch(file.name, request.shownOuter, request.rules);
  for await (const { bytes, final } of readBytes(file.name, content.chunks(request.signal))) {
    if (scanner === undefined) {
      if (format === 'auto') {
        format = detectFormat({ file: file.name, head: bytes, atRoot: request.outer.length === 0 });
      }
      scanner = createScanner(format, file, request);
    }
    scanner.feed(bytes, final);
    for (let element = scanner.next(); element !== null; element = scanner.next()) {
      for (const { row, bytes: size } of rowsOf(element, request.rules, { format, search })) {
        search = null;
        if (!page.add(row, size)) continue;
        request.signal.throwIfAborted();
        yield page.take(done());
      }
    }
  }
  if (!page.empty) yield page.take(done());
  if (search !== null) reportNoRecords(search, request);
}

function createScanner(format: JsonFormat, file: OpenFile, { outer, rules, beside }: ElementsRequest) {
  const { maxRecordBytes } = rules;
  if (format === 'ndjson') return new LineScanner({ file, maxRecordBytes });
  if (format === 'object') return new ObjectScanner({ file, maxRecordBytes });
  return new DocumentScanner({ file, maxRecordBytes, steps: outer, ...(beside === undefined ? {} : { beside }) });
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

function* rowsOf(
  element: Element,
  rules: ElementRules,
  { format, search }: { format: JsonRequest['format']; search: RecordSearch | null },
): Generator<SizedRow> {
  try {
    yield* elementRows(element, rules, search);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    if (format === 'array') throw brokenDocument(element, error);
    yield { row: brokenValue(element, error, format), bytes: element.bytes.length };
  }
}

/** The row for a line or a file that is not JSON. Only this line or file is lost. */
function brokenValue({ place, bytes }: Element, error: SyntaxError, format: JsonRequest['format']): SourceRow {
  const isFile = format === 'object';
  return brokenRow(place, bytes.toString('utf8', 0, isFile ? RAW_BYTES_MAX : bytes.length), {
    code: 'row.json',
    message: `${isFile ? `The file ${place.file ?? ''}` : `Line ${place.line ?? 0}`} is not valid JSON: ${error.message}.`,
    ...(isFile ? { cure: 'Export the file again. Other files of the stream are read.' } : {}),
  });
}

/** The error for a document that is not JSON at one place. The rest of such a document cannot be trusted. */
function brokenDocument({ place: { file, line, path } }: Element, error: SyntaxError): Error {
  return sourceFault(
    `${file ?? ''} is not valid JSON in ${path ?? ''}, which begins at line ${line ?? 0}: ${error.message}.`,
    { suggestion: 'The rest of the file is not read. Export it again.', cause: error },
  );
}

const RAW_BYTES_MAX = 1_000;

type JsonFormat = 'array' | 'ndjson' | 'object';

const LINES_NAME = /\.(?:ndjson|jsonl)(?:\.gz)?$/i;

/**
 * Recognises the format of a file by its extension and its first chunk. A file that begins with an object is NDJSON
 * only if its first line is complete and a second object follows, because a single object may be a document.
 */
export function detectFormat(options: { file: string; head: Buffer; atRoot: boolean }): JsonFormat {
  if (LINES_NAME.test(options.file)) return 'ndjson';
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
