import type { Operation } from '../domain/delivery.ts';
import type { ItemKind } from '../domain/item.ts';
import { naturalKeyOf } from '../domain/natural-key.ts';
import type { SentProduct } from '../domain/ports/ledger.ts';
import type { Profile } from '../domain/profile.ts';
import { changedFields, wholePayload } from '../domain/reconcile.ts';
import { sha256Url } from '../lib/hash.ts';
import type { JsonObject, JsonValue } from '../lib/json.ts';
import { parseJson, parseJsonOrNull } from './context.ts';

/** What an item's baseline is where only its presence at the API is known. */
export interface Presence {
  baseline: string;
  /** Differs from the hash of any item, which covers its refs as well: the next write is made, and made in full. */
  hash: string;
}

/**
 * The baseline of an item of which only the presence is known. A product was found by its natural key, so that much is
 * known of it, and tells whether it is given another one later.
 *
 * @param desired the payload that was sent
 */
export function presenceOf(profile: Profile, kind: ItemKind, desired: string | null): Presence {
  const naturalKey = kind === 'product' ? naturalKeyOf(profile, kind, parseJson<JsonObject>(desired ?? '{}')) : null;
  const baseline = JSON.stringify(naturalKey === null ? {} : { [naturalKey.field]: naturalKey.value });
  return { baseline, hash: sha256Url(baseline) };
}

interface SentRow {
  operation: Operation;
  desired: string | null;
  baseline: string | null;
  baselineHash: string | null;
  remoteId: string | null;
}

/**
 * What an import carried of a product, told from what it was made of: neither the delivery's payload nor the item's baseline
 * changes before the doubt is settled. Null for any other operation.
 */
export function sentProduct(row: SentRow): SentProduct | null {
  if (row.operation !== 'product.import') return null;
  const desired = parseJson<JsonObject>(row.desired ?? '{}');
  const before = parseJsonOrNull<JsonObject>(row.baseline) ?? {};
  const isKnown = row.baseline !== null && row.baselineHash !== sha256Url(row.baseline);
  return {
    payload: wholePayload(desired, before),
    changed: isKnown ? Object.keys(changedFields(desired, before)) : null,
    remoteId: parseJsonOrNull<JsonValue>(row.remoteId),
  };
}
