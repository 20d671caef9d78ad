import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import type { SecretStore } from '../../lib/logging/secrets.ts';

const MESSAGE_LENGTH_MAX = 300;
/** How much of a text is read at most, so that a hostile answer costs no time. */
const READ_LENGTH_MAX = 16_384;
/** How much more is read to find the end of a secret that begins before `READ_LENGTH_MAX`. */
const SECRET_LENGTH_MAX = 16_384;

/**
 * Turns any text from the API or a library into a line that may be shown and stored: removes tags, control characters
 * and secrets, and shortens the rest. The result is for people: only the text itself may be compared with words, because
 * a word may contain characters of a secret by chance.
 *
 * I7: secrets are removed first, because a secret that is cut in two would not be recognised. Every removed part leaves
 * a space, so that the later steps cannot join the parts of a secret. Text that looks like a key of the platform is
 * removed as well: an answer may repeat a part of the key in use, or the key of somebody else.
 */
export function createCleanText(secrets: SecretStore) {
  const clean = (text: string, lengthMax = MESSAGE_LENGTH_MAX): string => {
    const bounded = secrets.scrub(text.slice(0, READ_LENGTH_MAX + SECRET_LENGTH_MAX)).slice(0, READ_LENGTH_MAX);
    return shortened(
      plainText(bounded).replace(KEY, (key) => `${key.slice(0, 8)}…`),
      lengthMax,
    );
  };
  return Object.assign(clean, {
    /** The same line with its secrets, to be compared and then forgotten. */
    plain: (text: string, lengthMax: number): string => shortened(plainText(text.slice(0, READ_LENGTH_MAX)), lengthMax),
    /** The unchanged id, key or URL; null if it contains an API key or 16 characters of a secret, so that it may not be stored. */
    identifier: (text: string): string | null => (secrets.isInIdentifier(text) ? null : text),
  });
}

export type CleanText = ReturnType<typeof createCleanText>;

function shortened(line: string, lengthMax: number): string {
  return line.length > lengthMax ? `${line.slice(0, lengthMax - 1).toWellFormed()}…` : line;
}

const KEY = /dpp_[\w-]{5,}/gi;

function plainText(text: string): string {
  return text
    .toWellFormed()
    .replace(/<(script|style)\b[^]*?(?:<\/\1\s*>|$)/gi, ' ')
    .replace(/<[!/?a-z][^<>]*>/gi, ' ')
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
}

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
