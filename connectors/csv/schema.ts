import { Encoding, type HeaderCandidate, sourceFault, z } from '../../src/sdk/index.ts';

const Character = z.string().length(1);

/** Every option of the dialect, without defaults. A stream may override each of them. */
const DialectFields = z.strictObject({
  delimiter: z
    .string()
    .min(1)
    .describe('The text between two values, such as `;`. It may have several characters, such as `+|`.'),
  quote: Character.nullable().describe('The character around quoted values; `null` if the file has no quoted values.'),
  escape: Character.describe(
    'The character before a quote that is a part of a quoted value. By default such a quote is doubled. Before any other character, the escape character is ordinary text, so `C:\\temp` stays as it is.',
  ),
  header: z.boolean().describe('Whether the first row has the column names.'),
  columns: z
    .array(z.string().min(1))
    .min(1)
    .describe(
      'The names of the columns, in order, for a file without a header or in place of its header. Without a header and without `columns` the names are `column1`, `column2` and so on.',
    ),
  encoding: Encoding,
  recordDelimiter: z
    .string()
    .min(1)
    .describe(
      'The text that ends a row if it is not a line end, such as `"&|\\n"`. By default a row ends with LF or CRLF, and a file may mix the two. If the first line ends with CR, every row ends with CR.',
    ),
  comment: z.string().min(1).describe('Rows that begin with this text are not read.'),
  skipLines: z.int().min(0).describe('How many lines before the header are not read.'),
  trim: z.boolean().describe('Whether white space around values that are not quoted is removed.'),
  decimalColumns: z
    .array(z.string().min(1))
    .describe(
      'The columns whose numbers are rewritten as plain decimals: `1.234,56` as `1234.56`, and `302,35-` as `-302.35`. The numbers stay text.',
    ),
  decimalMark: z.enum([',', '.']).describe('The decimal mark in `decimalColumns`. The other mark separates thousands.'),
  maxRecordBytes: z
    .int()
    .min(64)
    .max(64 * 1024 * 1024)
    .describe('The highest length of a row. Characters are counted, so text beyond ASCII may have more bytes.'),
});

const fields = DialectFields.shape;

/** The source's `options`. */
export const OPTIONS = {
  ...fields,
  delimiter: fields.delimiter.default(','),
  quote: fields.quote.default('"'),
  escape: fields.escape.optional(),
  header: fields.header.default(true),
  columns: fields.columns.optional(),
  encoding: fields.encoding.default('utf-8'),
  recordDelimiter: fields.recordDelimiter.optional(),
  comment: fields.comment.optional(),
  skipLines: fields.skipLines.default(0),
  trim: fields.trim.default(false),
  decimalColumns: fields.decimalColumns.default([]),
  decimalMark: fields.decimalMark.default(','),
  maxRecordBytes: fields.maxRecordBytes.default(1024 * 1024),
};

/** The options of a stream: the settings of the dialect of its files that differ from the source's. */
export const STREAM_OPTIONS = DialectFields.partial().shape;
export type StreamOptions = z.infer<z.ZodObject<typeof STREAM_OPTIONS>>;

/** The form in which a file is written. */
export type Dialect = z.infer<z.ZodObject<typeof OPTIONS>>;

/** The source's dialect with the changes of the stream. */
export function dialectOf(options: Dialect, stream: StreamOptions): Dialect {
  const overrides = Object.entries(stream).filter(([name, value]) => name in fields && value !== undefined);
  const dialect: Dialect = { ...options, ...Object.fromEntries(overrides) };
  const { delimiter, quote, recordDelimiter } = dialect;
  if (quote !== null && (delimiter.includes(quote) || recordDelimiter?.includes(quote))) {
    throw sourceFault(`The quote ${JSON.stringify(quote)} is also part of a delimiter.`, {
      suggestion: 'Set `quote: null` if the file has no quoted values.',
    });
  }
  if (recordDelimiter === undefined ? /[\r\n]/.test(delimiter) : delimiter.includes(recordDelimiter)) {
    throw sourceFault(`The delimiter ${JSON.stringify(delimiter)} also ends a row.`, {
      suggestion: 'Check `delimiter` and `recordDelimiter`.',
    });
  }
  return dialect;
}

/** A first line such as `sep=;`, with which Excel and its readers name the delimiter. Some programs write it in quotes. */
const SEPARATOR_LINE = /^("?)sep=([^\r\n"])\1(?:\r?\n|\r|$)/i;
export const SEPARATOR_LINE_MAX = '"sep=;"\r\n'.length;

/** The line of a text that names the delimiter, and the delimiter; null if the text begins with another line. */
export function separatorLineOf(text: string): { line: string; delimiter: string } | null {
  const [line, , delimiter] = SEPARATOR_LINE.exec(text.slice(0, SEPARATOR_LINE_MAX)) ?? [];
  return line === undefined || delimiter === undefined ? null : { line, delimiter };
}

interface Separated {
  /** The values of the header, and the number of its line. */
  values: readonly string[];
  recordLine: number;
  file: string;
  /** The text of the file from its beginning. */
  text: string;
  dialect: Dialect;
  below: () => readonly HeaderCandidate[];
}

const USUAL = [';', ',', '\t', '|'];
const SHOWN_MAX = 100;

/**
 * A first line such as `sep=|` above rows with another delimiter would make each row one value.
 *
 * @throws a `sourceFault` if the first line names a delimiter, and the rows are divided by another one
 */
export function assertSeparator({ values, recordLine, file, text, dialect, below }: Separated): void {
  const [header = '', ...others] = values;
  const named = separatorLineOf(text);
  if (named === null || others.length > 0 || named.delimiter === dialect.quote) return;
  const rows = below().map((row) => row.values.join(named.delimiter));
  const meant = [dialect.delimiter, ...USUAL].find((delimiter) => {
    const count = header.split(delimiter).length;
    if (delimiter === named.delimiter || count < 2) return false;
    return rows.length === 0 || rows.some((row) => row.split(delimiter).length === count);
  });
  if (meant === undefined) return;
  throw sourceFault(
    `${file}, line 1: ${named.line.trim()} says that ${JSON.stringify(named.delimiter)} divides the values, but ${JSON.stringify(meant)} divides line ${recordLine}: ${header.slice(0, SHOWN_MAX)}.`,
    {
      suggestion: `Correct the first line of the export, or remove it and set the option \`delimiter\` to ${JSON.stringify(meant)}.`,
    },
  );
}
