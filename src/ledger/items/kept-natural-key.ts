import { identifyingText } from '../../domain/identifying-text.ts';
import type { MappedItem } from '../../domain/mapping.ts';
import { type NaturalKey, naturalKeyOf } from '../../domain/natural-key.ts';
import type { Profile } from '../../domain/profile.ts';
import type { JsonObject } from '../../lib/json.ts';
import { parseJson } from '../store/context.ts';
import { acknowledgedContent, type ItemRow, mayHaveArrived, revisionContent } from './item-row.ts';

/** The type of the event that notes once that an item keeps the natural key of the platform. */
export const KEPT_KEY = 'kept_key';

/**
 * The item with the natural key under which the platform knows it, if that key differs from the new one only in white
 * space, byte order marks or padding around it. Earlier releases have sent such keys. Under the plain key, an import
 * would make a second product. So the platform's key stays, and nothing is sent because of it.
 *
 * @returns `keeps` is the platform's key; null if the item does not change
 */
export function withKeptNaturalKey(
  profile: Pick<Profile, 'naturalKeys'>,
  item: MappedItem,
  known: ItemRow | undefined,
): { item: MappedItem; keeps: string | null } {
  const wanted = known === undefined ? null : naturalKeyOf(profile, item.kind, item.payload);
  if (wanted === null || known === undefined || isKnownByIt(known, wanted)) return { item, keeps: null };
  const { field, value } = keyAtPlatform(profile, known) ?? wanted;
  const isPadded = field === wanted.field && value !== wanted.value && identifyingText(value).text === wanted.value;
  return isPadded
    ? { item: { ...item, payload: { ...item.payload, [field]: value } }, keeps: value }
    : { item, keeps: null };
}

/** True for most items. It spares the reading of their content. */
function isKnownByIt({ acknowledged, naturalKey }: ItemRow, wanted: NaturalKey): boolean {
  return acknowledged === 1 && naturalKey === wanted.value;
}

/** The natural key under which the platform has the item, or may have received it; null if it never received the item. */
function keyAtPlatform(profile: Pick<Profile, 'naturalKeys'>, known: ItemRow): NaturalKey | null {
  const content = acknowledgedContent(known) ?? (mayHaveArrived(known) ? revisionContent(known) : null);
  return content === null ? null : naturalKeyOf(profile, known.kind, parseJson<JsonObject>(content.text));
}
