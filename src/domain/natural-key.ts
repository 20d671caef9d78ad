import type { JsonObject } from '../lib/json.ts';
import type { SubjectKind } from './item.ts';
import type { Profile } from './profile.ts';

/** The field by which the API tells an item from others, and its value. */
export interface NaturalKey {
  field: string;
  value: string;
}

/**
 * The natural key of a payload: the first of the profile's fields that has a value. Null for BOM items, which the API
 * does not tell apart, and for passports, which it knows by their products.
 */
export function naturalKeyOf(profile: Profile, kind: SubjectKind, payload: JsonObject): NaturalKey | null {
  if (kind === 'bom_item' || kind === 'passport') return null;
  for (const field of profile.naturalKeys[kind]) {
    const value = payload[field];
    if (typeof value === 'string' && value !== '') return { field, value };
  }
  return null;
}
