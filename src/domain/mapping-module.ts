import type { JsonObject, JsonValue } from '../lib/json.ts';
import type { Issue } from './issue.ts';
import type { Item } from './item.ts';
import type { Place } from './place.ts';

/**
 * Our expression functions, for mappings written in TypeScript. Each gives `""` for an empty value, and throws
 * an error that quarantines the record for one that it cannot read.
 */
export interface MappingTools {
  country(value: JsonValue): string;
  unit(value: JsonValue): string;
  /** `mark` separates the fraction; a point by default. */
  decimal(value: JsonValue, mark?: ',' | '.'): string;
  gtin(value: JsonValue): string;
  /** `format` is for dates that are neither ISO nor YYYYMMDD, as `DD.MM.YYYY`. */
  date(value: JsonValue, format?: string): string;
  htmlText(value: JsonValue): string;
  decodeEntities(value: JsonValue): string;
  /** The text that a lookup table has for a key; of a key with several columns, the list of its parts. */
  lookup(table: string, key: JsonValue, fallback?: string): string;
  /** All values for a key: texts, or objects where the table has several value columns. */
  lookupAll(table: string, key: JsonValue): JsonValue[];
}

/** A mapping that needs more than expressions. It must be pure: no clock, no network, no state between rows. */
export interface MappingModule {
  /**
   * Maps one row to any number of items; none means that the row is excluded. Return issues, or throw, to quarantine
   * the row. Name the keys of its `products` beside the issues: only their passports wait until the row is right. Without
   * `products` the passports of all products wait, since the row might be a part of any.
   */
  map(
    row: JsonObject,
    context: { stream: string; place: Place; tools: MappingTools },
  ): Item[] | { issues: Issue[]; products?: string[] };
}
