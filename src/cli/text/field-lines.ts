import type { JsonObject } from '../../lib/json.ts';
import { printable, shortenMiddle } from './style.ts';
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
