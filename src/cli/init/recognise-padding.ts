// Recognises white space around the codes of a table, with which a bill indents its parts.

import { counted } from '../../lib/text/amounts.ts';
import type { Column } from './columns.ts';
import type { FoundOption } from './recognise-format.ts';
import { areCodes } from './value-checks.ts';

/**
 * The option `trim` of delimited text. With white space, the same part in two depths of a bill would be two parts.
 *
 * @returns null if no code has white space around it
 */
export function recognisePadding(columns: readonly Column[]): FoundOption | null {
  const padded = columns.filter(({ values }) => areCodes(values)).find((column) => paddedOf(column).length > 0);
  if (padded === undefined) return null;
  const values = paddedOf(padded);
  const [first = ''] = values;
  const reason = `${counted(values.length, 'value')} of ${padded.label} with white space around, such as ${JSON.stringify(first)}`;
  return { name: 'trim', value: true, reason };
}

function paddedOf({ given }: Column): string[] {
  return given.map(String).filter((value) => value !== value.trim());
}
