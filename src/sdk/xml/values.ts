import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';

/** The text of an element, whether it has attributes or not; of several the first; empty where there is none. */
export function xmlTextOf(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return xmlTextOf(value[0]);
  if (!isJsonObject(value)) return '';
  const text = value['#text'];
  return typeof text === 'string' ? text : '';
}

/** The elements of a name, whether there are none, one or several. */
export function xmlListOf(value: JsonValue | undefined): JsonValue[] {
  if (value === undefined || value === '') return [];
  return Array.isArray(value) ? value : [value];
}

/** The elements of a name that have members. */
export function xmlObjectsOf(value: JsonValue | undefined): JsonObject[] {
  return xmlListOf(value).filter((one) => isJsonObject(one));
}

/** An element's members; none where it has only text or is not there. */
export function xmlObjectOf(value: JsonValue | undefined): JsonObject {
  return xmlObjectsOf(value)[0] ?? {};
}
