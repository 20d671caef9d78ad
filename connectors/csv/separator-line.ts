import { type HeaderCandidate, sourceFault } from '../../src/sdk/index.ts';
import { type RecordScanner, separatorLineOf } from './record-scanner.ts';
import type { Dialect } from './schema.ts';

interface Separated {
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
export function assertSeparator(
  { values, recordLine }: RecordScanner,
  { file, text, dialect, below }: Separated,
): void {
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
