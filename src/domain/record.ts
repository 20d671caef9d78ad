import { sha256Url } from '../lib/hash.ts';
import type { JsonObject } from '../lib/json.ts';
import { findOddCharacter, type OddCharacter } from '../lib/text/safe-text.ts';
import type { Issue, Place } from './issue.ts';
import { ITEM_KINDS, type ItemKind } from './item.ts';
import { identifyingText } from './natural-key.ts';

/** The field under which a connector keeps the text of a row that could not be split into fields. */
export const RAW_FIELD = '_raw';

/** A row that is to be stored: identified, hashed, and without the columns that are never stored. */
export interface IncomingRecord {
  /** The values of the key columns, or a hash of the content if the stream has none; see `recordKey`. */
  identity: string;
  /** SHA-256 of `raw`, base64url. */
  hash: string;
  /** The fields as JSON text, as they are stored. */
  raw: string;
  place: Place;
  /** The issues that the connector has found in the row. A record with issues is quarantined without being mapped. */
  issues: Issue[];
}

/**
 * Separates key parts and occurrence numbers. A value that contains this character cannot be a key: see `identityOf`.
 */
const SEPARATOR = '\u001f';

/**
 * The key of a record: its identity and the number of its occurrence. Rows of one read with the same identity are
 * numbered by their occurrence (from 1), so that none of them is dropped silently.
 */
export function recordKey(identity: string, occurrence: number): string {
  return occurrence === 1 ? identity : `${identity}${SEPARATOR}${occurrence}`;
}

/** The identity that a record key repeats; null for the key of a first occurrence. */
export function repeatedKey(key: string): string | null {
  const at = key.lastIndexOf(SEPARATOR);
  return at > 0 && /^[1-9]\d*$/.test(key.slice(at + 1)) ? key.slice(0, at) : null;
}

/** The identity of a row by the key and the kind of an item. No number of an occurrence is a kind. */
function identityOfItem(kind: ItemKind, key: string): string {
  return `${key}${SEPARATOR}${kind}`;
}

/** The identities that a row with this key may have. */
export function identitiesOf(key: string): string[] {
  return [key, ...ITEM_KINDS.map((kind) => identityOfItem(kind, key))];
}

/** A key that no row can have, for a record whose key another record needs. */
export function vacantKey(recordId: number): string {
  return `${SEPARATOR}${recordId}`;
}

/** The bytes of UTF-8 that an identity may have. Databases limit the size of an entry of an index. */
export const IDENTITY_BYTES_MAX = 1024;

/** True for an identity that a record may have. Every key of every row is checked, and most are short. */
export function isStorableIdentity(identity: string): boolean {
  return 3 * identity.length <= IDENTITY_BYTES_MAX || Buffer.byteLength(identity) <= IDENTITY_BYTES_MAX;
}

/** A value of a key column with a character that people cannot see. */
export interface UnseenInKey {
  column: string;
  text: string;
  unseen: OddCharacter;
}

/**
 * The identity of a row, from the values of the stream's key columns. Null if a value is absent or empty, or has an odd
 * character (see `findOddCharacter`), or if all values together are too long. Odd characters could make different keys equal: the separator is an odd character,
 * and SQLite stores U+FFFD for each lone surrogate.
 *
 * @param found gets each value that has a character inside which people cannot see
 */
export function identityOf(
  fields: JsonObject,
  keyColumns: readonly string[],
  found?: (unseen: UnseenInKey) => void,
): string | null {
  const parts: string[] = [];
  let isUsable = true;
  for (const column of keyColumns) {
    const value = fields[column];
    // Objects inherit members such as `constructor`, none of which is a text.
    if (value === undefined || value === null || (typeof value !== 'string' && !Object.hasOwn(fields, column)))
      return null;
    const { text, unseen } = identifyingText(typeof value === 'string' ? value : JSON.stringify(value));
    if (text === '') return null;
    if (unseen !== null) {
      found?.({ column, text, unseen });
      if (findOddCharacter(text) !== null) isUsable = false;
    }
    parts.push(text);
  }
  const identity = joinKey(parts);
  return isUsable && isStorableIdentity(identity) ? identity : null;
}

