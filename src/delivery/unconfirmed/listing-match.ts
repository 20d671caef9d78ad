import { foldedKey, keyText, type NaturalKey } from '../../domain/natural-key.ts';
import type { ListableKind, RemoteItem } from '../../domain/ports/target.ts';

/** What a listing shows under the natural key that a write was sent with. */
export interface ListingMatch {
  /** The items with this very key, at most `SAME_KEY_MAX`. */
  found: readonly RemoteItem[];
  /** Why it would prove nothing that none is found; null where it would. */
  unclear: string | null;
}

/** Looks through a listing for items that may or may not be there. */
export interface ListingMatches {
  /** Takes an entry in. True where it is one of those that are looked for. */
  add(item: RemoteItem): boolean;
  of(key: NaturalKey): ListingMatch;
  /** Whether some entry shows none of the fields by which it could be told from others. */
  hidesKeys(): boolean;
}

interface Wanted {
  /** By the value in one Unicode form, which platforms may store in another. */
  byValue: Map<string, RemoteItem[]>;
  unclear: string | null;
}

/** Of items that are listed under one natural key, which is to be unique, this many are looked at. */
const SAME_KEY_MAX = 10;

/**
 * A platform may show an item otherwise than it was sent: without the field that tells it from others, in capitals, or with a
 * code that it has given out itself. Such an entry is never taken for the item, and never for another one either.
 *
 * @param fields the kind's natural keys, in order of preference
 */
export function createListingMatches(
  kind: ListableKind,
  { fields, keys }: { fields: readonly string[]; keys: readonly NaturalKey[] },
): ListingMatches {
  const wanted = new Map<string, Wanted>();
  for (const { field, value } of keys) {
    const known = wanted.get(nameOf(field, value)) ?? { byValue: new Map(), unclear: null };
    wanted.set(nameOf(field, value), known);
    known.byValue.set(value.normalize('NFC'), []);
  }
  const hidden = new Set<string>();
  let hidesKeys = false;

  return {
    add(item) {
      let isWanted = false;
      let preferred: string | null = null;
      for (const field of fields) {
        if (!Object.hasOwn(item.fields, field)) hidden.add(field);
        const value = keyText(item.fields[field]);
        if (value === null) continue;
        const sought = wanted.get(nameOf(field, value));
        const found = sought?.byValue.get(value.normalize('NFC'));
        if (sought && preferred !== null) sought.unclear ??= otherKey(kind, field, preferred);
        else if (found && found.length < SAME_KEY_MAX) found.push(item);
        else if (sought && !found) sought.unclear ??= almost(kind, field, value);
        isWanted ||= sought !== undefined;
        preferred ??= field;
      }
      hidesKeys ||= fields.every((field) => !Object.hasOwn(item.fields, field));
      return isWanted;
    },
    of({ field, value }) {
      const sought = wanted.get(nameOf(field, value));
      const found = sought?.byValue.get(value.normalize('NFC')) ?? [];
      return { found, unclear: hidden.has(field) ? hides(kind, field) : (sought?.unclear ?? null) };
    },
    hidesKeys: () => hidesKeys,
  };
}

/** One name for all values that a platform might take for the same. */
function nameOf(field: string, value: string): string {
  return `${field}\u0000${foldedKey(value)}`;
}

function hides(kind: ListableKind, field: string): string {
  return `The listing does not show the ${field} of every ${kind}, so it cannot prove that this one did not arrive.`;
}

function almost(kind: ListableKind, field: string, value: string): string {
  return `The listing shows a ${kind} with the ${field} ${JSON.stringify(value)}, which may be this one, written otherwise.`;
}

function otherKey(kind: ListableKind, field: string, preferred: string): string {
  return `The listing shows a ${kind} with the same ${field} and a ${preferred} that was not sent, which may be this one.`;
}
