import type { JsonObject } from '../../../lib/json.ts';

/** The values that an expression can use: a row, and with `each` one entry of a list of the row. */
export interface Scope {
  row: JsonObject;
  /** Absent without `each`. */
  entry?: { item: unknown; index: number };
  /** The values of the variables, by name. */
  variables: Record<string, unknown>;
}

export function rowScope(row: JsonObject): Scope {
  return { row, variables: { row: readable(row) } };
}

/** The scope of one entry of a list. `index` counts from 0. */
export function entryScope({ row, variables }: Scope, item: unknown, index: number): Scope {
  return {
    row,
    entry: { item, index },
    variables: { ...variables, item: readable(item ?? null), index: BigInt(index) },
  };
}

/**
 * An object with a member named "constructor" becomes a map, because the CEL library would not treat it as a plain
 * object.
 */
function readable(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Map) return value;
  return Object.hasOwn(value, 'constructor') ? new Map(Object.entries(value)) : value;
}
