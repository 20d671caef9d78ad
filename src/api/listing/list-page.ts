import { isJsonObject, type JsonValue } from '../../lib/json.ts';
import { expressible, parseJson, valueAt } from '../answers/json-text.ts';
import type { NoId } from '../answers/remote-id.ts';
import type { AnswerHeaders } from '../transport.ts';
import { type PagingPlaces, type PagingWords, readPagingWords } from './paging-words.ts';

/** How the entries of a page are found and read. */
export interface ListShape<Entry> {
  /** Dotted paths of the fields that may hold the entries. */
  itemsAt: readonly string[];
  read(entry: JsonValue): ReadEntry<Entry> | NoEntry;
}

/** An entry without an identity. */
export interface NoEntry {
  noId: NoId;
}

export interface ReadEntry<Entry> {
  /** A unique value of the entry, usually its id. */
  identity: string | number;
  entry: Entry;
}

/** One page that was read. */
export interface ListPage<Entry> {
  entries: ReadEntry<Entry>[];
  /** Why each entry without an id has none. */
  nameless: NoId[];
  words: PagingWords;
}

/**
 * Reads one page. It may be a bare array, an object with an array, or a connection of Relay (`edges` of `node`).
 *
 * @returns null if the body is not a listing
 */
export function readListPage<Entry>(
  { body, headers }: { body: string; headers: AnswerHeaders },
  shape: ListShape<Entry>,
  places: PagingPlaces,
): ListPage<Entry> | null {
  const value = parseJson(body);
  const given = entriesOf(value, shape.itemsAt);
  if (value === undefined || given === null) return null;
  const entries: ReadEntry<Entry>[] = [];
  const nameless: NoId[] = [];
  for (const entry of given) {
    const read = shape.read(expressible(nodeOf(entry)));
    if ('noId' in read) nameless.push(read.noId);
    else entries.push(read);
  }
  return { entries, nameless, words: readPagingWords(value, headers, places) };
}

function entriesOf(value: JsonValue | undefined, itemsAt: readonly string[]): JsonValue[] | null {
  if (Array.isArray(value)) return value;
  if (value === undefined || !isJsonObject(value)) return null;
  for (const path of itemsAt) {
    const member = valueAt(value, path);
    if (Array.isArray(member)) return member;
    // `{"data": {"items": […]}}`
    const inner = itemsAt.map((name) => valueAt(member, name)).find((nested) => Array.isArray(nested));
    if (inner !== undefined) return inner;
  }
  return null;
}

/** An edge of Relay has the form `{"cursor", "node"}`. */
function nodeOf(entry: JsonValue): JsonValue {
  const node = isJsonObject(entry) && Object.hasOwn(entry, 'cursor') ? entry['node'] : undefined;
  return node ?? entry;
}
