import { isRecordPath, isValuePath, XML_FILE_OPTIONS, z } from '../../src/sdk/index.ts';

const Name = z.string().min(1);

/** The source's `options`. */
export const OPTIONS = {
  ...XML_FILE_OPTIONS,
  prefixes: z
    .enum(['strip', 'keep'])
    .default('strip')
    .describe('`strip`: `g:name` is `name` in paths and rows. `keep`: names stay as they are in the file.'),
  language: z
    .array(Name)
    .min(1)
    .optional()
    .describe(
      'Languages in order of preference, as `[de, deu]`. Of elements that differ in `xml:lang` or `lang`, the first of these stands under the name of the element, and all of them under `NAME@lang`.',
    ),
  trim: z.boolean().default(false).describe('Whether white space around the text of an element is removed.'),
};
export type Options = z.infer<z.ZodObject<typeof OPTIONS>>;

/** What stands under a stream besides its files. */
export const STREAM_OPTIONS = {
  at: z
    .string()
    .refine(isRecordPath, {
      message: 'Write a path such as /CATALOG/PRODUCT, //PRODUCT, /CATALOG/*/PRODUCT or //PRODUCT | //ARTICLE.',
    })
    .describe(
      'Which elements are records: `/CATALOG/PRODUCT`. `//` stands for any levels between, `*` for any characters of a name, `|` separates several paths.',
    ),
  lists: z
    .array(Name)
    .default([])
    .describe('Elements that are lists even where there is one of them, so that a mapping can count on it.'),
  objects: z
    .array(Name)
    .default([])
    .describe('Elements that are objects even where they have only text, because some of them have attributes.'),
  parent: z
    .record(
      Name,
      z.string().refine(isValuePath, { message: 'Write a path such as ../ID, ../../@mode or /CATALOG/HEADER/DATE.' }),
    )
    .optional()
    .describe(
      'Values from around the record, by the names that they get in the row: `{ product: ../SUPPLIER_PID }`. They must stand before the record in the file.',
    ),
};
export type StreamOptions = z.infer<z.ZodObject<typeof STREAM_OPTIONS>>;
