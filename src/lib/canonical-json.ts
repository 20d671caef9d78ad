import type { JsonValue } from './json.ts';

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
