import type { JsonObject, JsonValue } from '../lib/json.ts';
import type { Issue } from './issue.ts';
import type { Item } from './item.ts';
import type { Place } from './record.ts';

/** Our expression functions, for mappings written in TypeScript. Each throws an error that quarantines the record. */
export interface MappingTools {
  country(value: JsonValue): string;
  unit(value: JsonValue): string;
  decimal(value: JsonValue): string;
  gtin(value: JsonValue): string;
  date(value: JsonValue): string;
  lookup(table: string, key: JsonValue): string;
}

/** A mapping that needs more than expressions. It must be pure: no clock, no network, no state between rows. */
export interface MappingModule {
  /**
   * Turns one row into any number of items; none means that the row is excluded. Return issues, or throw, to quarantine
   * the row.
   */
  map(row: JsonObject, context: { stream: string; place: Place; tools: MappingTools }): Item[] | { issues: Issue[] };
}
