import { defineFileConnector, type FileRequest, sourceFault, z } from '../../src/sdk/index.ts';
import {
  formatDocumentPath,
  type ParentValue,
  type PathStep,
  parentValueOf,
  parseDocumentPath,
  recordPathOf,
} from './document-path.ts';
import { type JsonRequest, readJson } from './read.ts';

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
