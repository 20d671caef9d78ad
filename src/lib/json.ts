import { normalizeDecimal } from './decimal.ts';

/** Any value that JSON can carry. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  [name: string]: JsonValue;
}

/**
 * A member of an object; undefined if the object has none. Use it for names that come from data: every object inherits
 * members such as `constructor`.
 */
export function memberOf(object: Readonly<Record<string, JsonValue>>, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Sets a member with any name, even `__proto__`. */
export function setMember(fields: JsonObject, name: string, value: JsonValue): void {
  if (name === '__proto__') {
    Object.defineProperty(fields, name, { value, enumerable: true, configurable: true, writable: true });
  } else fields[name] = value;
}

/** True for a plain object, false for null and arrays. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Matches a number that a double may not be able to hold: 16 digits, or an exponent. A match within a text only costs
 * time.
 */
const NUMBER_AT_RISK = /(?:^|[\s:,[])-?(?:[\d.]{16}|[\d.]+[eE])/;

/** The value of a text that may be JSON; undefined for another text. */
export function parseIfJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

const INTEGER = /^-?\d+$/;

/**
 * Parses JSON text so that no number changes unnoticed. A number becomes the text in the source if a double cannot hold its
 * decimal value (`1e400`), if it takes more than 200 digits to write out, or if it is an integer above 2^53: some of those
 * happen to have a double, and their neighbours have none. Every other number stays a number.
 *
 * @throws SyntaxError like `JSON.parse`
 */
export function parseExactly(text: string): JsonValue {
  return (NUMBER_AT_RISK.test(text) ? JSON.parse(text, exactNumber) : JSON.parse(text)) as JsonValue;
}

function exactNumber(_name: string, value: JsonValue, context?: { source?: string }): JsonValue {
  if (typeof value !== 'number' || context?.source === undefined) return value;
  const exact = normalizeDecimal(context.source);
  if (exact === null || exact !== normalizeDecimal(String(value))) return context.source;
  return !Number.isSafeInteger(value) && INTEGER.test(context.source) ? context.source : value;
}

/** An object that has a name twice. Only the last of the two values is in the parsed value. */
export interface RepeatedName {
  name: string;
  /** The names and indexes that lead to the object. */
  path: (string | number)[];
}

/**
 * The objects of a JSON text that have a name twice.
 *
 * @param value the parsed text. If it has as many members as the text has names, no name is repeated, and the text is not
 *   searched. Then this takes no longer than the parsing.
 */
export function repeatedNames(text: string, value: JsonValue): RepeatedName[] {
  return countNames(text) === countMembers(value) ? [] : [...findRepeated(text)];
}

/** The first name that an object of valid JSON text has twice. */
export function repeatedName(text: string): string | undefined {
  for (const { name } of findRepeated(text)) return name;
  return undefined;
}

/**
 * How many members all objects in a value have. If a name is repeated, this is less than in the text, because only the
 * last one is kept.
 */
export function countMembers(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) for (const entry of value) count += countMembers(entry);
  else
    for (const entry of Object.values(value)) {
      count++;
      if (typeof entry === 'object') count += countMembers(entry);
    }
  return count;
}

/** How many names of members a valid JSON text has: strings before a colon. */
function countNames(text: string): number {
  let count = 0;
  for (let at = text.indexOf('"'); at !== -1; ) {
    let next = text.indexOf('"', at + 1);
    while (isEscaped(text, next)) next = text.indexOf('"', next + 1);
    do next++;
    while (isSpace(text.charCodeAt(next)));
    if (text.charCodeAt(next) === COLON) count++;
    at = text.indexOf('"', next);
  }
  return count;
}

const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** True if an odd number of backslashes is before a position. */
function isEscaped(text: string, position: number): boolean {
  let at = position;
  while (text.charCodeAt(at - 1) === BACKSLASH) at--;
  return (position - at) % 2 === 1;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

/** A string with the colon that makes it a name, a bracket, or a comma. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}[\],]/gs;

function* findRepeated(text: string): Generator<RepeatedName> {
  /** The open objects with their names so far, and the open lists. `at` is the present name or index. */
  const open: { names: Set<string> | null; at: string | number }[] = [];
  for (const [token, colon] of text.matchAll(TOKEN)) {
    const last = open.at(-1);
    if (token === '{') open.push({ names: new Set(), at: '' });
    else if (token === '[') open.push({ names: null, at: 0 });
    else if (token === '}' || token === ']') open.pop();
    else if (token === ',') {
      if (typeof last?.at === 'number') last.at++;
    } else if (colon !== undefined && last !== undefined) {
      const name = JSON.parse(token.slice(0, -colon.length)) as string;
      if (last.names?.has(name)) yield { name, path: open.slice(0, -1).map(({ at }) => at) };
      last.names?.add(name);
      last.at = name;
    }
  }
}

/**
 * Writes a value as canonical JSON (RFC 8785): object members sorted by UTF-16 code units, no white space, numbers as
 * ECMAScript prints them. Two values that are equal as JSON give the same text, independent of the order of their
 * members.
 *
 * @throws TypeError for a number that JSON cannot express (NaN, Infinity) and for a lone surrogate, which RFC 8785
 *   rejects.
 */
export function canonicalJson(value: JsonValue): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') {
    if (!value.isWellFormed()) throw new TypeError('a string with a lone surrogate has no canonical JSON form');
    return JSON.stringify(value);
  }
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError(`${value} has no JSON form`);
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const members: string[] = [];
  for (const name of Object.keys(value).sort()) {
    const member = value[name];
    if (member !== undefined) members.push(`${canonicalJson(name)}:${canonicalJson(member)}`);
  }
  return `{${members.join(',')}}`;
}
