// Texts of requests with placeholders such as `{{since}}` and `{{row.id}}`.

import { isJsonObject, type JsonObject, type JsonValue, memberOf } from '../../lib/json.ts';

const PLACEHOLDER = /\{\{\s*([A-Za-z][\w.]*)\s*\}\}/g;
const WHOLE = /^\{\{\s*([A-Za-z][\w.]*)\s*\}\}$/;

/** The values of placeholders by their names. `row` is an object: `{{row.id}}` is its member. */
export type PlaceholderValues = JsonObject;

/** The names of all placeholders in a value. */
export function placeholdersIn(value: JsonValue): string[] {
  if (typeof value === 'string') return [...value.matchAll(PLACEHOLDER)].map(([, name = '']) => name);
  if (Array.isArray(value)) return value.flatMap(placeholdersIn);
  return isJsonObject(value) ? Object.values(value).flatMap(placeholdersIn) : [];
}

/**
 * Puts values in place of placeholders. A text that is only a placeholder becomes the value itself, with its type.
 *
 * @throws MissingValue if a placeholder has no value
 */
export function fill(value: JsonValue, values: PlaceholderValues): JsonValue {
  if (typeof value === 'string') {
    const [, whole] = WHOLE.exec(value) ?? [];
    if (whole !== undefined) return valueOf(whole, values);
    return value.replaceAll(PLACEHOLDER, (_, name: string) => textOf(valueOf(name, values)));
  }
  if (Array.isArray(value)) return value.map((one) => fill(one, values));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fill(one, values)]));
}

/** A placeholder whose value is absent. */
export class MissingValue extends Error {
  readonly placeholder: string;
  constructor(placeholder: string) {
    super(`{{${placeholder}}} has no value`);
    this.placeholder = placeholder;
  }
}

function valueOf(name: string, values: PlaceholderValues): JsonValue {
  let value: JsonValue | undefined = values;
  for (const part of name.split('.')) value = isJsonObject(value) ? memberOf(value, part) : undefined;
  if (value === undefined || value === null) throw new MissingValue(name);
  return value;
}

/**
 * Puts values into a path. Each value stays a part of one name: it cannot lead to another folder.
 *
 * @throws MissingValue if a value is absent or empty, or if a name of the path becomes `.` or `..`
 */
export function fillPath(path: string, values: PlaceholderValues): string {
  const names = path.split('/').map((name) => {
    const [first] = placeholdersIn(name);
    if (first === undefined) return name;
    const filled = name.replaceAll(PLACEHOLDER, (_, placeholder: string) => {
      const text = textOf(valueOf(placeholder, values));
      if (text === '') throw new MissingValue(placeholder);
      return encodeURIComponent(text);
    });
    if (filled === '.' || filled === '..') throw new MissingValue(first);
    return filled;
  });
  return names.join('/');
}

/** The text of a value in an address. */
export function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
