// Recognises what the merged cells of a workbook mean.

import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { counted } from '../../lib/text/amounts.ts';
import { isNamed } from './field-names.ts';
import type { Sample } from './read-sample.ts';
import type { FoundOption } from './recognise-format.ts';
import { areAmounts } from './value-checks.ts';

/**
 * The option `merged: repeat`, if the merged cells of a sheet give several rows a text that they have in common, such as their assembly.
 * A title that is merged over columns would fill each of them, and a quantity that is merged over rows would count in each: then
 * a person has to decide, so the option is off.
 *
 * @param first the rows, with the value of a merged cell only in the upper left one
 * @param repeated the same rows, with the value in each cell
 * @returns null if the sheet has no merged cells below its header
 */
export function recogniseMerged(first: Sample, repeated: Sample): FoundOption | null {
  const before = new Map(first.lines.map((line, at) => [line, first.rows[at] ?? {}]));
  const gained = new Map<string, JsonValue[]>();
  let sideways = 0;
  for (const [at, row] of repeated.rows.entries()) {
    const plain = before.get(repeated.lines[at] ?? 0) ?? {};
    const above = repeated.rows[at - 1];
    for (const [name, value] of Object.entries(row)) {
      if (isEmpty(value) || !isEmpty(plain[name])) continue;
      gained.set(name, [...(gained.get(name) ?? []), value]);
      if (above?.[name] !== value || repeated.lines[at - 1] !== (repeated.lines[at] ?? 0) - 1) sideways += 1;
    }
  }
  if (gained.size === 0) return null;
  const columns = [...gained.keys()].join(', ');
  const numbers = [...gained].filter(([name, values]) => countsUp(name, values)).map(([name]) => name);
  const cells = [...gained.values()].flat().length;
  const found = { name: 'merged', value: 'repeat' };
  if (sideways === 0 && numbers.length === 0)
    return {
      ...found,
      reason: `${counted(cells, 'cell', 'cells')} of ${columns} merged with the cell above, whose value each has`,
    };
  const doubt =
    sideways > 0
      ? 'some are merged with a cell beside them, as titles are, and would fill columns that are not theirs'
      : `${numbers.join(', ')} would count in each row`;
  const reason = `${counted(cells, 'merged cell')} of ${columns}: ${doubt}. If each row has to have the value, use this line; otherwise delete it`;
  return { ...found, reason, isTodo: true, isOff: true };
}

function isEmpty(value: JsonObject[string] | undefined): boolean {
  return value === undefined || value === null || value === '';
}

/** True for quantities, weights and prices. A number of an article may have digits only too, and does not count. */
function countsUp(name: string, values: readonly JsonValue[]): boolean {
  return isNamed(name, 'quantity') || areAmounts(values.map(String));
}
