import { z } from '../../src/sdk/index.ts';
import { parseDocumentPath } from './document-path.ts';

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
export const OPTIONS = {
  format: Fields.shape.format.default('auto'),
  maxRecordBytes: Fields.shape.maxRecordBytes.default(1024 * 1024),
};
export type Options = z.infer<z.ZodObject<typeof OPTIONS>>;

/** The options of a stream besides its files. */
export const STREAM_OPTIONS = {
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
export type StreamOptions = z.infer<z.ZodObject<typeof STREAM_OPTIONS>>;
