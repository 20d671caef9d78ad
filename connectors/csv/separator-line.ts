import { type HeaderCandidate, sourceFault } from '../../src/sdk/index.ts';
import type { Dialect } from './schema.ts';

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
