import { RecordScanner } from '../../../connectors/csv/record-scanner.ts';
import { type Dialect, separatorLineOf } from '../../../connectors/csv/schema.ts';
import { comparableName } from '../../domain/natural-key.ts';
import { isEmptyText, looksLikeValue } from './value-checks.ts';

/** The dialect of a delimited text, as options of the connector `csv`, and the evidence for it. */
interface FoundDialect {
  options: Partial<Dialect>;
  /** Reasons by the option that they explain. */
  reasons: Partial<Record<keyof Dialect, string>>;
  columns: number;
}

const DELIMITERS = [';', ',', '\t', '|', '+|', '||', '~', '^', '¦', '\u001f'];
const TEXT_MAX = 512 * 1024;
const ROWS_MAX = 1_000;
const TITLE_LINES_MAX = 20;
/** The least share of rows that have as many values as most of them. */
const REGULAR_MIN = 0.6;

interface Attempt extends Table {
  delimiter: string;
  quote: string | null;
  /** The share of rows that have as many values as most of them, and no defect. */
  regular: number;
  /** The rows that cannot be divided. */
  defects: number;
  /** How many values begin with a double quote. */
  opening: number;
}

/** @returns null if no delimiter divides the lines into the same number of values */
export function recogniseCsv(text: string, isWhole: boolean): FoundDialect | null {
  const head = wholeLines(text.slice(0, TEXT_MAX), isWhole && text.length <= TEXT_MAX);
  const recordDelimiter = recordDelimiterOf(head);
  const named = separatorLineOf(head)?.delimiter;
  const delimiters = named === undefined ? DELIMITERS.filter((delimiter) => head.includes(delimiter)) : [named];
  const attempts = delimiters.map((delimiter) =>
    byQuote(
      attemptOf(head, { delimiter, quote: '"', recordDelimiter }),
      attemptOf(head, { delimiter, quote: null, recordDelimiter }),
    ),
  );
  const [best] = attempts.filter(isTable).toSorted(byFit);
  if (best === undefined) return null;
  const first = firstRowOf(best);
  const above = (best.rows[first]?.line ?? 1) - 1;
  // The connector passes over the line that names the delimiter.
  const skipLines = named !== undefined && above === 1 ? 0 : above;
  // A few lines above a header may be a title. If there are more lines, they are not a title, and the connector reports
  // them.
  const isTitled = skipLines > 0 && skipLines <= TITLE_LINES_MAX;
  const uneven = isTitled ? unevenHeaderOf(best, first) : null;
  if (uneven !== null) {
    const isRowsLine = named !== undefined && uneven.skipLines === 1;
    const lines = isRowsLine && uneven.header.options.header !== false ? 0 : uneven.skipLines;
    const shape = { recordDelimiter, skipLines: lines, isNamed: named !== undefined };
    return { columns: best.columns, ...withDialect(best, shape, uneven.header) };
  }
  const header = headerOf(best, isTitled ? first : 0);
  return {
    columns: best.columns,
    ...withDialect(
      best,
      { recordDelimiter, skipLines: isTitled ? skipLines : 0, isNamed: named !== undefined },
      header,
    ),
  };
}

function withDialect(
  { delimiter, quote, rows, columns, regular }: Attempt,
  { recordDelimiter, skipLines, isNamed }: { recordDelimiter: string | undefined; skipLines: number; isNamed: boolean },
  header: FoundHeader,
): Pick<FoundDialect, 'options' | 'reasons'> {
  const share = Math.round(regular * rows.length);
  const options: Partial<Dialect> = { delimiter, ...header.options };
  const reasons: FoundDialect['reasons'] = {
    delimiter: `${isNamed ? 'the first line of the file names it; ' : ''}${share} of the first ${rows.length} rows have ${columns} values with it`,
    ...header.reasons,
  };
  if (quote === null) {
    options.quote = null;
    reasons.quote = 'quotes are part of values here: they do not stand around them';
  }
  if (recordDelimiter !== undefined) {
    options.recordDelimiter = recordDelimiter;
    reasons.recordDelimiter = 'rows end with it';
  }
  if (skipLines > 0) {
    options.skipLines = skipLines;
    reasons.skipLines = 'the lines above the header have fewer values';
  }
  return { options, reasons };
}

