import { z } from 'zod';

/** The behaviour of the bulk import, which the document does not define. */
export const ImportSettings = z
  .strictObject({
    upserts: z
      .boolean()
      .default(true)
      .describe('Whether a row with the SKU of an existing product updates this product. If not, the row fails.'),
    answer: z
      .enum(['per-row', 'summary', 'none', 'later'])
      .default('per-row')
      .describe(
        'What the answer has: the result of each row, only counts of results, only the status 202, or 202 with the id of a job.',
      ),
    storesAfterMs: z
      .int()
      .min(0)
      .max(86_400_000)
      .default(0)
      .describe(
        'How long after the answer the rows are stored, in milliseconds. Until then no list has the new products. This setting needs another `answer` than `per-row`.',
      ),
    rowsMax: z.int().min(1).max(100_000).default(1000).describe('The highest number of rows of one import.'),
    rowsMaxStatus: z
      .union([z.literal(400), z.literal(413), z.literal(422)])
      .default(400)
      .describe('The status that refuses an import with more rows.'),
    bytesMax: z
      .int()
      .min(1)
      .nullable()
      .default(null)
      .describe(
        'The highest number of bytes of the body of an import. The answer to a larger body is 413. With null only `bodyBytesMax` limits it.',
      ),
    bytesMaxAnswer: z
      .enum(['json', 'nginx'])
      .default('json')
      .describe(
        'The body of the answer 413 to a large import: JSON, as the application sends it, or the page of an nginx in front of the application.',
      ),
    badRow: z
      .enum(['fails-alone', 'refuses-all', 'refuses-all-named'])
      .default('fails-alone')
      .describe(
        'What happens if a row is bad: only this row fails; or the import is refused with 400, without naming the row; or the import is refused with a list of the errors of each row, in the order of the rows.',
      ),
    doublesNew: z
      .boolean()
      .default(false)
      .describe(
        'Whether every new product of an import is stored twice, under two ids. This setting needs storage in memory.',
      ),
    doublesExisting: z
      .boolean()
      .default(false)
      .describe(
        'Whether a row with the SKU of an existing product creates a second product, instead of updating the first. This setting needs storage in memory.',
      ),
  })
  .refine(({ answer, storesAfterMs }) => answer !== 'per-row' || storesAfterMs === 0, {
    path: ['storesAfterMs'],
    message:
      'found a delay with the answer per-row, expected 0 or another answer, because a per-row answer has the ids of stored rows',
  });
export type ImportSettings = z.infer<typeof ImportSettings>;
/** The settings of the import from a caller. A setting that is left out gets its default. */
export type ImportOptions = z.input<typeof ImportSettings>;
