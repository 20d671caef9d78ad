import { naturalKeyOf } from '../../domain/natural-key.ts';
import type { Profile } from '../../domain/profile.ts';
import { readableKey } from '../../domain/record.ts';
import type { PreviewedRecord } from './preview.ts';

/** Selects the records that are shown. A record has to fit all given members. */
export interface PreviewFilter {
  /** Only records with issues. */
  issues?: boolean;
  /** Only the record with this key; the values of several key columns are joined by `/`. */
  key?: string;
  /** Only records that make an item with this key or natural key (SKU, code). */
  item?: string;
}

/** A function that says whether a record is shown. */
export function createPreviewFilter(filter: PreviewFilter, profile: Profile): (record: PreviewedRecord) => boolean {
  const { issues = false, key, item } = filter;
  const isItem = ({ kind, key: own, payload }: PreviewedRecord['items'][number]): boolean =>
    own === item || naturalKeyOf(profile, kind, payload)?.value === item;
  return (record) =>
    (!issues || record.issues.length > 0) &&
    (key === undefined || (record.key !== null && (record.key === key || isSameKey(record.key, key)))) &&
    (item === undefined || record.items.some(isItem));
}

function isSameKey(stored: string, typed: string): boolean {
  return withoutBlanks(readableKey(stored)) === withoutBlanks(typed);
}

/** Removes the blanks around `/`, because people write `4711/10` as well as `4711 / 10`. */
function withoutBlanks(key: string): string {
  return key.replaceAll(/\s*\/\s*/g, '/');
}
