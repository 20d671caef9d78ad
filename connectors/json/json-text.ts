import { type JsonObject, type JsonValue, normalizeDecimal } from '../../src/sdk/index.ts';

/**
 * Matches a number that a double may not be able to hold: 16 digits, or an exponent. A match within a text only costs
 * time.
 */
const NUMBER_AT_RISK = /(?:^|[\s:,[])-?(?:[\d.]{16}|[\d.]+[eE])/;
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}[\]]/gs;

/**
 * Parses JSON text. A number whose decimal value a double cannot hold (`12345678901234567890`, `1e400`), or that takes
 * more than 200 digits to write out, becomes the text in the source, so that it never changes unnoticed. Every other
 * number stays a number.
 *
 * @throws SyntaxError like `JSON.parse`.
 */
export function parseExactly(text: string): JsonValue {
  if (!NUMBER_AT_RISK.test(text)) return JSON.parse(text) as JsonValue;
  return JSON.parse(text, (_name, value: JsonValue, context?: { source?: string }) => {
    if (typeof value !== 'number' || context?.source === undefined) return value;
    const exact = normalizeDecimal(context.source);
    return exact !== null && exact === normalizeDecimal(String(value)) ? value : context.source;
  }) as JsonValue;
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

/** The first name that an object of valid JSON text has twice. */
export function repeatedName(text: string): string | undefined {
  const open: Set<string>[] = [];
  for (const match of text.matchAll(TOKEN)) {
    const [token, colon] = match;
    if (token === '{' || token === '[') open.push(new Set());
    else if (token === '}' || token === ']') open.pop();
    else if (colon !== undefined) {
      const name = JSON.parse(token.slice(0, -colon.length)) as string;
      const names = open.at(-1);
      if (names?.has(name)) return name;
      names?.add(name);
    }
  }
  return undefined;
}

/** True if the object has these members with these values. */
export function matches(value: JsonObject, where: JsonObject | undefined): boolean {
  return where === undefined || Object.entries(where).every(([name, wanted]) => value[name] === wanted);
}
