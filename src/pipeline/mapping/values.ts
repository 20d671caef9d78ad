import { identifyingText } from '../../domain/natural-key.ts';
import type { CheckedFunction } from '../../domain/words/issues.ts';
import { normalizeDecimal } from '../../lib/decimal.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { findOddCharacter, visibleText } from '../../lib/text/safe-text.ts';
import { MappingError } from './mapping-error.ts';

const DEPTH_MAX = 32;
const SHOWN_LENGTH_MAX = 200;
/** Far more characters than a code, a number, a date or a key of a lookup file can have. */
const ARGUMENT_LENGTH_MAX = 10_000;

/**
 * The only rule by which numbers become text in keys, refs, text fields and `+`: integers as plain digits, fractions as
 * plain decimals, never an exponent.
 *
 * @returns null if the digits are not certain: the number is not finite, or is an integer too large to be exact
 */
export function numberText(value: number | bigint): string | null {
  if (typeof value === 'bigint') return String(value);
  if (Number.isInteger(value)) return Number.isSafeInteger(value) ? String(value === 0 ? 0 : value) : null;
  return Number.isFinite(value) ? normalizeDecimal(String(value)) : null;
}

/** Like `numberText`, but throws a `MappingError` if the digits are not certain. */
export function requireNumberText(value: number | bigint): string {
  const text = numberText(value);
  if (text !== null) return text;
  throw new MappingError(
    'number.inexact',
    `The number ${value} has more digits than a number can hold.`,
    'Write it as text in the source.',
  );
}

/**
 * The trimmed text of a function's argument; null for null, an empty text or a blank one.
 *
 * @throws MappingError for a value that is neither text nor a number, and for a very long text
 */
export function argumentText(name: CheckedFunction, value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') {
    const text = value.trim();
    if (text.length > ARGUMENT_LENGTH_MAX) {
      throw new MappingError(
        `${name}.long`,
        `${name}() takes text of at most ${ARGUMENT_LENGTH_MAX} characters, but this text has ${text.length}.`,
        'Correct the value in the source, or give the function a part of it.',
      );
    }
    return text === '' ? null : text;
  }
  if (typeof value === 'number' || typeof value === 'bigint') return requireNumberText(value);
  throw new MappingError(`${name}.type`, `${name}() takes text or a number, not ${kindOf(value)}.`);
}

/** The text of a key or ref, with numbers in the form of `numberText`, and empty for null. */
export function keyText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'bigint') return requireNumberText(value);
  if (typeof value !== 'string') {
    throw new MappingError('key.type', `A key is text or a number, not ${kindOf(value)}.`);
  }
  return requireIdentifying('The key', value);
}

/**
 * The text of a value that identifies an item.
 *
 * @param what names the value as the subject of a sentence: `The key`, `sku`
 * @throws MappingError for a character inside that people cannot see
 */
export function requireIdentifying(what: string, given: string): string {
  const { text, unseen } = identifyingText(given);
  if (unseen === null) return text;
  throw new MappingError(
    'key.characters',
    `${what} has a character that nobody can see: ${unseen.name}, as character ${unseen.at + 1} of "${shown(visibleText(text))}".`,
    'Remove this character in the source. In the mapping, printable(…) removes control characters other than tabs and line ends.',
  );
}

/**
 * Turns a value of an expression or a module into JSON. CEL's whole numbers (`bigint`) become numbers, or text if they
 * are too large. Null and blank values are left out of objects and lists, and so are objects and lists that become
 * empty.
 *
 * @param calculated true if its numbers come from arithmetic; see `rounded`
 * @returns null for an empty value
 * @throws MappingError for a value that JSON cannot express
 */
export function toPayload(value: unknown, calculated = false, depth = 0): JsonValue {
  if (depth > DEPTH_MAX) {
    throw new MappingError('value.depth', `The value is nested more than ${DEPTH_MAX} levels deep.`);
  }
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string') return value.trim() === '' ? null : sendable(value);
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (typeof value === 'number') return finite(calculated ? rounded(value) : value);
  if (Array.isArray(value)) return toPayloadList(value, calculated, depth);
  if (typeof value === 'object' && isPlain(value)) return toPayloadObject(value, calculated, depth);
  throw new MappingError('value.type', `The result is ${kindOf(value)}, which a field cannot hold.`);
}

