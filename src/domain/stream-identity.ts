import type { JsonObject } from '../lib/json.ts';
import type { ItemKind } from './item.ts';
import { identityOfItem } from './record.ts';

/**
 * What identifies the rows of a stream. The ledger stores it, because the keys of the stored records depend on it.
 * `columns`: the key columns of the config. `mappings`: the first of these mappings that makes a key from the row, else
 * the content of the row. `unknown`: a change of the keys was interrupted, so some records have their former key.
 */
export type StreamIdentity = { by: 'columns'; columns: readonly string[] } | ByMappings | { by: 'unknown' };

export interface ByMappings {
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
