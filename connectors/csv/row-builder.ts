import {
  columnLike,
  createDecimalReader,
  decimalIssue,
  encodingIssues,
  findOddCharacter,
  type JsonObject,
  type OwnIssue,
  RAW_FIELD,
  type SourceRow,
  sourceFault,
} from '../../src/sdk/index.ts';
import type { Defect, RecordScanner } from './record-scanner.ts';
import type { Dialect } from './schema.ts';

const NO_DECIMAL =
  'Correct the value, or remove the column from `decimalColumns` if not all its values have that notation.';

interface RowContext {
  file: string;
  /** Column names in order; empty for a column without a name. */
  names: readonly string[];
  /** The encoding in use, for messages. */
  encoding: string;
  dialect: Dialect;
}

/**
 * Makes rows from the scanner's values. This is the most frequent code of a pull. A usual row is a copy of a template,
 * so that all rows share one hidden class, and it needs only one comparison.
 */
export function createRowBuilder(context: RowContext, scanner: RecordScanner): () => SourceRow {
  const { file, names, encoding, dialect } = context;
  const { values } = scanner;
  const named = names.every((name) => name !== '');
  // JSON.parse makes own properties for all names, even for `__proto__`.
  const template = JSON.parse(
    `{${names
      .filter((name) => name !== '')
      .map((name) => `${JSON.stringify(name)}:""`)
      .join()}}`,
  ) as Record<string, string>;
  const needed = names.findLastIndex((name) => name !== '') + 1;
  const toDecimal = createDecimalReader(dialect.decimalMark);
  const decimals = new Set(dialect.decimalColumns.flatMap((name) => columnLike(name, Object.keys(template)) ?? []));

  const fieldsOf = (): Record<string, string> => {
    const fields = { ...template };
    for (let index = 0; index < names.length; index++) {
      const name = names[index];
      if (name !== undefined && (named || name !== '')) fields[name] = values[index] ?? '';
    }
    return fields;
  };

  return () => {
    const place = { file, line: scanner.recordLine };
    if (scanner.defect !== undefined) {
      const fields = { ...partialFields(names, values), [RAW_FIELD]: scanner.raw() };
      return {
        fields,
        place,
        issues: [defectIssue(scanner.defect, scanner.recordLine, names[values.length], dialect)],
      };
    }
    if (values.length !== names.length || !named) {
      const issue = countIssue(values, names, needed, scanner.recordLine);
      if (issue !== undefined) {
        return { fields: { ...partialFields(names, values), [RAW_FIELD]: scanner.raw() }, place, issues: [issue] };
      }
    }
    const fields = fieldsOf();
    const row: SourceRow = { fields, place };
    if (scanner.damaged) addIssues(row, encodingIssues(fields, { line: scanner.recordLine, encoding }));
    for (const name of decimals) {
      const value = toDecimal(fields[name] ?? '');
      if (typeof value === 'string') fields[name] = value;
      else addIssues(row, [decimalIssue(name, value.found, { mark: dialect.decimalMark, cure: NO_DECIMAL })]);
    }
    return row;
  };
}

function addIssues(row: SourceRow, issues: OwnIssue[]): void {
  if (issues.length > 0) row.issues = [...(row.issues ?? []), ...issues];
}

/** The values of a broken row, with the names that they would have. The key is often among them. */
function partialFields(names: readonly string[], values: readonly string[]): JsonObject {
  const known = names.slice(0, values.length).map((name, index): [string, string] => [name, values[index] ?? '']);
  return Object.fromEntries(known.filter(([name]) => name !== ''));
}

/** Empty values after the last named column are no issue, because some files end each row with a delimiter. */
function countIssue(
  values: readonly string[],
  names: readonly string[],
  needed: number,
  line: number,
): OwnIssue | undefined {
  const nameless = values.findIndex((value, index) => value !== '' && (names[index] ?? '') === '');
  if (values.length >= needed && nameless === -1) return undefined;
  const found = `Line ${line} has ${values.length} ${values.length === 1 ? 'value' : 'values'}`;
  return {
    code: 'row.columns',
    message:
      values.length < needed || values.length > names.length
        ? `${found}, but ${names.length} ${names.length === 1 ? 'column is' : 'columns are'} expected.`
        : `${found}, and column ${nameless + 1} with a value has no name in the header.`,
  };
}

