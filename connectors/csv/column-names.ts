import { comparableName, findOddCharacter, sourceFault } from '../../src/sdk/index.ts';
import type { RecordScanner } from './record-scanner.ts';
import type { Dialect } from './schema.ts';

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

/** The column that the config means: the one with exactly this name, or the only one that looks like it. */
export function columnLike(name: string, names: readonly string[]): string | undefined {
  if (names.includes(name)) return name;
  const alike = names.filter((one) => comparableName(one) === comparableName(name));
  return alike.length === 1 ? alike[0] : undefined;
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
