import { z } from 'zod';
import {
  type Connector,
  defineConnector,
  type FoundColumns,
  type Page,
  type SourceRow,
  sourceFault,
} from '../connector.ts';
import { createPageBuffer, type SizedPage, sharedPages } from '../page-buffer.ts';
import { createGroupedRows } from '../tables/group-rows.ts';
import { TABLE_STREAM, type TableStream } from '../tables/table-options.ts';
import { createTableRows } from '../tables/table-rows.ts';
import { FILE_SOURCE, FILE_STREAM, type FileSource, type FileStream } from './file-options.ts';
import { createFileProgress, type FileProgress } from './file-progress.ts';
import { type FoundFiles, openFileSource, type SourceFiles } from './file-source.ts';
import { formatFiles } from './find-files.ts';
import { locate } from './location.ts';
import type { OpenFile } from './open-file.ts';
import { newestOf } from './source-file.ts';

type OptionsOf<Shape extends z.ZodRawShape> = z.infer<z.ZodObject<Shape>>;

/** The request to a format to read a file. */
export interface FileRequest<Options, StreamOptions> {
  options: Options;
  stream: StreamOptions;
  signal: AbortSignal;
  /**
   * Call it for a file that gives no row, if the file has other content from which people see that the config may be
   * wrong. The message says what is missing, what the file has instead, and what to do. If no file of the read gives a
   * row, the first message is logged, and `check` shows it.
   */
  onNoRecords: (message: string) => void;
  /** See `StreamTarget`. */
  onColumns: (found: FoundColumns) => void;
}

/** The parts of a connector for files that its author writes. */
export interface FileConnectorDefinition<Options extends z.ZodRawShape, Stream extends z.ZodRawShape> {
  id: string;
  title: string;
  /** The fields of the source's `options`, and the options of a stream besides the file. */
  options: Options;
  streamOptions: Stream;
  /** See `Connector`. */
  fixedColumns?: boolean;
  /** See `Connector`. */
  endings?: readonly string[];
  /**
   * For a format whose files are ZIP files themselves: the entry that each of these files has. A ZIP file with this
   * entry is passed to the format unchanged. Any other ZIP file is an archive.
   */
  zipEntry?: string;
  /**
   * Reads the rows of one file, in order. The progress of a page counts the bytes of this file. A page belongs to one
   * file.
   */
  read(file: OpenFile, request: FileRequest<OptionsOf<Options>, OptionsOf<Stream> & FileStream>): AsyncIterable<Page>;
  /**
   * The names of the columns or members of a file, from its beginning. Without this function the names of the first
   * page's rows are used. Define it if a file can have columns but no rows.
   */
  columns?(file: OpenFile, request: FileRequest<OptionsOf<Options>, OptionsOf<Stream> & FileStream>): Promise<string[]>;
}

const COLUMNS_SHOWN = 12;

/** How often files are checked for `watch`. Servers are checked less often, because they may count logins. */
const LOCAL_LOOK_MS = 2000;
const SERVER_LOOK_MS = 60_000;

/**
 * Declares a connector for a file format. The format reads the rows of one file. All formats share the rest: where files come
 * from, which files are read, where a read of changes continues, and whether files are archived or deleted.
 *
 * @throws a `sourceFault` for a definition in another form, because a connector may be written in JavaScript
 */
