import { z } from '../../src/sdk/index.ts';

const Fields = z.strictObject({
  sheet: z
    .union([z.string().min(1), z.int().min(1)])
    .describe('The name of the sheet, or its number from 1. Without it, the first sheet that is not hidden is read.'),
  header: z
    .union([z.int().min(1), z.literal(false)])
    .describe(
      'The number of the row with the column names, as the spreadsheet counts rows. The rows above the header are not read. With `false` the sheet has no header, and the columns are named A, B, C.',
    ),
  headerRows: z
    .int()
    .min(1)
    .max(5)
    .describe(
      'How many rows the column names take, beginning with `header`. The names of a column are joined with a space; a merged cell names each of its columns.',
    ),
  hidden: z
    .enum(['read', 'skip'])
    .describe('Whether hidden rows and columns are read (`read`) or not (`skip`). A filter hides rows, for example.'),
  emptyErrors: z
    .array(z.string().regex(/^#/))
    .describe(
      'Error values that mean an empty cell, such as `["#N/A"]`. Any other error value is an issue of its row.',
    ),
  maxCellCharacters: z.int().min(64).max(16_777_216).describe('The longest text of a cell that is accepted.'),
  maxColumns: z
    .int()
    .min(1)
    .max(16_384)
    .describe('How many columns of a sheet are accepted. Empty cells beyond these columns do not count.'),
  maxUnpackedBytes: z
    .int()
    .min(1_000_000)
    .describe('The highest number of bytes of an unpacked sheet. A file with a larger sheet is refused.'),
});

/** The source's `options`. */
export const OPTIONS = {
  sheet: Fields.shape.sheet.optional(),
  header: Fields.shape.header.default(1),
  headerRows: Fields.shape.headerRows.default(1),
  hidden: Fields.shape.hidden.default('read'),
  emptyErrors: Fields.shape.emptyErrors.default([]),
  maxCellCharacters: Fields.shape.maxCellCharacters.default(1_048_576),
  maxColumns: Fields.shape.maxColumns.default(1_000),
  maxUnpackedBytes: Fields.shape.maxUnpackedBytes.default(4_294_967_296),
};

/** The settings for reading a workbook. */
export type Layout = z.infer<z.ZodObject<typeof OPTIONS>>;

/** The options of a stream besides its files. They replace those of the source. */
export const STREAM_OPTIONS = Fields.partial().shape;
type StreamOptions = z.infer<z.ZodObject<typeof STREAM_OPTIONS>>;

/** The source's layout with the changes of the stream. */
export function layoutOf(options: Layout, stream: StreamOptions): Layout {
  const overrides = Object.entries(stream).filter(([name, value]) => name in Fields.shape && value !== undefined);
  return { ...options, ...Object.fromEntries(overrides) };
}
