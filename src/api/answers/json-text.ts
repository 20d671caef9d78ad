import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';

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

/** Deeper values are left out: recursion over them would not be safe, and no platform shows such a field. */
const DEPTH_MAX = 32;

/**
 * A copy of a value that canonical JSON can express. A lone surrogate, which is left if a text was cut within a
 * character, becomes U+FFFD. A number that a double cannot hold, such as 1e999, becomes null, and so does a value that
 * is nested too deeply.
 */
export function expressible(value: JsonValue, depth = 0): JsonValue {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value !== 'object' || value === null) return value;
  if (depth > DEPTH_MAX) return null;
  if (Array.isArray(value)) return value.map((entry) => expressible(entry, depth + 1));
  const members = Object.entries(value).map(([name, member]) => [name.toWellFormed(), expressible(member, depth + 1)]);
  return Object.fromEntries(members) as JsonObject;
}

/** The value at a path such as `data.id`, or undefined. Only own members count. */
export function valueAt(value: JsonValue | undefined, path: string): JsonValue | undefined {
  let at = value;
  for (const name of path.includes('.') ? path.split('.') : [path]) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, JsonValue>)[name];
  }
  return at;
}

/** The object with the fields of an item: the member at the path if there is one, else the item itself. */
export function fieldsIn(item: JsonValue, entryAt: string | null): JsonValue {
  const fields = entryAt === null ? undefined : valueAt(item, entryAt);
  return fields !== undefined && isJsonObject(fields) ? fields : item;
}
