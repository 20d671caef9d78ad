import { canonicalJson } from '../lib/canonical-json.ts';
import type { JsonObject, JsonValue } from '../lib/json.ts';
import type { Operation, Reason } from './delivery.ts';
import type { ItemKind } from './item.ts';

/** What the ledger knows of an item on both sides. */
export interface ItemStanding {
  kind: ItemKind;
  desiredHash: string;
  /** Null until the API has acknowledged a write. */
  baselineHash: string | null;
}

/** The write that makes the API hold what is desired, or why there is none. */
export type Difference =
  | { need: 'none' }
  | { need: 'write'; operation: Operation }
  | { need: 'blocked'; operation: Operation; reason: Reason };

/**
 * Compares what is desired with what the API last acknowledged. Staging and settling both end with it, so that the two
 * never differ without a delivery that says so (I4).
 */
export function difference(item: ItemStanding): Difference {
  if (item.baselineHash === item.desiredHash) return { need: 'none' };
  if (item.baselineHash === null) return { need: 'write', operation: `${item.kind}.create` };
  if (item.kind === 'material') return { need: 'write', operation: 'material.update' };
  const operation: Operation = `${item.kind}.update`;
  return { need: 'blocked', operation, reason: { code: 'unsupported', message: UNSUPPORTED[item.kind] } };
}

const UNSUPPORTED = {
  product:
    'The API has no update of a single product, and the bulk import is not in use. The change is kept here; it goes out as soon as a way exists.',
  bom_item: 'The API can neither read nor change a BOM item. The change is kept here; mend it at the platform by hand.',
} as const;

/** The fields that differ, with null for those that are no longer desired: the body of a partial update. */
export function changedFields(desired: JsonObject, baseline: JsonObject): JsonObject {
  const changes: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(desired)) {
    const before = baseline[name];
    if (before === undefined || canonicalJson(before) !== canonicalJson(value)) changes[name] = value;
  }
  for (const name of Object.keys(baseline)) {
    if (desired[name] === undefined) changes[name] = null;
  }
  return changes;
}
