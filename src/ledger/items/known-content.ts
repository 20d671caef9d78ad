import type { SubjectKind } from '../../domain/item.ts';
import { naturalKeyOf } from '../../domain/natural-key.ts';
import type { SentProduct } from '../../domain/ports/unconfirmed.ts';
import type { Profile } from '../../domain/profile.ts';
import { changedFields, wholePayload } from '../../domain/reconcile.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { sha256Url } from '../../lib/hash.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { parseJson, parseJsonOrNull } from '../store/context.ts';
import { acknowledgedContent, type ItemRow, revisionContent } from './item-row.ts';

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
 * @param before what the API had before, where it is not known whether the payload took its place: any field of the two may
 *   be there, so that one which is not desired later has to be cleared. They stand in the baseline as null.
 */
export function presenceOf(
  profile: Profile,
  kind: SubjectKind,
  { desired, before }: { desired: string | null; before: string | null },
): Presence {
  const sent = parseJson<JsonObject>(desired ?? '{}');
  const naturalKey = kind === 'product' ? naturalKeyOf(profile, kind, sent) : null;
  const names = before === null ? [] : Object.keys({ ...parseJson<JsonObject>(before), ...sent });
  const fields: JsonObject = Object.fromEntries(names.map((name) => [name, null]));
  if (naturalKey !== null) fields[naturalKey.field] = naturalKey.value;
  const baseline = canonicalJson(fields);
  return { baseline, hash: sha256Url(baseline) };
}

/**
 * What an import carried of a product, found from what it was made of: neither what the revision asks for nor the
 * item's baseline changes before the delivery is settled. Null for any other operation.
 */
export function sentProduct(row: ItemRow): SentProduct | null {
  if (row.operation !== 'product.import') return null;
  const desired = parseJson<JsonObject>(revisionContent(row).text);
  const baseline = acknowledgedContent(row);
  const before = parseJson<JsonObject>(baseline?.text ?? '{}');
  const isKnown = baseline !== null && baseline.hash !== sha256Url(baseline.text);
  return {
    payload: wholePayload(desired, before),
    changed: isKnown ? Object.keys(changedFields(desired, before)) : null,
    remoteId: parseJsonOrNull<JsonValue>(row.remoteId),
  };
}