export function defineFileConnector<Options extends z.ZodRawShape, Stream extends z.ZodRawShape>(
  format: FileConnectorDefinition<Options, Stream>,
): Connector<OptionsOf<Options> & FileSource, OptionsOf<Stream> & FileStream & TableStream> {
  type AllOptions = OptionsOf<Options> & FileSource;
  type StreamOptions = OptionsOf<Stream> & FileStream & TableStream;
  interface Read extends FileRequest<AllOptions, StreamOptions> {
    name: string;
    source: SourceFiles;
    found: FoundFiles;
    noRecords: ReturnType<typeof createNoRecords>;
  }
  const { id, title, fixedColumns = false, endings = [] } = format;
  const tableStream = fixedColumns ? TABLE_STREAM : {};
  assertDefinition(format);

  function pagesIn(file: OpenFile, request: FileRequest<AllOptions, StreamOptions>): AsyncIterable<Page> {
    const pages: unknown = format.read(file, request);
    const isIterable = typeof pages === 'object' && pages !== null && Symbol.asyncIterator in pages;
    if (isIterable) return pages as AsyncIterable<Page>;
    throw sourceFault(`The connector ${id} gives no pages of ${file.name}.`, {
      suggestion: 'Correct the connector: `read` is an asynchronous generator, `async *read(file, request) { … }`.',
    });
  }

  async function* readFile(file: OpenFile, request: FileRequest<AllOptions, StreamOptions>): AsyncGenerator<Page> {
    if (!fixedColumns) {
      yield* pagesIn(file, request);
      return;
    }
    const table = createTableRows(request.stream, request.onColumns);
    for await (const page of pagesIn(file, { ...request, onColumns: table.onColumns })) yield table.rows(page);
  }

  const pagesOf = (file: FoundFiles['files'][number], request: Read): AsyncGenerator<SizedPage> =>
    request.source.read(file, {
      ...request,
      store: request.found.store,
      read: (open) => request.noRecords.counted(readFile(open, request)),
    });

  async function* readSnapshot(request: Read): AsyncGenerator<SizedPage> {
    const { files } = request.found;
    const progress = createByteCount(files);
    const asOf = newestOf(files);
    const { group } = request.stream;
    const grouped = fixedColumns && group !== undefined ? createGroupedRows(group) : null;
    let isEmpty = true;
    let done: Page['progress'];
    for (const file of files) {
      for await (const { page, bytes } of pagesOf(file, request)) {
        const rows = grouped === null ? page.rows : grouped.add(page.rows);
        if (grouped !== null && rows.length === 0) continue;
        isEmpty = false;
        yield { page: { ...page, rows, progress: progress.within(page.progress), asOf }, bytes };
      }
      done = progress.end();
    }
    for (const page of grouped === null ? [] : pagesOfRows(grouped.records(), done)) {
      request.signal.throwIfAborted();
      isEmpty = false;
      yield { page: { ...page, asOf }, bytes: Number.POSITIVE_INFINITY };
    }
    // The time of an export without rows counts too.
    if (isEmpty) yield { page: { rows: [], asOf }, bytes: 0 };
  }

  async function* readChanges(request: Read, read: FileProgress): AsyncGenerator<SizedPage> {
    const left = read.unread();
    const progress = createByteCount(left);
    for (const file of left) {
      const known = read.rowsOf(file);
      const messages = request.noRecords.count();
      let rows = 0;
      for await (const { page, bytes } of pagesOf(file, request)) {
        const within = progress.within(page.progress);
        const given = page.rows.slice(Math.max(0, known - rows));
        rows += page.rows.length;
        if (given.length === 0) continue;
        yield { page: { rows: given, cursor: read.partOf(file, rows), progress: within }, bytes };
      }
      const isWithoutRecords = rows === 0 && request.noRecords.count() > messages;
      yield { page: { rows: [], cursor: read.wholeOf(file, isWithoutRecords), progress: progress.end() }, bytes: 0 };
    }
  }

  async function columnsOfFirstPage(
    file: OpenFile,
    request: FileRequest<AllOptions, StreamOptions>,
  ): Promise<string[]> {
    for await (const { rows } of readFile(file, request)) {
      return [...new Set(rows.flatMap((row) => Object.keys(row.fields)))];
    }
    return [];
  }

  async function columnsOf({ source, found, ...request }: Read): Promise<string[]> {
    const columnsIn = async (open: OpenFile): Promise<string[]> => {
      if (format.columns === undefined) return columnsOfFirstPage(open, request);
      if (!fixedColumns) return format.columns(open, request);
      const table = createTableRows(request.stream, request.onColumns);
      return table.columns(await format.columns(open, { ...request, onColumns: table.onColumns }));
    };
    const columns: string[] = [];
    // For a server one file is checked, because each file has to be downloaded.
    const files = found.location.server === null ? found.files : found.files.slice(-1);
    for (const file of files) {
      for (const name of await source.firstNames(file, { ...request, store: found.store }, columnsIn)) {
        if (name !== '' && !columns.includes(name)) columns.push(name);
      }
    }
    return columns;
  }

  return defineConnector({
    id,
    title,
    fixedColumns,
    endings,
    reads: (_options, stream) => stream.contents,
    options: z.strictObject({ ...FILE_SOURCE, ...format.options }) as unknown as z.ZodType<AllOptions>,
    streamOptions: z
      .strictObject({ ...FILE_STREAM, ...tableStream, ...format.streamOptions })
      .refine((stream) => !isGroupOfChanges(stream), {
        error: '`contents: snapshot` beside it, because a file of changes may lack rows of a group',
        path: ['group'],
      }) as unknown as z.ZodType<StreamOptions>,
    async open(options, host) {
      const source = openFileSource(options, host, format.zipEntry);
      return {
        async *pull({ name, options: stream, mode, cursor, signal, onColumns = () => {} }) {
          const found = await source.find(name, stream, signal);
          host.log.debug({ stream: name, files: found.files.map((file) => file.name) }, 'Reading files.');
          const noRecords = createNoRecords();
          const onNoRecords = noRecords.add;
          const request = { name, source, found, options, stream, signal, noRecords, onNoRecords, onColumns };
          const wasRead = (): void => {
            const message = noRecords.message();
            if (message !== null) host.log.warn({ stream: name }, `No record was read. ${message}`);
            source.wasRead(name, stream, found, message !== null);
          };
          const read =
            mode === 'changes' && !found.isSkipped
              ? createFileProgress(found.files, textOfOptions(format, options, stream), cursor)
              : null;
          if (found.isSkipped || read?.unread().length === 0) {
            const message = read === null ? null : messageWithoutRecords(read, found);
            if (message !== null) noRecords.add(message);
            // The consumer may ask for no page after this one.
            wasRead();
            yield { rows: [], nothingNew: true, ...warnedOf(found.waiting) };
            return;
          }
          const warnings = [...found.waiting, ...(read?.outOfOrder() ?? [])];
          yield* withWarnings(
            sharedPages(read === null ? readSnapshot(request) : readChanges(request, read)),
            warnings,
          );
          wasRead();
        },
        async check({ name, options: stream, signal, onColumns = () => {} }) {
          signal.throwIfAborted();
          const found = await source.find(name, { ...stream, stableMs: 0 }, signal);
          const { waiting } = found;
          if (found.isSkipped) return { found: found.absent?.message ?? 'nothing to read', ...warnedOf(waiting) };
          const noRecords = createNoRecords();
          const onNoRecords = noRecords.add;
          const request = { name, source, found, options, stream, signal, noRecords, onNoRecords, onColumns };
          const columns = await columnsOf(request);
          const message = columns.length === 0 ? noRecords.message() : null;
          const shown = columns.slice(0, COLUMNS_SHOWN).join(', ');
          const more = columns.length > COLUMNS_SHOWN ? ', …' : '';
          return {
            found: `${formatFiles(found.files)}, ${shown === '' ? 'no columns' : `columns ${shown}${more}`}`,
            columns,
            ...warnedOf([...waiting, ...(message === null ? [] : [`No record was found. ${message}`])]),
          };
        },
        async look({ name, options: stream, signal }) {
          const { server } = locate(stream.path, (path) => host.resolvePath(path));
          // The state of a file on a web server is only known after a request for the file itself.
          if (server?.scheme === 'https' || server?.scheme === 'http') return { facts: null, againMs: SERVER_LOOK_MS };
          const { files } = await source.find(name, stream, signal);
          const facts = files.map(({ path, version }) => `${path} ${version}`).join('\n');
          return { facts: facts === '' ? null : facts, againMs: server === null ? LOCAL_LOOK_MS : SERVER_LOOK_MS };
        },
        acknowledge: (streams, signal) => source.acknowledge(streams, signal),
        close: () => source.close(),
      };
    },
  });
}

