import { defineConnector, findFiles, formatFiles } from '../../src/sdk/index.ts';
import { parseDocumentPath } from './document-path.ts';
import { type JsonRequest, readJson } from './read.ts';
import { Options, StreamOptions } from './schema.ts';

const MEMBERS_SHOWN = 12;

/** JSON documents with a list of records in them, and NDJSON. */
export const json = defineConnector<Options, StreamOptions>({
  id: 'json',
  title: 'JSON and NDJSON files from a folder',
  reads: 'snapshot',
  options: Options,
  streamOptions: StreamOptions,
  async open(options, host) {
    const prepare = async (stream: StreamOptions, signal: AbortSignal) => {
      const request: JsonRequest = {
        format: stream.format ?? options.format,
        maxRecordBytes: stream.maxRecordBytes ?? options.maxRecordBytes,
        steps: parseDocumentPath(stream.at) ?? [],
        where: stream.where,
        signal,
      };
      const files = await findFiles({
        pattern: stream.path,
        select: stream.files,
        resolvePath: (path) => host.resolvePath(path),
      });
      return { request, files };
    };
    return {
      async *read(request) {
        const prepared = await prepare(request.options, request.signal);
        host.log.debug({ stream: request.name, files: prepared.files.map((file) => file.name) }, 'Reading files.');
        yield* readJson(prepared.files, prepared.request);
      },
      async probe(stream) {
        const { request, files } = await prepare(stream.options, stream.signal);
        let members: string[] = [];
        for await (const page of readJson(files, request)) {
          members = Object.keys(page.rows.find((row) => row.issues === undefined)?.fields ?? {});
          if (members.length > 0) break;
        }
        const shown = members.slice(0, MEMBERS_SHOWN).join(', ');
        const more = members.length > MEMBERS_SHOWN ? ', …' : '';
        return `${formatFiles(files)}, ${shown === '' ? 'no elements' : `members ${shown}${more}`}`;
      },
      async close() {},
    };
  },
});
