import { defineFileConnector, type FileRequest, sourceFault } from '../../src/sdk/index.ts';
import {
  formatDocumentPath,
  type ParentValue,
  type PathStep,
  parentValueOf,
  parseDocumentPath,
  recordPathOf,
} from './document-path.ts';
import { type JsonRequest, readJson } from './read.ts';
import { OPTIONS, type Options, STREAM_OPTIONS, type StreamOptions } from './schema.ts';

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