/** `defineConnector` takes schemas, and `defineFileConnector` their fields, so they are easily confused. */
function assertDefinition(format: FileConnectorDefinition<z.ZodRawShape, z.ZodRawShape>): void {
  const { id, options, streamOptions, read } = format as Partial<typeof format>;
  for (const [name, fields] of Object.entries({ options, streamOptions })) {
    if (typeof fields === 'object' && !('_zod' in fields)) continue;
    throw sourceFault(`The \`${name}\` of the connector ${id} are not an object with a schema for each field.`, {
      suggestion: `Write \`${name}: { … }\`, without \`z.strictObject\`: defineFileConnector adds fields of its own.`,
    });
  }
  if (typeof read !== 'function') throw sourceFault(`The connector ${id} has no function \`read\`.`);
}

function isGroupOfChanges({ group, contents }: { group?: unknown; contents?: unknown }): boolean {
  return group !== undefined && contents === 'changes';
}

function* pagesOfRows(rows: Iterable<SourceRow>, done: Page['progress']): Generator<Page> {
  const buffer = createPageBuffer();
  const progress = done ?? { done: 0, total: 0 };
  for (const row of rows) if (buffer.add(row, JSON.stringify(row.fields).length)) yield buffer.take(progress);
  if (!buffer.empty) yield buffer.take(progress);
}

