import type { JsonObject } from '../lib/json.ts';

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
}

/** The content identifies each row: no mapping does. */
export const BY_CONTENT: ByMappings = { by: 'mappings', mappings: [], compared: [], functions: '' };

/** A mapping whose keys may identify the rows of a stream, because they depend on the row alone. */
export interface IdentifyingMapping {
  /** The expressions that give the key, as a text. Mappings with the same text give the same keys. */
  expressions: string;
  /** The place of the mapping in the config, such as `sources[0].mappings[1]`, and its `key`. For messages. */
  path: string;
  key: string;
  /** The key of the item that the mapping makes from a row; null if it makes none, or if its key fails. */
  keyOf: KeyOf;
}

/** The key of a row; null for a row that has none. */
export type KeyOf = (fields: JsonObject) => string | null;

/** The key of a row by the first of these mappings that has one. */
export function firstKeyOf(mappings: readonly Pick<IdentifyingMapping, 'keyOf'>[]): KeyOf {
  return (fields) => {
    for (const { keyOf } of mappings) {
      const key = keyOf(fields);
      if (key !== null) return key;
    }
    return null;
  };
}

/** True if a choice was made among exactly these mappings, in any order. */
export function wasChosenAmong({ compared }: ByMappings, mappings: readonly IdentifyingMapping[]): boolean {
  const present = new Set(mappings.map(({ expressions }) => expressions));
  return present.size === compared.length && compared.every((one) => present.has(one));
}
