import { z } from 'zod';
import type { JsonValue } from '../lib/json.ts';
import { type Connector, type ConnectorHost, defineConnector, type Page } from './connector.ts';
import { createFileProgress } from './file-progress.ts';
import { findFiles, formatFiles, type SourceFile } from './files.ts';
import { type OpenFile, openLocalFile } from './open-file.ts';
import { sharedPages } from './page-buffer.ts';

/** The stream options of every connector that reads files. */
const FILE_STREAM = {
  path: z
    .string()
    .min(1)
    .describe('The file, relative to the config file. `*` and `?` stand for characters within a file or folder name.'),
  files: z
    .enum(['all', 'latest'])
    .default('all')
    .describe('`all`: every matching file, in name order, as one snapshot. `latest`: the one that was modified last.'),
  contents: z
    .enum(['snapshot', 'changes'])
    .default('snapshot')
    .describe(
      '`snapshot`: the files hold everything there is. `changes`: each file holds what has changed, and files that were read are not read again.',
    ),
};

type FileStream = z.infer<z.ZodObject<typeof FILE_STREAM>>;
type OptionsOf<Shape extends z.ZodRawShape> = z.infer<z.ZodObject<Shape>>;

/** What a format gets to read a file. */
export interface FileRequest<Options, StreamOptions> {
  options: Options;
  stream: StreamOptions;
  signal: AbortSignal;
}

/** A connector for files, as its author writes it. */
export interface FileConnectorDefinition<Options extends z.ZodRawShape, Stream extends z.ZodRawShape> {
  id: string;
  title: string;
  /** The fields of the source's `options`, and what stands under a stream besides the file. */
  options: Options;
  streamOptions: Stream;
  /**
   * Reads the rows of one file, in order. The progress of a page counts the bytes of this file. A page belongs to one
   * file.
   */
  read(file: OpenFile, request: FileRequest<OptionsOf<Options>, OptionsOf<Stream>>): AsyncIterable<Page>;
  /** The names of the columns or members of a file, from its beginning. */
  columns(file: OpenFile, request: FileRequest<OptionsOf<Options>, OptionsOf<Stream>>): Promise<string[]>;
}

const COLUMNS_SHOWN = 12;

/**
 * Declares a connector for a file format. The format says how one file is read; where files come from, which of them are
 * read, and where a read of changes goes on, is the same for all of them.
 */
export function defineFileConnector<Options extends z.ZodRawShape, Stream extends z.ZodRawShape>(
  format: FileConnectorDefinition<Options, Stream>,
): Connector<OptionsOf<Options>, OptionsOf<Stream> & FileStream> {
  type Request = FileRequest<OptionsOf<Options>, OptionsOf<Stream> & FileStream>;
  const { id, title } = format;

  const find = (stream: FileStream, host: ConnectorHost): Promise<SourceFile[]> =>
    findFiles({ pattern: stream.path, select: stream.files, resolvePath: (path) => host.resolvePath(path) });

  async function* readSnapshot(files: readonly SourceFile[], request: Request): AsyncGenerator<Page> {
    const total = files.reduce((sum, file) => sum + file.bytes, 0);
    let before = 0;
    for (const file of files) {
      for await (const page of format.read(openLocalFile(file), request)) {
        yield { ...page, progress: { done: before + (page.progress?.done ?? 0), total } };
      }
      before += file.bytes;
    }
  }

  async function* readChanges(files: readonly SourceFile[], request: Request, cursor: JsonValue): AsyncGenerator<Page> {
    const progress = createFileProgress(files, cursor);
    const left = progress.unread();
    if (left.length === 0) {
      yield { rows: [], nothingNew: true };
      return;
    }
    const total = left.reduce((sum, file) => sum + file.bytes, 0);
    let before = 0;
    for (const file of left) {
      const known = progress.rowsOf(file);
      let rows = 0;
      for await (const page of format.read(openLocalFile(file), request)) {
        const given = page.rows.slice(Math.max(0, known - rows));
        rows += page.rows.length;
        if (given.length === 0) continue;
        const done = before + (page.progress?.done ?? 0);
        yield { rows: given, cursor: progress.partOf(file, rows), progress: { done, total } };
      }
      before += file.bytes;
      yield { rows: [], cursor: progress.wholeOf(file), progress: { done: before, total } };
    }
  }

  return defineConnector({
    id,
    title,
    reads: (_options, stream) => stream.contents,
    options: z.strictObject(format.options) as unknown as z.ZodType<OptionsOf<Options>>,
    streamOptions: z.strictObject({ ...FILE_STREAM, ...format.streamOptions }) as unknown as z.ZodType<
      OptionsOf<Stream> & FileStream
    >,
    async open(options, host) {
      return {
        async *pull({ name, options: stream, mode, cursor, signal }) {
          const files = await find(stream, host);
          host.log.debug({ stream: name, files: files.map((file) => file.name) }, 'Reading files.');
          const request = { options, stream, signal };
          yield* mode === 'snapshot' ? sharedPages(readSnapshot(files, request)) : readChanges(files, request, cursor);
        },
        async check({ options: stream, signal }) {
          signal.throwIfAborted();
          const files = await find(stream, host);
          const columns: string[] = [];
          for (const file of files) {
            for (const name of await format.columns(openLocalFile(file), { options, stream, signal })) {
              if (name !== '' && !columns.includes(name)) columns.push(name);
            }
          }
          const shown = columns.slice(0, COLUMNS_SHOWN).join(', ');
          const more = columns.length > COLUMNS_SHOWN ? ', …' : '';
          return {
            found: `${formatFiles(files)}, ${shown === '' ? 'no columns' : `columns ${shown}${more}`}`,
            columns,
          };
        },
        async close() {},
      };
    },
  });
}