function defectIssue(defect: Defect, line: number, column: string | undefined, dialect: Dialect): OwnIssue {
  const field = column === undefined || column === '' ? {} : { field: column };
  const where = column === undefined || column === '' ? `line ${line}` : `column ${column} of the row at line ${line}`;
  switch (defect) {
    case 'stray-quote':
      return {
        code: 'row.quote',
        message: `A value without quotes around it has a quote inside, in ${where}.`,
        ...field,
      };
    case 'text-after-quote':
      return {
        code: 'row.quote',
        message: `Text follows a closing quote, in ${where}.`,
        ...field,
        cure: 'Double the quotes inside a quoted value, or set `escape` to the character that precedes them.',
      };
    case 'unclosed-quote':
      return {
        code: 'row.quote',
        message: `A quote is opened and not closed before the next quoted value, the end of the file or ${dialect.maxRecordBytes} bytes, in ${where}.`,
        ...field,
        cure: 'Close the quote. If it is a part of the text, double it and put the value in quotes. If this is the last row, the file may be cut off.',
      };
    case 'too-long':
      return {
        code: 'row.length',
        message: `The row at line ${line} is longer than ${dialect.maxRecordBytes} bytes.`,
        cure: 'Check `recordDelimiter`, or raise `maxRecordBytes`.',
      };
    default:
      return defect satisfies never;
  }
}

/**
 * The column names of a file, from its first row and the dialect. A name may be empty, for example at the end of files
 * whose rows all end with a delimiter. A value without a column name is an issue of its row.
 *
 * @throws a `SourceFault` if the names are not certain, because every row would then be read wrongly.
 */
export function columnNames(first: RecordScanner, dialect: Dialect, file: string, encoding: string): string[] {
  const where = `${file}, line ${first.recordLine}`;
  if (!dialect.header && dialect.columns !== undefined) return unique(dialect.columns, 'The option `columns`');
  if (first.defect !== undefined) {
    throw sourceFault(`The first row cannot be read (${where}): ${first.defect.replaceAll('-', ' ')}.`, {
      suggestion: 'Check the options delimiter, quote and recordDelimiter against the file.',
    });
  }
  if (!dialect.header) return first.values.map((_, index) => `column${index + 1}`);
  if (dialect.columns !== undefined) {
    if (dialect.columns.length !== first.values.length) {
      throw sourceFault(
        `The option \`columns\` names ${dialect.columns.length} columns, but the header has ${first.values.length} (${where}).`,
        { suggestion: 'Name every column of the file, or set `header: false` if the first row is data.' },
      );
    }
    return unique(dialect.columns, 'The option `columns`');
  }
  if (first.damaged) {
    throw sourceFault(`The header is not valid ${encoding}, or was damaged before it was exported (${where}).`, {
      suggestion:
        'Set the option `encoding` to the encoding that the source system writes, or let the source system write the file again.',
    });
  }
  assertPrintable(first.values, where);
  if (first.values.every((name) => name === '')) throw sourceFault(`The header names no column (${where}).`);
  return unique([...first.values], `The header (${where})`);
}

/**
 * Without its decimal column a file would be read with `1.234` in place of `1234`. A column that stands in `decimalColumns` of
 * the source may belong to another stream, unless the file has a column of this name in other letters.
 *
 * @throws a `sourceFault` if a column of `decimalColumns` is missing
 */
export function assertDecimalColumns(
  names: readonly string[],
  { dialect, decimalsOfStream }: { dialect: Dialect; decimalsOfStream: readonly string[] },
  file: string,
): void {
  const byLetters = new Map(names.map((name) => [lettersOf(name), name]));
  for (const name of dialect.decimalColumns) {
    if (columnLike(name, names) !== undefined) continue;
    const similar = byLetters.get(lettersOf(name));
    if (similar === undefined && !decimalsOfStream.includes(name)) continue;
    throw sourceFault(`${file}: the column ${name} of \`decimalColumns\` is missing.`, {
      suggestion:
        similar === undefined
          ? `Correct \`decimalColumns\`. The file has ${names.slice(0, NAMES_SHOWN).join(', ')}.`
          : `Write it as ${JSON.stringify(similar)}, as in the file.`,
    });
  }
}

const NAMES_SHOWN = 12;

function lettersOf(name: string): string {
  return name.trim().toLowerCase();
}

/**
 * A failing disk can leave a file of zeros. Such a file would look like a header without rows, and all records would
 * seem to be gone.
 *
 * @throws a `sourceFault` if a name has a character that no text contains
 */
function assertPrintable(names: readonly string[], where: string): void {
  for (const [index, name] of names.entries()) {
    const odd = findOddCharacter(name);
    if (odd === null) continue;
    throw sourceFault(
      `The name of column ${index + 1} in the header has the control character ${odd.name} (${where}).`,
      {
        suggestion:
          'Set the option `encoding` to the encoding that the source system writes. A UTF-16 file without a byte order mark has such characters. If the option is right, export the file again.',
      },
    );
  }
}

function unique(names: string[], where: string): string[] {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const name of names) {
    if (name !== '' && seen.has(name)) twice.add(name);
    seen.add(name);
  }
  if (twice.size === 0) return names;
  throw sourceFault(`${where} has columns of the same name: ${[...twice].join(', ')}.`, {
    suggestion: 'Give each column its own name, in the export or with the option `columns`.',
  });
}
