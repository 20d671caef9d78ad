import type { ListableKind, RemoteItem } from '../domain/ports/target.ts';
import { allowedFieldsOf } from '../domain/profile.ts';
import type { JsonObject, JsonValue } from '../lib/json.ts';
import type { CleanText } from './answers/clean-text.ts';
import { naturalKeyIn } from './answers/entry.ts';
import { fieldsIn, valueAt } from './answers/json-text.ts';
import { type IdPlaces, remoteIdIn, whyNoId } from './answers/remote-id.ts';
import { type KeyNames, keyNamesUnder } from './answers/sent-identity.ts';
import { wireNameOf } from './encode.ts';
import type { ListShape, NoEntry, ReadEntry } from './listing/list-page.ts';
import type { Session } from './session.ts';

/** How the lists of products and materials are read. */
export function catalogueShapes(
  { profile, clean }: Session,
  keyNames: KeyNames = keyNamesUnder(profile),
): Record<ListableKind, ListShape<RemoteItem>> {
  const shapeOf = (kind: ListableKind) =>
    itemShape(
      {
        itemsAt: profile.list.itemsAt,
        entryAt: profile.list.entry,
        idPaths: profile.idPaths[kind],
        idUrlPaths: profile.idUrlPaths[kind],
        naturalKeyFields: keyNames[kind],
        wireNames: new Map(allowedFieldsOf(profile, kind).map((name) => [name, wireNameOf(profile, kind, name)])),
      },
      clean,
    );
  return { product: shapeOf('product'), material: shapeOf('material') };
}

/** The names of the identifying fields in the entries of a catalogue. */
interface ItemPaths extends IdPlaces {
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
