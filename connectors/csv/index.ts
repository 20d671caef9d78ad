import { defineConnector, findFiles, formatFiles } from '../../src/sdk/index.ts';
import { readColumnNames, readCsv } from './read.ts';
import { dialectOf, Options, StreamOptions } from './schema.ts';

const COLUMNS_SHOWN = 12;

/** Delimited text files: CSV, TSV and the flat files of older systems. */
export const csv = defineConnector<Options, StreamOptions>({
  id: 'csv',
  title: 'Delimited text files (CSV, TSV) from a folder',
  reads: 'snapshot',
  options: Options,
  streamOptions: StreamOptions,
  async open(options, host) {
    const prepare = async (stream: StreamOptions) => {
      const dialect = dialectOf(options, stream);
      const files = await findFiles({
        pattern: stream.path,
        select: stream.files,
        resolvePath: (path) => host.resolvePath(path),
      });
      return { dialect, files };
    };
    return {
      async *read(request) {
        const { dialect, files } = await prepare(request.options);
        host.log.debug({ stream: request.name, files: files.map((file) => file.name) }, 'Reading files.');
        yield* readCsv(files, { dialect, signal: request.signal });
      },
      async probe(stream) {
        const { dialect, files } = await prepare(stream.options);
        let columns: string[] = [];
        for (const file of files) columns = await readColumnNames(file, { dialect, signal: stream.signal });
        const named = columns.filter((name) => name !== '');
        const shown = named.slice(0, COLUMNS_SHOWN).join(', ');
        return `${formatFiles(files)}, columns ${shown}${named.length > COLUMNS_SHOWN ? ', …' : ''}`;
      },
      async close() {},
    };
  },
});
