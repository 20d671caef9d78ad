import { defineFileConnector, type FileRequest } from '../../src/sdk/index.ts';
import { parseDocumentPath } from './document-path.ts';
import { type JsonRequest, readJson } from './read.ts';
import { OPTIONS, type Options, STREAM_OPTIONS, type StreamOptions } from './schema.ts';

/** JSON documents with a list of records in them, and NDJSON. */
export const json = defineFileConnector({
  id: 'json',
  title: 'JSON and NDJSON files',
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

function jsonRequest({ options, stream, signal }: FileRequest<Options, StreamOptions>): JsonRequest {
  return {
    format: stream.format ?? options.format,
    maxRecordBytes: stream.maxRecordBytes ?? options.maxRecordBytes,
    steps: parseDocumentPath(stream.at) ?? [],
    where: stream.where,
    signal,
  };
}
