import { z } from '../../src/sdk/index.ts';
import { parseDocumentPath } from './document-path.ts';

const Fields = z.strictObject({
  format: z
    .enum(['auto', 'array', 'ndjson'])
    .describe(
      '`array`: one document with a list in it. `ndjson`: one value per line. `auto`: files that end in `.ndjson` or `.jsonl` are NDJSON; so is a file whose first line is a complete object and whose second line is another, where `at` is not used. Every other file is a document.',
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

/** What stands under a stream besides its files. */
export const STREAM_OPTIONS = {
  at: z
    .string()
    .default('$')
    .refine((at) => parseDocumentPath(at) !== null, {
      message: 'Write a path such as $, $.data.parts, $["data set"].parts, $.pages[0].items or $.parts[*].lines[*].',
    })
    .describe(
      'Where the list stands in a document: `$` when the document is the list, else member names and indexes, as `$.data.parts`, `$["data set"].parts` or `$.pages[0].items`. `[*]` leads into every element of a list, so that nested lists are streams: `$.parts[*].lines[*]`.',
    ),
  where: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
    .optional()
    .describe(
      'Only elements whose members have these values, as `{ model: part.part }`; others are not read. So a list with several kinds of record becomes several streams. An element that is no object is reported in each of them.',
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
