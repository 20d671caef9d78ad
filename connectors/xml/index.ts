import {
  defineFileConnector,
  type FileRequest,
  isRecordPath,
  isValuePath,
  readXmlPages,
  readXmlRecords,
  XML_FILE_OPTIONS,
  type XmlRecordOptions,
  z,
} from '../../src/sdk/index.ts';

const Name = z.string().min(1);

/** The source's `options`. */
const OPTIONS = {
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
      'Languages in order of preference, such as `[de, deu]`. If elements of one name differ in `xml:lang` or `lang`, the row has the text in the first of these languages under the name of the element, and the texts of all languages under `NAME@lang`.',
    ),
  trim: z.boolean().default(false).describe('Whether white space around the text of an element is removed.'),
};
type Options = z.infer<z.ZodObject<typeof OPTIONS>>;

/** The options of a stream besides its files. */
const STREAM_OPTIONS = {
  at: z
    .string()
    .refine(isRecordPath, {
      message: 'Write a path such as /CATALOG/PRODUCT, //PRODUCT, /CATALOG/*/PRODUCT or //PRODUCT | //ARTICLE.',
    })
    .describe(
      'The path of the elements that are records, such as `/CATALOG/PRODUCT`. `//` stands for any number of levels, and `*` for any characters of a name. `|` separates several paths.',
    ),
  lists: z
    .array(Name)
    .default([])
    .describe(
      'Elements that are always a list, even if a record has only one of them, so that a mapping can rely on a list.',
    ),
  objects: z
    .array(Name)
    .default([])
    .describe(
      'Elements that are always an object, even if they contain only text, so that a mapping can rely on an object.',
    ),
  parent: z
    .record(
      Name,
      z.string().refine(isValuePath, { message: 'Write a path such as ../ID, ../../@mode or /CATALOG/HEADER/DATE.' }),
    )
    .optional()
    .describe(
      'Values from around the record, by the names that they get in the row, such as `{ product: ../SUPPLIER_PID }`. The values must stand before the record in the file.',
    ),
};
type StreamOptions = z.infer<z.ZodObject<typeof STREAM_OPTIONS>>;

/** XML documents in which certain elements are the records. */
export const xml = defineFileConnector({
  id: 'xml',
  title: 'XML files',
  endings: ['.xml'],
  options: OPTIONS,
  streamOptions: STREAM_OPTIONS,
  read: (file, request) => readXmlPages(file, recordOptions(request), request.signal),
  async columns(file, request) {
    for await (const records of readXmlRecords(file, recordOptions(request), request.signal)) {
      return [...new Set(records.flatMap((record) => Object.keys(record.fields)))];
    }
    return [];
  },
});

function recordOptions({ options, stream, onNoRecords }: FileRequest<Options, StreamOptions>): XmlRecordOptions {
  const { at, lists, objects, parent } = stream;
  return {
    ...options,
    at,
    lists,
    objects,
    ...(parent === undefined ? {} : { parent }),
    onNoRecords: (message) => onNoRecords(`${message} If there should be records, correct \`at\`.`),
  };
}
