// Cases of mappings: a row that is given, and what the mappings of its stream have to make of it.

import type { JsonObject, JsonValue } from '../lib/json.ts';
import type { ItemKind } from './item.ts';
import type { MappedRole } from './mapping.ts';

/** A row as the connector would give it. */
export interface GivenRow {
  source: string;
  stream: string;
  row: JsonObject;
  /** The rows of the streams that the mappings look up, by the name of the lookup table. A table that is not named is empty. */
  lookups: Readonly<Record<string, readonly JsonObject[]>>;
}

/** An item that a row has to make. Fields and refs are compared only if they are given, and then as a whole. */
export interface ExpectedItem {
  kind: ItemKind;
  key: string;
  fields?: JsonObject;
  refs?: Partial<Record<MappedRole, string>>;
}

/** An issue that a row has to have. Field and value are compared only if they are given. */
export interface ExpectedIssue {
  code: string;
  field?: string;
  value?: JsonValue;
}

/**
 * What a row has to become: all items that it makes, all issues that it has, or that no mapping takes it. Items beside
 * issues are those that `onIssue: report` leaves usable.
 */
export interface Expectation {
  items?: readonly ExpectedItem[];
  issue?: readonly ExpectedIssue[];
  excluded?: true;
}

export interface MappingCase {
  name: string;
  given: GivenRow;
  expect: Expectation;
}
