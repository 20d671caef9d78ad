// Checks whether an answer belongs to its request. Some proxies and servers send the answer of another request, and a
// wrong answer would bind an item to the wrong id. So the parts of the request that the answer repeats are compared
// with the request. An answer that repeats nothing proves nothing.

import { isJsonObject, type JsonValue } from '../../lib/json.ts';
import { valueAt } from './json-text.ts';

/** The values that identify a request, by their names in the request. */
export interface SentIdentity {
  /** The natural key's fields in order of preference. The first that is both sent and repeated decides. */
  keys: readonly { name: string; value: string }[];
  ids: readonly SentId[];
}

/** An id in the request, and the dotted paths at which an answer may repeat it. */
export interface SentId {
  name: string;
  paths: readonly string[];
  id: string | number;
  /** True if only this id can be at its paths. */
  isOwn?: true;
  /** The other id that the item could have had in place of this one. It was not sent. */
  either?: { name: string; paths: readonly string[] };
}

/** A value that the answer repeats differently from the request. */
export interface Difference {
  name: string;
  sent: string;
  shown: string;
  /** Whether the value is equal except for capitals, surrounding spaces or the Unicode form. */
  formOnly: boolean;
}

/**
 * Compares an answer with its request.
 *
 * @param holders where the answer may repeat the request, the likeliest first: the envelope, then the answer itself
 * @returns null if nothing differs
 */
export function differenceIn(holders: readonly JsonValue[], { keys, ids }: SentIdentity): Difference | null {
  return keyDifference(holders, keys) ?? idDifference(holders, ids);
}

function keyDifference(holders: readonly JsonValue[], keys: SentIdentity['keys']): Difference | null {
  for (const holder of holders) {
    for (const { name, value } of keys) {
      const shown = textOf(valueAt(holder, name));
      if (shown === null) continue;
      if (shown === value) return null;
      return { name, sent: value, shown, formOnly: plain(shown) === plain(value) };
    }
  }
  return null;
}

function idDifference(holders: readonly JsonValue[], ids: SentIdentity['ids']): Difference | null {
  for (const sent of ids) {
    const { name, paths, id, isOwn } = sent;
    const shown = valuesAt(holders, paths).flatMap((value) =>
      isOwn === true || isComparable(id, value) ? (textOf(value) ?? []) : [],
    );
    const [other] = shown;
    if (other === undefined) {
      const instead = otherPart(holders, sent);
      if (instead !== null) return instead;
      continue;
    }
    if (shown.some((one) => plain(one) === plain(String(id)))) continue;
    return { name, sent: String(id), shown: other, formOnly: false };
  }
  return null;
}

/** An answer that shows null in place of the id that was sent, and an id that was not sent. */
function otherPart(holders: readonly JsonValue[], { name, paths, id, either }: SentId): Difference | null {
  if (either === undefined || !valuesAt(holders, paths).includes(null)) return null;
  const other = valuesAt(holders, either.paths).find((value) => isComparable(id, value));
  const text = textOf(other);
  if (text === null) return null;
  return { name: 'part', sent: `${name} ${id}`, shown: `${either.name} ${text}`, formOnly: false };
}

function valuesAt(holders: readonly JsonValue[], paths: readonly string[]): (JsonValue | undefined)[] {
  return holders.flatMap((holder) => paths.map((path) => valueAt(holder, path)));
}

/**
 * True if two values are ids of the same form. In the field of an id a platform may show an SKU, an address or a whole
 * object, which proves nothing about the id.
 */
function isComparable(sent: string | number, shown: JsonValue | undefined): boolean {
  if (typeof shown === 'number') return typeof sent === 'number' || DIGITS.test(sent);
  return typeof sent === 'string' && typeof shown === 'string' && UUID.test(sent) && UUID.test(shown);
}

const DIGITS = /^\d+$/;
const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i;

function plain(text: string): string {
  return text.normalize('NFKC').trim().toLowerCase();
}

function textOf(value: JsonValue | undefined): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}

/** The objects of an answer that may hold the written item: the answer itself, and the envelopes on the paths of its id. */
export function holdersOf(answer: JsonValue, idPaths: readonly string[]): JsonValue[] {
  const holders: JsonValue[] = [];
  for (const path of idPaths) {
    const end = path.lastIndexOf('.');
    const envelope = end === -1 ? undefined : valueAt(answer, path.slice(0, end));
    if (isJsonObject(envelope) && !holders.includes(envelope)) holders.push(envelope);
  }
  if (isJsonObject(answer)) holders.push(answer);
  return holders;
}
