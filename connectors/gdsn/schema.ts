import { CHANGES_BY_DEFAULT, XML_FILE_OPTIONS, z } from '../../src/sdk/index.ts';

/** The source's `options`. */
export const OPTIONS = {
  ...XML_FILE_OPTIONS,
  maxRecordBytes: XML_FILE_OPTIONS.maxRecordBytes
    .default(16 * 1024 * 1024)
    .describe(
      'The longest document command that is accepted, with all items of its hierarchy. Characters are counted.',
    ),
  language: z
    .array(z.string().min(1))
    .min(1)
    .default(['en'])
    .describe(
      'Languages in order of preference, such as `[de, en]`. The texts of all languages are in `tradeItemDescription@lang`.',
    ),
};
export type Options = z.infer<z.ZodObject<typeof OPTIONS>>;

/** The options of a stream besides its files. */
export const STREAM_OPTIONS = {
  ...CHANGES_BY_DEFAULT,
  records: z
    .enum(['items', 'children'])
    .default('items')
    .describe('What the rows are: `items`, or for each item the `children` in its packages, with their quantities.'),
};
export type StreamOptions = z.infer<z.ZodObject<typeof STREAM_OPTIONS>>;
