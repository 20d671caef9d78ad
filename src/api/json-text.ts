import type { JsonValue } from '../lib/json.ts';

/** A reviver that gets the source text of a primitive, by "JSON.parse source text access" (ECMAScript 2026). */
type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown;
const parse = JSON.parse as (text: string, reviver?: Reviver) => unknown;

/** Sixteen digits in a row may be an integer that a double cannot hold. */
const LONG_DIGITS = /\d{16}/;
const INTEGER = /^-?\d+$/;

/**
 * Parses JSON without rounding ids: an integer that a double cannot hold exactly becomes the text of its digits.
 *
 * @returns undefined if the text is not JSON
 */
export function parseJson(text: string): JsonValue | undefined {
  try {
    return (LONG_DIGITS.test(text) ? parse(text, keepDigits) : parse(text)) as JsonValue;
  } catch {
    return undefined;
  }
}

const keepDigits: Reviver = (_key, value, context) => {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  return context.source !== undefined && INTEGER.test(context.source) ? context.source : value;
};

/** The value at a path such as `data.id`, or undefined. Only own members count. */
export function valueAt(value: JsonValue | undefined, path: string): JsonValue | undefined {
  let at = value;
  for (const name of path.includes('.') ? path.split('.') : [path]) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, JsonValue>)[name];
  }
  return at;
}
