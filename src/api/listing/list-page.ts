import { isJsonObject, type JsonValue } from '../../lib/json.ts';
import { expressible, parseJson, valueAt } from '../answers/json-text.ts';
import type { AnswerHeaders } from '../transport.ts';
import { type PagingPlaces, type PagingWords, readPagingWords } from './paging-words.ts';

/** How the entries of a page are found and read. */
export interface ListShape<Entry> {
  /** Dotted paths of the fields that may hold the entries. */
  itemsAt: readonly string[];
  /** Reads an entry; null for an entry without an identity. */
  read(entry: JsonValue): ReadEntry<Entry> | null;
}

export interface ReadEntry<Entry> {
  /** A unique value of the entry, usually its id. */
  identity: string | number;
  entry: Entry;
}

/** One page that was read. */
export interface ListPage<Entry> {
  entries: ReadEntry<Entry>[];
  /** The number of entries without an id. */
  nameless: number;
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
  const entries = given.flatMap((entry) => shape.read(expressible(nodeOf(entry))) ?? []);
  return { entries, nameless: given.length - entries.length, words: readPagingWords(value, headers, places) };
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