/** The values of the key columns in a key. */
export function keyParts(key: string): string[] {
  return key.split(SEPARATOR);
}

export function joinKey(parts: readonly string[]): string {
  return parts.join(SEPARATOR);
}

/** The form of a key for people, with ` / ` between its parts. */
export function readableKey(key: string): string {
  return key.replaceAll(SEPARATOR, ' / ');
}

/** The stored form of a key that has the form of `readableKey`. */
export function writtenKey(readable: string): string {
  return readable.replaceAll(' / ', SEPARATOR);
}

/**
 * Text and hash under which the fields of a row are stored and compared. The issues of a row count too: if a row gets
 * another issue, it has changed.
 */
export function serializeFields(fields: JsonObject, issues: readonly Issue[] = []): { raw: string; hash: string } {
  const raw = JSON.stringify(fields);
  return { raw, hash: sha256Url(issues.length === 0 ? raw : raw + JSON.stringify(issues)) };
}

/** True if a stored row has no usable key of its own, so that the hash of its content is its key. */
export function isKeyedByContent({
  key,
  fields,
  issues,
}: {
  key: string;
  fields: JsonObject;
  issues: Issue[];
}): boolean {
  const [identity] = key.split(SEPARATOR, 1);
  return [serializeFields(fields), serializeFields(fields, issues)].some(({ hash }) => hash === identity);
}

/**
 * What identifies the rows of a stream. The ledger stores it, because the keys of the stored records depend on it.
 * `columns`: the key columns of the config. `mappings`: the first of these mappings that makes a key from the row, else
 * the content of the row. `unknown`: a change of the keys was interrupted, so some records have their former key.
 */
export type StreamIdentity = { by: 'columns'; columns: readonly string[] } | ByMappings | { by: 'unknown' };

interface ByMappings {
  by: 'mappings';
  /** The expressions of the mappings, as in `IdentifyingMapping`. Without any, the content identifies each row. */
  mappings: readonly string[];
  /** The expressions of all mappings among which these were chosen. */
  compared: readonly string[];
  /** The functions with which the stored keys were made, as in `Mapper`; empty for the content. */
  functions: string;
  /** True if the stored keys contain the kind of the mapping; see `firstKeyOf`. */
  hasKinds?: true;
}

/** The content identifies each row: no mapping does. */
export const BY_CONTENT: ByMappings = { by: 'mappings', mappings: [], compared: [], functions: '' };

/** A mapping whose keys may identify the rows of a stream, because they depend on the row alone. */
export interface IdentifyingMapping {
  kind: ItemKind;
  /** The expressions that give the key, as a text. Mappings with the same text give the same keys. */
  expressions: string;
  /** The place of the mapping in the config, such as `sources[0].mappings[1]`, and its `key`. For messages. */
  path: string;
  key: string;
  /** True if no `when` excludes a row. */
  takesAllRows: boolean;
  /** The key of the item that the mapping makes from a row; null if it makes none, or if its key fails. */
  keyOf: KeyOf;
}

/** The key of a row; null for a row that has none. */
export type KeyOf = (fields: JsonObject) => string | null;

/**
 * The key of a row by the first of these mappings that has one. Rows of several kinds may have equal keys, so the keys of all kinds
 * but the first one contain the kind.
 */
export function firstKeyOf(mappings: readonly IdentifyingMapping[]): KeyOf {
  const kinds = mappings.map((mapping) => kindOf(mapping, mappings));
  return (fields) => {
    for (const [at, { keyOf }] of mappings.entries()) {
      const key = keyOf(fields);
      const kind = kinds[at];
      if (key !== null) return kind === undefined || kind === kinds[0] ? key : identityOfItem(kind, key);
    }
    return null;
  };
}