/**
 * Compares which of two attempts divides the lines better. If two delimiters are equally good, the longer one is used,
 * because it contains the other one.
 */
function byFit(one: Attempt, other: Attempt): number {
  const difference = other.regular - one.regular;
  if (Math.abs(difference) > 0.02) return difference;
  return other.columns - one.columns || other.delimiter.length - one.delimiter.length;
}

/**
 * Decides whether quotes enclose values or are a part of them, such as inch signs. They are a part if rows are complete
 * only without treating them as quotes, and no value begins with one. Where a value begins with one, a quote that is not
 * closed is more likely: its row can then not be read, and no name begins with a quote.
 */
function byQuote(quoted: Attempt, plain: Attempt): Attempt {
  if (!isTable(quoted)) return isTable(plain) ? plain : quoted;
  return plain.regular > quoted.regular && plain.opening === 0 ? plain : quoted;
}

function isTable({ columns, regular, rows }: Attempt): boolean {
  return columns > 1 && rows.length > 0 && regular >= REGULAR_MIN;
}

function attemptOf(
  text: string,
  {
    delimiter,
    quote,
    recordDelimiter,
  }: { delimiter: string; quote: string | null; recordDelimiter?: string | undefined },
): Attempt {
  const scanner = new RecordScanner({
    delimiter,
    quote,
    ...(recordDelimiter === undefined ? {} : { recordDelimiter }),
    encoding: 'utf-8',
    header: false,
    skipLines: 0,
    trim: false,
    decimalColumns: [],
    decimalMark: ',',
    maxRecordBytes: TEXT_MAX,
  });
  scanner.feed(text, true);
  const rows: Attempt['rows'] = [];
  const sizes = new Map<number, number>();
  let defects = 0;
  while (rows.length + defects < ROWS_MAX && scanner.next()) {
    if (scanner.defect !== undefined) {
      defects += 1;
      continue;
    }
    rows.push({ line: scanner.recordLine, values: [...scanner.values] });
    sizes.set(scanner.values.length, (sizes.get(scanner.values.length) ?? 0) + 1);
  }
  const [columns, having] = [...sizes].reduce((most, one) => (one[1] > most[1] ? one : most), [0, 0]);
  const opening = rows.flatMap(({ values }) => values).filter((value) => value.startsWith('"')).length;
  const regular = having / Math.max(1, rows.length + defects);
  return { delimiter, quote, rows, columns, regular, defects, opening };
}

/**
 * The delimiter of records; undefined for the usual one. SQL Server's bcp can write a special sign before each line
 * end, if values have line ends in them.
 */
function recordDelimiterOf(text: string): string | undefined {
  return text.split('&|\n').length > 2 ? '&|\n' : undefined;
}

function wholeLines(text: string, isWhole: boolean): string {
  if (isWhole) return text;
  const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r'));
  return end < 0 ? text : text.slice(0, end + 1);
}

// Finds the header of a delimited text, below lines of a title.

/** The rows of a delimited text. */
interface Table {
  rows: { line: number; values: string[] }[];
  /** How many values most of the rows have. */
  columns: number;
}

/** The options for the header, and their reasons. */
interface FoundHeader {
  options: Partial<Dialect>;
  reasons: Partial<Record<keyof Dialect, string>>;
}

/** The least share of the columns for which a header has names. */
const FILLED_MIN = 0.7;
const OF_TITLE =
  'If the first lines are a title, delete them and run init again with --force. Or set `skipLines` and `header: true`, and write the names of the columns in the mapping.';

/**
 * The first row that has as many values as most rows, and is not a line of a title. Excel writes empty values after a
 * title, so that the title is as wide as the table. -1 if there is no such row.
 */
function firstRowOf(table: Table): number {
  const { rows, columns } = table;
  const wide = rows.findIndex(({ values }) => values.length === columns);
  const filled = rows.findIndex((row, at) => at >= wide && !isSparse(row, columns));
  if (wide < 0 || filled <= wide || !hasNames(table, filled)) return wide;
  const named = rows[filled]?.values.length ?? 0;
  if (named === columns) return filled;
  const isUneven = Math.abs(named - columns) === 1 && !hasNames(table, filled + 1);
  return isUneven ? filled + 1 : wide;
}

