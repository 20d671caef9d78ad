import type { JsonObject, JsonValue } from '../../src/sdk/index.ts';

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}[\]]/gs;

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