export function haveSeveralKinds(mappings: readonly IdentifyingMapping[]): boolean {
  return new Set(mappings.map((mapping) => kindOf(mapping, mappings))).size > 1;
}

/**
 * The kind that identifies the rows of a mapping. A mapping without `when` gives the same key to these rows if it has the same
 * `key`, so its kind counts. A row then stays the same row if the `when` of the other mapping does not take it any more.
 */
function kindOf({ kind, key }: IdentifyingMapping, mappings: readonly IdentifyingMapping[]): ItemKind {
  return mappings.find((other) => other.takesAllRows && other.key === key)?.kind ?? kind;
}

/** True if a choice was made among exactly these mappings, in any order. */
export function wasChosenAmong({ compared }: ByMappings, mappings: readonly IdentifyingMapping[]): boolean {
  const present = new Set(mappings.map(({ expressions }) => expressions));
  return present.size === compared.length && compared.every((one) => present.has(one));
}

/** A change of form that makes keys equal which differ otherwise. */
interface Form {
  /** What has changed, as the subject of a sentence. */
  words: string;
  /** The key without what the form changes. */
  reduce: (key: string) => string;
}

const withoutZeros = (key: string): string => key.replace(/(^|\D)0+(?=\d)/g, '$1');
const withoutSeparators = (key: string): string => key.replace(/[\s._/\\-]+/g, '');
const withoutCase = (key: string): string => key.toLowerCase();

const FORMS: readonly Form[] = [
  { words: 'leading zeros', reduce: withoutZeros },
  { words: 'upper and lower case', reduce: withoutCase },
  { words: 'spaces and separators', reduce: withoutSeparators },
  {
    words: 'leading zeros, case, spaces and separators',
    reduce: (key) => withoutZeros(withoutSeparators(withoutCase(key))),
  },
];

/** So many keys propose a prefix or a suffix. */
const PROPOSING = 20;

/** The change of form that makes most former keys equal to new ones. */
interface KeyForm {
  words: string;
  /** How many of the former keys are then equal to a new one. */
  equal: number;
}

/**
 * Finds the change of form that makes former keys equal to new ones: zeros, case, separators, a prefix or a suffix. Null
 * if no form makes at least half of the former keys equal. Takes a time that grows with the number of keys.
 */
export function equalForm(former: readonly string[], fresh: readonly string[]): KeyForm | null {
  const forms = [...FORMS, ...affixes(former, fresh)];
  let best: KeyForm | null = null;
  for (const { words, reduce } of forms) {
    const reduced = new Set(fresh.map(reduce));
    const equal = former.filter((key) => reduced.has(reduce(key))).length;
    if (equal > 0 && equal * 2 >= former.length && equal > (best?.equal ?? 0)) best = { words, equal };
  }
  return best;
}

/** The prefixes and suffixes that one of the first former keys has more or less than a new key. */
function affixes(former: readonly string[], fresh: readonly string[]): Form[] {
  const found = new Map<string, Form>();
  for (const one of former.slice(0, PROPOSING)) {
    for (const other of fresh) {
      const [short, long] = one.length < other.length ? [one, other] : [other, one];
      if (short === '' || short.length === long.length) continue;
      const rest = long.length - short.length;
      if (long.endsWith(short)) {
        const prefix = long.slice(0, rest);
        const reduce = (key: string) => (key.startsWith(prefix) ? key.slice(rest) : key);
        found.set(`< ${prefix}`, { words: `the prefix ${JSON.stringify(prefix)}`, reduce });
      } else if (long.startsWith(short)) {
        const suffix = long.slice(short.length);
        const reduce = (key: string) => (key.endsWith(suffix) ? key.slice(0, -rest) : key);
        found.set(`> ${suffix}`, { words: `the suffix ${JSON.stringify(suffix)}`, reduce });
      }
      if (found.size >= PROPOSING) return [...found.values()];
    }
  }
  return [...found.values()];
}
