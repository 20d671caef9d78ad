import type { RemoteItem } from '../../domain/ports/target.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { ListShape, NoEntry, ReadEntry } from '../listing/list-page.ts';
import type { CleanText } from './clean-text.ts';
import { fieldsIn, valueAt } from './json-text.ts';
import { type IdPlaces, remoteIdIn, whyNoId } from './remote-id.ts';

/** The names of the identifying fields in the entries of a catalogue. */
export interface ItemPaths extends IdPlaces {
  itemsAt: readonly string[];
  /** The dotted path of the fields in an entry; null if the entry has them itself. */
  entryAt: string | null;
  /** The names of the natural key's fields, in order of preference. */
  naturalKeyFields: readonly string[];
  /** The names of an item's fields in answers, by canonical name. */
  wireNames: ReadonlyMap<string, string>;
}

/** Reads products and materials of a listing: the id, the natural key, and the fields that the listing shows. */
export function itemShape(paths: ItemPaths, clean: CleanText): ListShape<RemoteItem> {
  function read(entry: JsonValue): ReadEntry<RemoteItem> | NoEntry {
    const remoteId = remoteIdIn(entry, paths, clean);
    if (remoteId === null) return { noId: whyNoId(entry, paths, clean) };
    const item = fieldsIn(entry, paths.entryAt);
    const naturalKey = naturalKeyIn(item, paths.naturalKeyFields);
    return { identity: remoteId, entry: { remoteId, naturalKey, fields: shownFields(item, paths.wireNames) } };
  }
  return { itemsAt: paths.itemsAt, read };
}

function shownFields(entry: JsonValue, wireNames: ItemPaths['wireNames']): JsonObject {
  const shown: [string, JsonValue][] = [];
  for (const [name, wireName] of wireNames) {
    const value = valueAt(entry, wireName);
    if (value !== undefined) shown.push([name, value]);
  }
  return Object.fromEntries(shown);
}

/** The first of the fields that holds a text or a number. */
export function naturalKeyIn(entry: JsonValue, fields: readonly string[]): string | null {
  for (const field of fields) {
    const value = valueAt(entry, field);
    if (typeof value === 'string' && value !== '') return value;
    if (typeof value === 'number') return String(value);
  }
  return null;
}
