// Whether rows that are read by `{{after}}` are in the order of their values. In another order the next page would skip some of them.

import type { JsonValue } from '../../lib/json.ts';

/** Two neighbours that are not in the order of the values after them; null if the order is right as far as it can be known. */
export function disorderIn(values: readonly JsonValue[]): [JsonValue, JsonValue] | null {
  let direction: number | null = null;
  // From the end, because the first value may be of the page before.
  for (let at = values.length - 1; at > 0; at -= 1) {
    const [first = null, second = null] = [values[at - 1], values[at]];
    const step = stepBetween(first, second);
    if (step === null) continue;
    if (step === 0 || (direction !== null && step !== direction)) return [first, second];
    direction = step;
  }
  return null;
}

/** Whether the second value is greater (1), smaller (-1) or the same (0); null if only the server knows the order of the two. */
function stepBetween(first: JsonValue, second: JsonValue): number | null {
  if (first === second) return 0;
  if (typeof first === 'number' && typeof second === 'number') return Math.sign(second - first);
  if (typeof first !== 'string' || typeof second !== 'string') return null;
  const at = first.split('').findIndex((letter, at) => letter !== second[at]);
  const [one = '', other = ''] = [first[at], second[at]];
  // Texts of the same form that differ in a digit first have the same order in each language and with each way to compare numbers.
  if (shapeOf(first) !== shapeOf(second) || !/\d/.test(one)) return null;
  return hasOwnOrder(first) ? null : Math.sign(Number(other) - Number(one));
}

function shapeOf(text: string): string {
  return text.replace(/\d/g, '0').replace(/[a-z]/g, 'a').replace(/[A-Z]/g, 'A');
}

/** True for a GUID, which some databases sort from its end, and a time that begins with the day or the month. */
function hasOwnOrder(text: string): boolean {
  return /^\{?[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}\}?$/i.test(text) || /^\d\d?\D\d\d?\D\d{4}/.test(text);
}
