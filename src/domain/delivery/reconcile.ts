import { canonicalJson, type JsonObject, type JsonValue, memberOf } from '../../lib/json.ts';
import { shellWord, visibleText } from '../../lib/text/safe-text.ts';
import type { ItemKind } from '../item.ts';
import type { Profile } from '../profile.ts';
import type { Operation } from './operation.ts';
import type { Reason } from './stored-reason.ts';

export interface Renamed {
  from: string;
  to: string | null;
}

/** The desired content of an item, and its content at the API. */
interface ItemStanding {
  kind: ItemKind;
  key: string;
  desiredHash: string;
  /** Null until the API has acknowledged a write. */
  baselineHash: string | null;
  /** The item's natural keys at the API and in the source, if they differ. */
  renamed: Renamed | null;
  /** True if a person has asked to send the content again in the present form, although it is at the API. */
  sendsForm: boolean;
}

/** The write that brings the desired payload to the API, or the reason why there is none. */
type Difference =
  | { need: 'none' }
  | { need: 'write'; operation: Operation }
  | { need: 'blocked'; operation: Operation; reason: Reason };

/**
 * Compares the desired content with what the API last acknowledged. Staging and settling both end with this comparison,
 * so every difference gets a delivery (I4).
 */
export function difference(item: ItemStanding, { productUpdate }: Pick<Profile, 'productUpdate'>): Difference {
  if (item.baselineHash === item.desiredHash && !item.sendsForm) return { need: 'none' };
  if (item.baselineHash === null) return { need: 'write', operation: `${item.kind}.create` };
  if (item.kind === 'material') return { need: 'write', operation: 'material.update' };
  const operation: Operation = `${item.kind}.update`;
  if (item.kind === 'product' && productUpdate === 'import') {
    return item.renamed !== null
      ? { need: 'blocked', operation, reason: renamedReason(item.key, item.renamed) }
      : { need: 'write', operation: 'product.import' };
  }
  const because = item.sendsForm ? 'The profile has changed how items of this kind are sent. ' : '';
  const message = `${because}${UNSUPPORTED[item.kind](item.key)}`;
  return { need: 'blocked', operation, reason: { code: 'unsupported', message } };
}

/** An import identifies products by the natural key: under a new natural key it would make a second product. */
function renamedReason(key: string, { from, to }: Renamed): Reason {
  return {
    code: 'renamed',
    message: `This product has another natural key (the SKU) now: "${visibleText(to ?? '')}" in place of "${visibleText(from)}". The bulk import finds products by this key, so it would create a second product. Give the product its old key, or change the key at the platform. ${byHand(key)}`,
  };
}

const UNSUPPORTED: Record<'product' | 'bom_item', (key: string) => string> = {
  product: (key) =>
    `The API has no update of a single product, and the profile says \`productUpdate: none\`. The change is sent through the bulk import once the profile says \`productUpdate: import\`. ${byHand(key)}`,
  bom_item: (key) => `The API can neither read nor change a BOM item. ${byHand(key)}`,
};

/** What a person can do about a change for which the API has no write. */
function byHand(key: string): string {
  const word = shellWord(key);
  return `Make the change at the platform by hand, then run \`dpp-sync settle --delivered ${word}\`. To leave the platform as it is, run \`dpp-sync settle --ignore ${word}\`.`;
}

/**
 * The whole payload of an item for an import: the desired fields, and null for fields that the API has and that are no longer
 * desired. Fields that an import does not name may keep their values.
 */
export function wholePayload(desired: JsonObject, baseline: JsonObject): JsonObject {
  const cleared = Object.keys(baseline).filter((name) => memberOf(desired, name) === undefined);
  return { ...desired, ...Object.fromEntries(cleared.map((name) => [name, null])) };
}

/** The fields that differ, with null for fields that are no longer desired: the body of a partial update. */
export function changedFields(desired: JsonObject, baseline: JsonObject): JsonObject {
  const changes: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(desired)) {
    const before = memberOf(baseline, name);
    if (before === undefined || canonicalJson(before) !== canonicalJson(value)) changes[name] = value;
  }
  for (const name of Object.keys(baseline)) {
    if (memberOf(desired, name) === undefined) changes[name] = null;
  }
  return changes;
}