function warnedOf(warnings: readonly string[]): { warnings?: readonly string[] } {
  return warnings.length === 0 ? {} : { warnings };
}

/** Gives the warnings of a read with its first page. A read without pages gets one for them. */
async function* withWarnings(pages: AsyncIterable<Page>, warnings: readonly string[]): AsyncGenerator<Page> {
  let rest = warnings;
  for await (const page of pages) {
    yield rest.length === 0 ? page : { ...page, warnings: rest };
    rest = [];
  }
  if (rest.length > 0) yield { rows: [], warnings: rest };
}

const TABLE_NAMES = Object.keys(TABLE_STREAM);

/** A text of the options on which the rows of a file depend. */
function textOfOptions(format: { options: object; streamOptions: object }, options: object, stream: object): string {
  const names = [Object.keys(format.options), ['entry', ...TABLE_NAMES, ...Object.keys(format.streamOptions)]];
  return JSON.stringify(
    [options, stream].map((all, at) => Object.entries(all).filter(([name]) => names[at]?.includes(name))),
    textOfOther,
  );
}

/** A schema may turn an option into a value that JSON cannot carry. */
function textOfOther(_name: string, value: unknown): unknown {
  if (value instanceof Set || value instanceof Map) return [...value];
  return typeof value === 'bigint' || value instanceof RegExp ? String(value) : value;
}

/** Why a read of changes has nothing new, if no file that is there had a record when it was read. */
function messageWithoutRecords(read: FileProgress, { files }: FoundFiles): string | null {
  const [first, ...others] = read.withoutRecords();
  if (first === undefined || others.length + 1 < files.length) return null;
  const had =
    others.length === 0
      ? `${first.label} had no record when dpp-sync read it.`
      : `${first.label} and ${others.length} more had no record when dpp-sync read them.`;
  return `${had} If there should be records, correct the options of the stream: then dpp-sync reads the files again.`;
}

/**
 * Counts the bytes of several files together. If the server does not state the size of a file, the size is added when
 * it is known.
 */
function createByteCount(files: readonly { bytes: number | null }[]) {
  let total = files.reduce((sum, file) => sum + (file.bytes ?? 0), 0);
  let before = 0;
  let at = 0;
  let size = files[0]?.bytes ?? 0;
  return {
    within(progress: Page['progress']): { done: number; total: number } {
      if (progress !== undefined && progress.total !== size) {
        total += progress.total - size;
        size = progress.total;
      }
      return { done: before + (progress?.done ?? 0), total };
    },
    /** Call it when a file was read to its end. */
    end(): { done: number; total: number } {
      before += size;
      at += 1;
      size = files[at]?.bytes ?? 0;
      return { done: before, total };
    },
  };
}

/**
 * Collects what the files of one read say about having no records. A file without records is usual among others, as in a folder
 * with messages of several kinds. So a message counts only if no file has given a row.
 */
function createNoRecords() {
  let rows = 0;
  let count = 0;
  let first: string | null = null;
  return {
    add: (message: string): void => {
      count += 1;
      first ??= message;
    },
    /** How many messages there are so far. */
    count: (): number => count,
    async *counted(pages: AsyncIterable<Page>): AsyncGenerator<Page> {
      for await (const page of pages) {
        rows += page.rows.length;
        yield page;
      }
    },
    /** The first message; null if there is none or if a file has given a row. */
    message: (): string | null => (rows > 0 ? null : first),
  };
}
