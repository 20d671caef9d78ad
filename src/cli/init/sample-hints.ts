// What a person has to know about the records of a sample, besides their columns.

import { comparableName } from '../../domain/natural-key.ts';
import { sentence } from '../../lib/errors.ts';
import { counted, formatCount } from '../../lib/text/amounts.ts';
import type { Sample } from './read-sample.ts';

const REPEATS_SHOWN = 3;

/** Names the lines of equal records, if lines are known. */
export function repeatHints(repeats: ReadonlyMap<number, number>, lines: readonly number[]): string[] {
  if (repeats.size === 0) return [];
  const shown = [...repeats].slice(0, REPEATS_SHOWN).flatMap(([index, first]) => {
    const [line = 0, before = 0] = [lines[index], lines[first]];
    return line > 0 && before > 0 ? [`line ${line} repeats line ${before}`] : [];
  });
  const named = shown.length === 0 ? '' : `: ${shown.join(', ')}${repeats.size > shown.length ? ' …' : ''}`;
  const what = repeats.size === 1 ? 'record is equal to an earlier one' : 'records are equal to earlier ones';
  return [`${formatCount(repeats.size)} ${what} in all columns${named}.`];
}

/** Says what is wrong with records that cannot be read. */
export function brokenHints({ broken, wrong }: Pick<Sample, 'broken' | 'wrong'>): string[] {
  const rest = broken - wrong.length;
  const all = wrong.map((text) => `${sentence(text)} The others go on without it.`);
  return rest > 0 ? [...all, `${counted(rest, 'further record')} cannot be read.`] : all;
}

const DAMAGED_SHOWN = 5;

/** Names the values that no encoding brings back. */
export function damageHints({ damaged }: Sample): string[] {
  if (damaged.length === 0) return [];
  const rest = damaged.length - DAMAGED_SHOWN;
  const shown = `${damaged.slice(0, DAMAGED_SHOWN).join('; ')}${rest > 0 ? `; and ${formatCount(rest)} more` : ''}`;
  return [
    `${counted(damaged.length, 'value is', 'values are')} damaged (U+FFFD): ${shown}. Let the source system write the file again.`,
  ];
}

/** Names columns of a table whose names differ only in characters that look the same. */
export function twinHints({ isTable, rows: [row = {}] }: Sample): string[] {
  const alike = isTable ? Map.groupBy(Object.keys(row), comparableName) : new Map<string, string[]>();
  return [...alike].flatMap(([form, names]) =>
    names.length < 2
      ? []
      : [
          `${counted(names.length, 'column has', 'columns have')} the name ${JSON.stringify(form)} in characters that look the same. Give each column its own name in the export.`,
        ],
  );
}
