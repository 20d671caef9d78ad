import { changedFields, wholePayload } from '../../domain/delivery/reconcile.ts';
import type { SubjectKind } from '../../domain/item.ts';
import { naturalKeyOf } from '../../domain/natural-key.ts';
import type { SentContent } from '../../domain/ports/unconfirmed.ts';
import type { Profile } from '../../domain/profile.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import { sha256Url } from '../../lib/hash.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import { parseJson, parseJsonOrNull } from '../store/context.ts';
import { acknowledgedContent, type ItemRow, revisionContent } from './item-row.ts';

/** The baseline of an item that is known to be at the API, but whose content is not known. */
export interface Presence {
  baseline: string;
  /**
   * A hash that no item has, because an item's hash also covers its refs. So the next write is staged, and contains all
   * fields.
   */
  hash: string;
}

/**
 * The baseline of an item whose content at the API is not known. The baseline of a product has the natural key, because
 * the product was found by it.
 *
 * @param desired the payload that was sent
 * @param before the former baseline, if it is unknown whether the payload replaced it. Then any field of the two
 *   payloads may be at the API. The new baseline has these fields as null. If one of them is not desired any more, the
 *   next write clears it.
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
 * The content that an import of a product or a change of a material has sent, computed from the same row as the write
 * itself. Null for any other operation.
 */
export function sentContent(row: ItemRow): SentContent | null {
  if (row.operation !== 'product.import' && row.operation !== 'material.update') return null;
  const desired = parseJson<JsonObject>(revisionContent(row).text);
  const baseline = acknowledgedContent(row);
  const before = parseJson<JsonObject>(baseline?.text ?? '{}');
  const isKnown = baseline !== null && baseline.hash !== sha256Url(baseline.text);
  return {
    payload: wholePayload(desired, before),
    changed: isKnown ? Object.keys(changedFields(desired, before)) : null,
    former: isKnown ? before : {},
    remoteId: parseJsonOrNull<JsonValue>(row.remoteId),
  };
}
