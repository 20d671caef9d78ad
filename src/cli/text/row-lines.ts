// Lines about the rows of a source.

import type { JsonObject } from '../../lib/json.ts';
import { type Paint, plural, printable, shortenMiddle } from './style.ts';
import { formatValue } from './words.ts';

/** A longer name is cut, so that the values stay below each other and have room. */
const NAME_MAX = 24;

/**
 * The columns of a record that have a value, with all values below each other.
 *
 * @param valueMax the most characters of a value
 */
export function fieldLines(fields: JsonObject, valueMax: number): string[] {
  const filled = Object.entries(fields).filter(([, value]) => value !== '' && value !== null);
  const names = filled.map(([name]) => shortenMiddle(printable(name), NAME_MAX));
  const width = Math.max(0, ...names.map((name) => name.length));
  return filled.map(([, value], at) => `${(names[at] ?? '').padEnd(width)}  ${formatValue(value, valueMax)}`);
}

/**
 * The words of `preview`, `sync` and `status` for rows that make the same items as other rows, with the same values. Null
 * if there are no such rows.
 */
export function repeatedRows({ count, whole }: { count: number; whole: number }): {
  whole: string | null;
  shared: string | null;
} {
  const shared = count - whole;
  return {
    whole: whole === 0 ? null : plural(whole, 'row repeats another row', 'rows repeat another row'),
    shared:
      shared === 0
        ? null
        : `${plural(shared, 'row shares', 'rows share')} an item with another row, with the same values`,
  };
}

/** Warnings about streams whose changes have missed records that the complete read of the same run has found. */
export function missedLines(
  accounts: readonly { source: string; stream: string; missedByChanges: number | null }[],
  paint: Paint,
): string[] {
  return accounts.flatMap(({ source, stream, missedByChanges }) => {
    if (missedByChanges === null || missedByChanges === 0) return [];
    const records = plural(missedByChanges, 'record that is', 'records that are');
    return [
      `${paint('yellow', 'warning:')} The changes of ${printable(source)}/${printable(stream)} had missed ${records} new or different in the complete read. The complete read has stored them.`,
      '  Check what the source counts as a change (its timestamp, its export of changes), or set a shorter snapshotEvery.',
    ];
  });
}
