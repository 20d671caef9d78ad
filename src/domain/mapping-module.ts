import type { JsonObject, JsonValue } from '../lib/json.ts';
import type { Issue } from './issue.ts';
import type { Item } from './item.ts';
import type { Place } from './place.ts';

/**
 * The functions of expressions, for mappings written in TypeScript. Each function returns `""` for an empty value. For
 * a value that it cannot read it throws an error that quarantines the record.
 */
export interface MappingTools {
  country(value: JsonValue): string;
  unit(value: JsonValue): string;
  /** `mark` is the character before the fraction, a point by default. */
  decimal(value: JsonValue, mark?: ',' | '.'): string;
  gtin(value: JsonValue): string;
  /** `format` is for dates that are neither ISO nor YYYYMMDD, such as `DD.MM.YYYY`. */
  date(value: JsonValue, format?: string): string;
  htmlText(value: JsonValue): string;
  decodeEntities(value: JsonValue): string;
  /** The text that a lookup table has for a key. A key of several columns is a list of its parts. */
  lookup(table: string, key: JsonValue, fallback?: string): string;
  /** All values for a key: texts, or objects if the table has several value columns. */
  lookupAll(table: string, key: JsonValue): JsonValue[];
}

/** A mapping that needs more than expressions. It must be pure: no clock, no network, no state between rows. */
export interface MappingModule {
  /**
   * Maps one row to any number of items; none means that the row is excluded. Return issues, or throw, to quarantine
   * the row. Return `products` beside the issues, with the keys of the products that the row belongs to: only their
   * passports wait until the row is corrected. Without `products` the passports of all products wait, since the row
   * might be a part of any.
   */
  map(
    row: JsonObject,
    context: { stream: string; place: Place; tools: MappingTools },
  ): Item[] | { issues: Issue[]; products?: string[] };
}
