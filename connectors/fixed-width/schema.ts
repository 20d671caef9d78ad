import iconv from 'iconv-lite';
import { sourceFault, z } from '../../src/sdk/index.ts';

const Column = z
  .strictObject({
    name: z.string().min(1).describe('The name of the column.'),
    from: z.int().min(1).describe('The position of its first character, from 1.'),
    length: z.int().min(1).optional().describe('How many characters it has.'),
    to: z.int().min(1).optional().describe('The position of its last character, in place of `length`.'),
    type: z
      .enum(['text', 'decimal', 'date'])
      .default('text')
      .describe(
        '`text`: the text as it stands. `decimal`: a number, which is rewritten as a plain decimal and stays text. `date`: digits as text; the value is empty if all digits are 0.',
      ),
    decimals: z
      .int()
      .min(1)
      .max(20)
      .optional()
      .describe('For `decimal`: how many of the last digits are decimals, if the file has no decimal mark.'),
  })
  .refine(({ length, to }) => (length === undefined) !== (to === undefined), {
    error: 'a column with either `length` or `to`',
  })
  .refine(({ from, to }) => to === undefined || to >= from, { error: 'a column whose `to` is not before its `from`' })
  .refine(({ type, decimals }) => decimals === undefined || type === 'decimal', {
    error: 'a column of the type `decimal`, since it has `decimals`',
  });
export type Column = z.infer<typeof Column>;

const Columns = z
  .array(Column)
  .min(1)
  .refine((columns) => new Set(columns.map(({ name }) => name)).size === columns.length, {
    error: 'columns with different names',
  });

const Fields = z.strictObject({
  encoding: z
    .string()
    .min(1)
    .refine((name) => iconv.encodingExists(name), {
      error: 'an encoding, such as utf-8, windows-1252, iso-8859-1, iso-8859-15, utf-16le or shift_jis',
    })
    .describe('Text encoding, such as `utf-8` or `windows-1252`. A byte order mark in the file takes precedence.'),
  recordLength: z
    .int()
    .min(1)
    .describe('The length of a record in characters, for files without line ends. By default each line is a record.'),
  skipLines: z.int().min(0).describe('How many lines or records at the beginning of the file are not read.'),
  trim: z
    .enum(['both', 'end', 'none'])
    .describe('Where the blanks that fill a column are removed from its value: at both ends, at the end, or nowhere.'),
  decimalMark: z
    .enum([',', '.'])
    .describe('The decimal mark of the decimals in the file. The other mark separates thousands.'),
  maxRecordBytes: z
    .int()
    .min(64)
    .max(64 * 1024 * 1024)
    .describe('The longest line that is accepted. Characters are counted.'),
});

/** The source's `options`. */
export const OPTIONS = {
  encoding: Fields.shape.encoding.default('utf-8'),
  recordLength: Fields.shape.recordLength.optional(),
  skipLines: Fields.shape.skipLines.default(0),
  trim: Fields.shape.trim.default('both'),
  decimalMark: Fields.shape.decimalMark.default('.'),
  maxRecordBytes: Fields.shape.maxRecordBytes.default(1_048_576),
};
type Options = z.infer<z.ZodObject<typeof OPTIONS>>;

const prefix = z.string().min(1);

/** The options of a stream besides its files. */
export const STREAM_OPTIONS = {
  columns: Columns.describe(
    'The columns, such as `{ name: MATNR, from: 1, length: 18 }`; text outside of all columns is not read. Positions count characters from 1.',
  ),
  prefix: prefix
    .optional()
    .describe('Only records that begin with this text are read. So each record type can be a stream of its own.'),
  parent: z
    .strictObject({
      prefix: prefix.describe('The text with which the records of this type begin.'),
      columns: Columns.describe(
        'The columns of that record. Each row gets these columns in addition to its own columns.',
      ),
    })
    .optional()
    .describe('A record type that comes before the rows of this stream, such as the header before its items.'),
  ...Fields.partial().shape,
};
type StreamOptions = z.infer<z.ZodObject<typeof STREAM_OPTIONS>>;

/** The form in which the records of a stream are written. */
export type Layout = Options & Pick<StreamOptions, 'columns' | 'prefix' | 'parent'>;

/**
 * The source's layout with the changes of the stream.
 *
 * @throws a `sourceFault` if options contradict each other
 */
export function layoutOf(options: Options, stream: StreamOptions): Layout {
  const { columns, prefix, parent } = stream;
  const overrides = Object.entries(stream).filter(([name, value]) => name in Fields.shape && value !== undefined);
  const layout = { ...options, ...Object.fromEntries(overrides), columns, prefix, parent } as Layout;
  const own = new Set(columns.map(({ name }) => name));
  const twice = parent?.columns.find(({ name }) => own.has(name));
  if (twice !== undefined) {
    throw sourceFault(`The stream and its parent both have a column ${twice.name}.`, {
      suggestion: 'Give one of the two columns another name.',
    });
  }
  const { recordLength } = layout;
  const beyond = [...columns, ...(parent?.columns ?? [])].find((column) => endOf(column) > (recordLength ?? Infinity));
  if (beyond !== undefined) {
    throw sourceFault(
      `The column ${beyond.name} ends at ${endOf(beyond)}, and a record has ${recordLength ?? 0} characters.`,
      { suggestion: 'Correct `recordLength` or the column.' },
    );
  }
  return layout;
}

/** The position after the last character of a column, from 0. */
export function endOf({ from, length, to }: Column): number {
  return to ?? from - 1 + (length ?? 1);
}
