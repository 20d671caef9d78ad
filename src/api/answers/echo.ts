// Checks whether an answer belongs to its request. Some proxies and servers send the answer of another request, and a
// wrong answer would bind an item to the wrong id. So the parts of the request that the answer repeats are compared
// with the request. An answer that repeats nothing proves nothing.

import { normalizeDecimal } from '../../lib/decimal.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { fieldsIn, valueAt } from './answer-text.ts';

/** The values that identify a request, by their names in the request. */
export interface SentIdentity {
  /** The natural key's fields in order of preference. The first that is both sent and repeated decides. */
  keys: readonly { name: string; value: string }[];
  ids: readonly SentId[];
  /** Further fields that contradict the request if the answer shows other values. */
  fields: readonly SentField[];
  /** The kind of item that the request is about, and how an item of another kind is recognised; absent for passports. */
  kind?: SentKind;
}

/** A field of the request, and how its values are compared. */
export interface SentField {
  name: string;
  value: JsonValue;
  as: 'text' | 'decimal' | 'unit';
}

export interface SentKind {
  name: string;
  /** All fields in the request. */
  sent: JsonObject;
  /** Fields that only items of other kinds have, with the kind. */
  others: readonly { name: string; kind: string; isRef: boolean }[];
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

/** What an answer shows about its request. */
interface Comparison {
  /** A value that the answer repeats differently; null if nothing differs. */
  difference: Difference | null;
  /** True if the answer repeats the values that identify the request: the natural key, the own id, or all other ids. */
  repeats: boolean;
  /** True if it repeats only the own id, which was in the path. That names the item, and shows nothing of the change. */
  onlyOwnId: boolean;
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
 */
export function compareWith(answered: readonly JsonValue[], sent: SentIdentity): Comparison {
  const holders = answered.map(withoutStatusCode);
  const key = repeatedKey(holders, sent.keys);
  const keyDiffers = key !== null && key.shown !== key.sent ? key : null;
  if (keyDiffers !== null && !keyDiffers.formOnly) return { ...NOT_COMPARED, difference: keyDiffers };
  const difference =
    idDifference(holders, sent.ids) ?? fieldDifference(holders, sent.fields) ?? otherKind(holders, sent);
  if (difference !== null) return { ...NOT_COMPARED, difference };
  const repeats = key !== null || repeatsIds(holders, sent.ids);
  const onlyOwnId = repeats && key === null && sent.ids.some(({ isOwn }) => isOwn === true);
  return { difference: keyDiffers, repeats, onlyOwnId };
}

/** The comparison with a request that has no values to repeat. */
export const NOT_COMPARED: Comparison = { difference: null, repeats: false, onlyOwnId: false };

/** Fields of the text beside the code of a status: `{"code": 0, "message": "success"}`. */
const STATUS_TEXTS = ['message', 'msg'] as const;

/** Many platforms state the result of a request in a code with a text. That code is none of a material. */
function withoutStatusCode(holder: JsonValue): JsonValue {
  if (!isJsonObject(holder) || !STATUS_TEXTS.some((name) => typeof valueAt(holder, name) === 'string')) return holder;
  const { code: _, ...others } = holder;
  return others;
}

/** The id of an answer, wherever it was found, if it is that of another item than the changed one; otherwise null. */
export function otherItem(remoteId: string | number | null, sent: SentIdentity | undefined): Difference | null {
  const own = sent?.ids.find(({ isOwn }) => isOwn === true);
  if (own === undefined || remoteId === null || isAlike(String(remoteId), String(own.id))) return null;
  return { name: own.name, sent: String(own.id), shown: String(remoteId), formOnly: false };
}

/** The first field of the natural key that is both sent and repeated. */
function repeatedKey(holders: readonly JsonValue[], keys: SentIdentity['keys']): Difference | null {
  for (const holder of holders) {
    for (const { name, value } of keys) {
      const shown = textOf(valueAt(holder, name));
      if (shown !== null) return { name, sent: value, shown, formOnly: isAlike(shown, value) };
    }
  }
  return null;
}

function repeatsIds(holders: readonly JsonValue[], ids: SentIdentity['ids']): boolean {
  return (
    ids.length > 0 &&
    ids.every(({ paths, id }) => valuesAt(holders, paths).some((value) => isAlike(textOf(value) ?? '', String(id))))
  );
}

/** The first field that the answer shows with another value than the one that was sent. */
function fieldDifference(holders: readonly JsonValue[], fields: SentIdentity['fields']): Difference | null {
  for (const { name, value, as } of fields) {
    const sent = textOf(value);
    const shown = textOf(holders.map((holder) => valueAt(holder, name)).find((one) => textOf(one) !== null));
    if (sent === null || shown === null || IS_SAME[as](sent, shown)) continue;
    return { name, sent, shown, formOnly: false };
  }
  return null;
}

/** Whether two values are the same, apart from their form. */
const IS_SAME: Record<SentField['as'], (sent: string, shown: string) => boolean> = {
  text: (sent, shown) => {
    if (sent === shown) return true;
    const [a, b] = [words(sent), words(shown)];
    // A platform may cut off a long text.
    return a === b || (b.length >= CUT_LEAST && a.startsWith(b));
  },
  decimal: (sent, shown) => {
    const [a, b] = [normalizeDecimal(sent), normalizeDecimal(shown)];
    // A text that is no number, such as "1,5 kg", cannot be compared.
    return a === null || b === null || a === b || isRounded(a, b);
  },
  // Only two codes can be compared: "kg" and "KG" may stand for KGM.
  unit: (sent, shown) =>
    sent === shown || !UNIT_CODE.test(shown) || !UNIT_CODE.test(sent) || (PIECES.has(sent) && PIECES.has(shown)),
};

const CUT_LEAST = 40;
const UNIT_CODE = /^[A-Z][A-Z0-9]{2}$/;
/** Codes for a number of pieces. Platforms use one for another. */
const PIECES: ReadonlySet<string> = new Set(['C62', 'H87', 'EA', 'PCE', 'PCS', 'PC', 'ST', 'NAR']);
/** A platform that keeps fewer digits rounds or cuts off the others. With fewer decimals than this, the value is another one. */
const ROUNDED_DECIMALS_LEAST = 2;

function isRounded(sent: string, shown: string): boolean {
  const decimals = shown.includes('.') ? shown.length - shown.indexOf('.') - 1 : 0;
  return decimals >= ROUNDED_DECIMALS_LEAST && Math.abs(Number(sent) - Number(shown)) < 10 ** -decimals;
}

/**
 * An answer that shows a field that only items of another kind have, and not the natural key of the request; nor any other
 * field of the request, if none was sent. Items of two kinds may have the same name.
 */
function otherKind(holders: readonly JsonValue[], { kind, keys: [key] }: SentIdentity): Difference | null {
  if (kind === undefined) return null;
  const has = (name: string): boolean => holders.some((holder) => valueAt(holder, name) !== undefined);
  if (key === undefined ? Object.keys(kind.sent).some(has) : has(key.name)) return null;
  // A number is no natural key. It may be the code of a status.
  const other = kind.others.find(({ name, isRef }) =>
    holders.some((holder) => (isRef ? valueAt(holder, name) !== undefined : typeof valueAt(holder, name) === 'string')),
  );
  return other === undefined ? null : { name: 'kind', sent: kind.name, shown: other.kind, formOnly: false };
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
    if (shown.some((one) => isAlike(one, String(id)))) continue;
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

function words(text: string): string {
  return plain(text).replace(/\s+/g, ' ');
}

/** True if two texts are equal except for capitals, surrounding spaces or the Unicode form. */
function isAlike(one: string, other: string): boolean {
  return one === other || plain(one) === plain(other);
}

function plain(text: string): string {
  return text.normalize('NFKC').trim().toLowerCase();
}

function textOf(value: JsonValue | undefined): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}

/**
 * The objects of an answer that may hold the written item: the answer itself, the envelopes on the paths of its id, and
 * the fields of each of them if the profile says that an item has its fields in one member.
 */
export function holdersOf(answer: JsonValue, idPaths: readonly string[], entryAt: string | null = null): JsonValue[] {
  const holders: JsonValue[] = [];
  for (const path of idPaths) {
    const end = path.lastIndexOf('.');
    const envelope = end === -1 ? undefined : valueAt(answer, path.slice(0, end));
    if (isJsonObject(envelope) && !holders.includes(envelope)) holders.push(envelope);
  }
  if (isJsonObject(answer)) holders.push(answer);
  if (entryAt === null) return holders;
  const items = [answer, valueAt(answer, 'data') ?? null];
  const fields = items.flatMap((item) => (fieldsIn(item, entryAt) === item ? [] : fieldsIn(item, entryAt)));
  return [...fields, ...holders];
}
