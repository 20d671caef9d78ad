import { XML_FILE_OPTIONS, z } from '../../src/sdk/index.ts';

/** The source's `options`. */
export const OPTIONS = {
  ...XML_FILE_OPTIONS,
  language: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe(
      'Languages in order of preference, such as `[deu, de]`, for catalogues with several languages. By default it is the first LANGUAGE of the header. The texts of all languages are in `DESCRIPTION_SHORT@lang` and similar fields.',
    ),
  catalog: z
    .string()
    .min(1)
    .optional()
    .describe('The CATALOG_ID that the header must have, so that the file of another catalogue is refused.'),
};
export type Options = z.infer<z.ZodObject<typeof OPTIONS>>;

const RECORDS = ['products', 'references', 'features', 'classes', 'prices', 'groups', 'group-members'] as const;

/** The options of a stream besides its files. */
export const STREAM_OPTIONS = {
  records: z
    .enum(RECORDS)
    .default('products')
    .describe(
      'What the rows are: `products`; for each product its `references` (BOM lines among them), `features`, `classes` or `prices`; the catalogue `groups` and their `group-members`.',
    ),
};
export type Records = (typeof RECORDS)[number];