/** Rounds a calculated fraction to 15 significant digits, like spreadsheets, so that 0.1 + 0.2 is 0.3. */
export function rounded(value: number): number {
  return Number.isInteger(value) || !Number.isFinite(value) ? value : Number(value.toPrecision(15));
}

function finite(value: number): number {
  if (Number.isFinite(value)) return value === 0 ? 0 : value;
  throw new MappingError(
    'number.infinite',
    `The result ${value} is not a number: something was divided by 0, or a text was used as a number.`,
  );
}

function toPayloadList(value: readonly unknown[], calculated: boolean, depth: number): JsonValue[] | null {
  const entries = value.map((entry) => toPayload(entry, calculated, depth + 1)).filter((entry) => entry !== null);
  return entries.length > 0 ? entries : null;
}

function toPayloadObject(value: object, calculated: boolean, depth: number): JsonObject | null {
  const members: JsonObject = {};
  let empty = true;
  for (const [name, member] of value instanceof Map ? value : Object.entries(value)) {
    if (typeof name !== 'string' || name === '__proto__') {
      throw new MappingError('value.type', 'The names in an object have to be text.');
    }
    const converted = toPayload(member, calculated, depth + 1);
    if (converted === null) continue;
    members[sendable(name)] = converted;
    empty = false;
  }
  return empty ? null : members;
}

/** Compares the prototype's own prototype with null, because a value may come from another realm. */
function isPlain(value: object): boolean {
  if (value instanceof Map) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/**
 * Refuses characters that no text for people contains. The platform would show them in a passport, or refuse or change
 * them. RFC 8785 JSON, which is hashed, cannot express half surrogate pairs.
 */
function sendable(text: string): string {
  const odd = findOddCharacter(text);
  if (odd === null) return text;
  const kind = /^U\+D[89A-F]..$/.test(odd.name) ? 'half a character (a lone surrogate)' : 'a control character';
  throw new MappingError(
    'text.malformed',
    `The text has ${kind}: ${odd.name}, as character ${odd.at + 1}.`,
    'Correct the text in the source, give the right encoding in the options of the source, or remove such characters in the mapping with printable(…).',
  );
}

const KINDS: Record<string, string> = {
  string: 'text',
  number: 'a number',
  bigint: 'a number',
  boolean: 'true or false',
  function: 'a function',
  symbol: 'a symbol',
};

/** The type of a value in the words of messages. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (value instanceof Date) return 'a point in time';
  if (value instanceof Promise) return 'a promise';
  if (value instanceof Uint8Array) return 'bytes';
  if (typeof value === 'object') return isPlain(value) ? 'an object' : 'a special value';
  return KINDS[typeof value] ?? 'nothing';
}

/** A value for messages and issues. Long values are cut. */
export function shown(value: string): string {
  return value.length > SHOWN_LENGTH_MAX ? `${value.slice(0, SHOWN_LENGTH_MAX)}…` : value;
}

/** True if recursion over the value would not be safe, because it is nested too deeply. */
export function isTooDeep(value: JsonValue, depth = 0): boolean {
  if (value === null || typeof value !== 'object') return false;
  if (depth > DEPTH_MAX) return true;
  for (const member of Array.isArray(value) ? value : Object.values(value)) {
    if (typeof member === 'object' && isTooDeep(member, depth + 1)) return true;
  }
  return false;
}

/** A copy of a row, so that a module cannot change it for the mappings after it. Call `isTooDeep` first. */
export function copyOfRow(row: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(row).map(([name, member]) => [name, copyOf(member)]));
}

function copyOf(value: JsonValue): JsonValue {
  if (value === null || typeof value !== 'object') return value;
  return Array.isArray(value) ? value.map(copyOf) : copyOfRow(value);
}
