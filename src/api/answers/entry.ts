// Reads texts and ids of an entry in a list of the platform, at the paths of the profile.
import type { JsonValue } from '../../lib/json.ts';
import { type CleanText, valueAt } from './answer-text.ts';

const WORD_LENGTH_MAX = 255;
const IDENTIFIER_LENGTH_MAX = 2_048;
const URL_LENGTH_MAX = 2_048;

/** A word of the platform. */
interface Word {
  /** The text itself. It is compared with words of the profile and not stored. */
  said: string;
  /** The text as it may be shown and stored. */
  shown: string;
}

/** The first text or number at one of the paths. */
export function wordAt(entry: JsonValue, paths: readonly string[], clean: CleanText): Word | null {
  for (const path of paths) {
    const said = lineAt(entry, path, clean);
    if (said !== null) return { said, shown: clean(said, WORD_LENGTH_MAX) };
  }
  return null;
}

/**
 * The first text or number at one of the paths, unchanged: an SKU is compared with natural keys, and `<b>` or two spaces are a part of
 * it. A text with an API key is left out, and so is one that is longer than any SKU.
 */
export function identifierAt(entry: JsonValue, paths: readonly string[], clean: CleanText): string | null {
  for (const path of paths) {
    const value = valueAt(entry, path);
    if (typeof value === 'number') return String(value);
    if (typeof value !== 'string' || value === '' || value.length > IDENTIFIER_LENGTH_MAX) continue;
    if (clean.identifier(value) !== null) return value;
  }
  return null;
}

/** The first time at one of the paths, as one line. A text with an API key is left out. */
export function timeAt(entry: JsonValue, paths: readonly string[], clean: CleanText): string | null {
  for (const path of paths) {
    const line = lineAt(entry, path, clean);
    if (line !== null && clean.identifier(line) !== null) return line;
  }
  return null;
}

function lineAt(entry: JsonValue, path: string, clean: CleanText): string | null {
  const value = valueAt(entry, path);
  if (typeof value === 'number') return String(value);
  const line = typeof value === 'string' ? clean.plain(value, WORD_LENGTH_MAX) : '';
  return line === '' ? null : line;
}

/** The first address at one of the paths, made absolute. Only http and https are addresses of a passport. */
export function urlAt(
  entry: JsonValue,
  paths: readonly string[],
  { origin, clean }: { origin: string; clean: CleanText },
): string | null {
  for (const path of paths) {
    const value = valueAt(entry, path);
    if (typeof value !== 'string' || value === '' || value.length > URL_LENGTH_MAX) continue;
    if (clean.identifier(value) === null) continue;
    const url = URL.parse(value, origin);
    if (url !== null && (url.protocol === 'https:' || url.protocol === 'http:')) return url.href;
  }
  return null;
}

/** How the answer to a publication or a withdrawal states the new state of the passport. */
export interface ExpectedState {
  statusPaths: readonly string[];
  /** The states in lower case that mean that the request is done. */
  done: ReadonlySet<string>;
  /** The places of an id in the answer. */
  idPaths: readonly string[];
}

/**
 * The state that an answer names: `done`, or the platform's own words for any other state. A word that is in no list of
 * the profile may mean anything.
 *
 * @returns null if the answer names no state
 */
export function saidOf(
  holders: readonly JsonValue[],
  { statusPaths, done }: ExpectedState,
  clean: CleanText,
): 'done' | { words: string } | null {
  for (const holder of holders) {
    const word = wordAt(holder, statusPaths, clean);
    if (word !== null) return done.has(word.said.toLowerCase()) ? 'done' : { words: word.shown };
  }
  return null;
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

// Reads the id of an item from an answer.

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

/** How an answer without an id is described. */
export function describeNoId(noId: NoId): string {
  switch (noId.why) {
    case 'nothing':
      return 'without an id';
    case 'secret':
      return 'with an id that contains the API key, or 16 characters of a secret, and such an id is not stored';
    case 'address':
      return `with an address in place of an id, whose place the profile has to name (\`idUrlPaths\`: ${noId.at})`;
  }
}
