// Reads the id of an item from an answer.

import type { JsonValue } from '../../lib/json.ts';
import type { CleanText } from './clean-text.ts';
import { valueAt } from './json-text.ts';

const ID_LENGTH_MAX = 255;
const ADDRESS_LENGTH_MAX = 2_048;

/** Where an answer or an entry has its id. */
export interface IdPlaces {
  /** Dotted paths of the id. */
  idPaths: readonly string[];
  /** Dotted paths of the item's address, whose last part is the id. */
  idUrlPaths?: readonly string[];
}

/**
 * The remote id in an answer, at the first of the paths that has one, in its JSON type.
 *
 * @returns null if there is none. Text that contains an API key, or that is too long, is no id, because the ledger would
 *   store it (I7). An address is no id either: only its last part is. `whyNoId` says why.
 */
export function remoteIdIn(
  value: JsonValue,
  { idPaths, idUrlPaths = [] }: IdPlaces,
  clean: CleanText,
): string | number | null {
  for (const path of idPaths) {
    const id = valueAt(value, path);
    if (typeof id === 'number' && Number.isSafeInteger(id)) return id;
    if (typeof id === 'string' && isIdText(id, clean) && !isAddress(id)) return id;
  }
  for (const path of idUrlPaths) {
    const address = valueAt(value, path);
    const id = typeof address === 'string' ? idInAddress(address, clean) : null;
    if (id !== null) return id;
  }
  return null;
}

/**
 * The id in the address of an item: the last part of its path. Digits are a number, because such platforms count their
 * items and expect numbers in bodies.
 */
export function idInAddress(address: string, clean: CleanText): string | number | null {
  const id = lastPart(address);
  if (id === null || !isIdText(id, clean)) return null;
  return NUMERAL.test(id) ? Number(id) : id;
}

/** The address of the new item in a header `Location`, which may be relative to the endpoint; null for any other address. */
export function newItemIn(location: string, createsAt: string): string | null {
  const path = URL.parse(location, `http://platform.invalid${createsAt}`)?.pathname ?? '';
  const at = path.lastIndexOf(createsAt);
  return at !== -1 && ONE_SEGMENT.test(path.slice(at + createsAt.length)) ? path : null;
}

const ONE_SEGMENT = /^[^/]+\/?$/;

const NUMERAL = /^(?:0|[1-9]\d{0,14})$/;

function lastPart(address: string): string | null {
  if (address.length > ADDRESS_LENGTH_MAX || !address.includes('/')) return null;
  const path = address.replace(/[?#].*$/s, '').replace(/\/$/, '');
  try {
    return decodeURIComponent(path.slice(path.lastIndexOf('/') + 1));
  } catch {
    return null;
  }
}

/** True for text that can be an id and may be stored. */
export function isIdText(id: string, clean: CleanText): boolean {
  return isIdForm(id, clean) && clean.identifier(id) !== null;
}

/** Text with tags, control characters or white space at its ends is no id. */
function isIdForm(id: string, clean: CleanText): boolean {
  return id !== '' && id !== '.' && id !== '..' && id.length <= ID_LENGTH_MAX && clean.plain(id, ID_LENGTH_MAX) === id;
}

function isAddress(text: string): boolean {
  return text.startsWith('/') || text.includes('://') || (text.endsWith('/') && text.length > 1);
}

/** What `remoteIdIn` found in place of an id. `at` is the path of an address. */
export type NoId = { why: 'nothing' } | { why: 'secret' } | { why: 'address'; at: string };

/** Where platforms have the address of an item. */
const USUAL_ADDRESSES = ['url', 'self', 'href', '@id', 'resource_uri', 'links.self', '_links.self', '_links.self.href'];
const ENVELOPES = ['', 'data.'];

/** Why `remoteIdIn` has found no id. */
export function whyNoId(value: JsonValue, { idPaths, idUrlPaths = [] }: IdPlaces, clean: CleanText): NoId {
  const textAt = (path: string): string | null => {
    const text = valueAt(value, path);
    return typeof text === 'string' ? text : null;
  };
  const ids = [...idPaths.map(textAt), ...idUrlPaths.map((path) => lastPart(textAt(path) ?? ''))];
  if (ids.some((id) => id !== null && isIdForm(id, clean) && clean.identifier(id) === null)) return { why: 'secret' };
  const usual = ENVELOPES.flatMap((envelope) => USUAL_ADDRESSES.map((path) => envelope + path));
  const at = [...idPaths, ...usual].find((path) => {
    const text = textAt(path);
    return text !== null && isAddress(text) && idInAddress(text, clean) !== null;
  });
  return at === undefined ? { why: 'nothing' } : { why: 'address', at };
}
