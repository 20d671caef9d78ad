import { foldedKey, keyText, type NaturalKey } from '../../domain/natural-key.ts';
import type { ListableKind, RemoteItem } from '../../domain/ports/target.ts';

/** What a listing shows under the natural key of a write. */
export interface ListingMatch {
  /** The items with exactly this key, at most `SAME_KEY_MAX`. */
  found: readonly RemoteItem[];
  /** Why an empty `found` proves no absence; null if it proves one. */
  unclear: string | null;
}

interface Wanted {
  /** The entries by the key's value in one Unicode form. A platform may store another form. */
  byValue: Map<string, RemoteItem[]>;
  unclear: string | null;
}

/** How many items under one natural key are kept. A natural key should be unique. */
const SAME_KEY_MAX = 10;

/**
 * Looks for items in a listing.
 *
 * A platform may show an item in another form than it was sent: without the field of its natural key, in capitals, or
 * with a code of the platform. Such an entry counts neither as the item nor as another one.
 *
 * @param fields the kind's natural keys, in order of preference
 */
export function createListingMatches(
  kind: ListableKind,
  { fields, keys }: { fields: readonly string[]; keys: readonly NaturalKey[] },
) {
  const wanted = new Map<string, Wanted>();
  for (const { field, value } of keys) {
    const known = wanted.get(nameOf(field, value)) ?? { byValue: new Map(), unclear: null };
    wanted.set(nameOf(field, value), known);
    known.byValue.set(value.normalize('NFC'), []);
  }
  const hidden = new Set<string>();
  let hidesKeys = false;

  return {
    /** Adds an entry of the listing. @returns whether it may be one of the wanted items */
    add(item: RemoteItem): boolean {
      let isWanted = false;
      let preferred: string | null = null;
      for (const field of fields) {
        if (!Object.hasOwn(item.fields, field)) hidden.add(field);
        const value = keyText(item.fields[field]);
        if (value === null) continue;
        const candidate = wanted.get(nameOf(field, value));
        const found = candidate?.byValue.get(value.normalize('NFC'));
        if (candidate && preferred !== null) candidate.unclear ??= otherKey(kind, field, preferred);
        else if (found && found.length < SAME_KEY_MAX) found.push(item);
        else if (candidate && !found) candidate.unclear ??= similarKey(kind, field, value);
        isWanted ||= candidate !== undefined;
        preferred ??= field;
      }
      hidesKeys ||= fields.every((field) => !Object.hasOwn(item.fields, field));
      return isWanted;
    },
    of({ field, value }: NaturalKey): ListingMatch {
      const candidate = wanted.get(nameOf(field, value));
      const found = candidate?.byValue.get(value.normalize('NFC')) ?? [];
      return { found, unclear: hidden.has(field) ? hiddenKey(kind, field) : (candidate?.unclear ?? null) };
    },
    /** Whether any entry shows none of the fields of a natural key. */
    hidesKeys: () => hidesKeys,
  };
}

/** One name for all values that a platform might treat as equal. */
function nameOf(field: string, value: string): string {
  return `${field}\u0000${foldedKey(value)}`;
}

function hiddenKey(kind: ListableKind, field: string): string {
  return `The listing does not show the ${field} of every ${kind}, so it cannot prove that the write did not arrive.`;
}

function similarKey(kind: ListableKind, field: string, value: string): string {
  return `The listing shows a ${kind} with the ${field} ${JSON.stringify(value)}, which may be this ${kind} in another form.`;
}

function otherKey(kind: ListableKind, field: string, preferred: string): string {
  return `The listing shows a ${kind} with the same ${field} and a ${preferred} that was not sent. That entry may be this ${kind}.`;
}