function isSparse({ values }: Table['rows'][number], columns: number): boolean {
  return values.filter((value) => !isEmptyText(value)).length < columns * FILLED_MIN;
}

/** True if a row has the names of columns, and not values like those of the rows below it. */
function hasNames(table: Table, at: number): boolean {
  return headerOf(table, at).options.header !== false && !isLikeRowsBelow(table, at);
}

/** True if a value of a row differs at most in its digits from a value below it, such as `A-1` from `A-2`. */
function isLikeRowsBelow({ rows }: Table, at: number): boolean {
  const shapes = rows[at]?.values.map(shapeOf) ?? [];
  return rows.slice(at + 1).some(({ values }) => {
    const below = values.map(shapeOf);
    const isAlike = shapes.some((shape, column) => shape !== '' && shape === below[column]);
    // Some reports repeat the header on each page.
    return isAlike && shapes.some((shape, column) => shape !== below[column]);
  });
}

function shapeOf(value: string): string {
  return value.trim().replaceAll(/\d+/g, '0');
}

/** Decides whether the first row is a header: its values are filled, different, and neither numbers nor dates. */
function headerOf({ rows }: Table, first: number): FoundHeader {
  const values = rows[first]?.values ?? [];
  const names = values.map((value) => value.trim());
  const filled = names.filter((name) => !isEmptyText(name));
  const value = filled.find(looksLikeValue);
  if (value !== undefined) return noHeader(`the first row has the value ${JSON.stringify(value)}, which is not a name`);
  if (filled.length < names.length * FILLED_MIN)
    return noHeader('the first row has too many empty values for column names');
  const forms = filled.map(comparableName);
  const at = forms.findIndex((form, index) => forms.indexOf(form) !== index);
  const twice = forms[at];
  if (twice === undefined) return { options: {}, reasons: {} };
  const isSame = filled.indexOf(filled[at] ?? '') !== at;
  const how = isSame ? '' : ', in characters that look the same';
  return {
    options: { columns: uniqueNames(names) },
    reasons: {
      columns: `the header has the name ${JSON.stringify(twice)} more than once${how}, so all names are given here`,
    },
  };
}

/**
 * Finds a header that has one name fewer or one name more than the rows below it have values. Null if the row at `first`
 * is the header, or if the row above it has no names.
 */
function unevenHeaderOf(table: Table, first: number): { skipLines: number; header: FoundHeader } | null {
  const { rows, columns } = table;
  const above = rows[first - 1];
  const names = above?.values.map((name) => name.trim()) ?? [];
  if (above === undefined || Math.abs(names.length - columns) !== 1) return null;
  if (hasNames(table, first) || !hasNames(table, first - 1)) return null;
  const isOverfull = rows
    .slice(first)
    .some(({ values }) => values.length > names.length && !isEmptyText(values.at(-1) ?? ''));
  // The connector reads these files as they are: a value without a name, or a name without a value, is empty in each row.
  if (names.length < columns ? !isOverfull : isEmptyText(names.at(-1) ?? '')) {
    return { skipLines: above.line - 1, header: headerOf(table, first - 1) };
  }
  const why = `the header at line ${above.line} has ${names.length} names, and rows have ${columns} values`;
  const all = uniqueNames([...names, ''].slice(0, columns));
  return {
    skipLines: above.line,
    header: {
      options: { header: false, columns: all },
      reasons: { header: why, columns: `${why}; correct the names` },
    },
  };
}

function noHeader(reason: string): FoundHeader {
  return {
    options: { header: false },
    reasons: { header: `${reason}; the columns are column1, column2 and so on. ${OF_TITLE}` },
  };
}

function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name, index) => {
    const base = name === '' ? `column${index + 1}` : comparableName(name);
    let unique = base;
    for (let count = 2; taken.has(unique); count += 1) unique = `${base}_${count}`;
    taken.add(unique);
    return unique;
  });
}
