import type { JsonObject, JsonValue } from '../lib/json.ts';
import type { SubjectKind } from './item.ts';
import type { Profile } from './profile.ts';

/** The field by which the API identifies an item, and its value. */
export interface NaturalKey {
  field: string;
  value: string;
}

/**
 * The natural key of a payload: the first of the profile's fields that has a value. Null for BOM items, which the API
 * does not identify, and for passports, which it identifies by their products.
 */
export function naturalKeyOf(
  profile: Pick<Profile, 'naturalKeys'>,
  kind: SubjectKind,
  payload: JsonObject,
): NaturalKey | null {
  if (kind === 'bom_item' || kind === 'passport') return null;
  for (const field of profile.naturalKeys[kind]) {
    const value = payload[field];
    if (typeof value === 'string' && value !== '') return { field, value };
  }
  return null;
}

/**
 * Returns the same text for all values that a platform might treat as equal. Case, surrounding blanks and forms of
 * Unicode do not count.
 */
export function foldedKey(value: string): string {
  return value.normalize('NFKC').trim().toLowerCase();
}

/** The text of a listed value, if the value can be a natural key; null if it cannot. */
export function keyText(value: JsonValue | undefined): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : null;
}
