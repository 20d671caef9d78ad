import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';

/**
 * The text of an element, with or without attributes. If there are several elements, the text of the first; empty if
 * there is none.
 */
export function xmlTextOf(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return xmlTextOf(value[0]);
  if (!isJsonObject(value)) return '';
  const text = value['#text'];
  return typeof text === 'string' ? text : '';
}

/** The elements with a name, as a list of any length. */
export function xmlListOf(value: JsonValue | undefined): JsonValue[] {
  if (value === undefined || value === '') return [];
  return Array.isArray(value) ? value : [value];
}

/** The elements with a name that have members. */
export function xmlObjectsOf(value: JsonValue | undefined): JsonObject[] {
  return xmlListOf(value).filter((one) => isJsonObject(one));
}

/** An element's members; none if it has only text or does not exist. */
export function xmlObjectOf(value: JsonValue | undefined): JsonObject {
  return xmlObjectsOf(value)[0] ?? {};
}
