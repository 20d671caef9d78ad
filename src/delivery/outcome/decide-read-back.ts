import { foldedKey } from '../../domain/natural-key.ts';
import type { Decision } from '../../domain/ports/decision.ts';
import type { RemoteItem } from '../../domain/ports/target.ts';
import type { SentContent, UnconfirmedDelivery } from '../../domain/ports/unconfirmed.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { JsonObject, JsonValue } from '../../lib/json.ts';
import type { ListingMatch } from '../unconfirmed/listing-match.ts';
import { unprovenReason, withSentence } from '../unconfirmed/unconfirmed-reasons.ts';
import { isSameId, notUpserted } from './decide-member.ts';
import { decideResend, type ResendContext } from './decide-resend.ts';

/**
 * Decides about a member of an import that the answer did not name, or about a change of a material, after a complete
 * listing.
 *
 * Only fields that the listing shows are compared. Equal fields prove the write if one of them was to change, or if all
 * sent fields are shown. A field that differs disproves the write, and so does a product that is not in the list. The
 * write is then sent again, which is safe because a change may be written twice. The write is also sent
 * again if the listing neither shows nor excludes the product. In that case nothing is proven, and the content of the
 * write may be at the platform.
 *
 * In a proof that imports update, one field that was to change proves the write, and a former value disproves it. If the
 * list shows none of these values, the answer is believed, because the list shows one product.
 *
 * @param match the entries under the item's natural key
 */
export function decideReadBack(
  delivery: UnconfirmedDelivery & { sent: SentContent },
  { found, unclear }: ListingMatch,
  context: ResendContext,
): Decision {
  const { sent, reason } = delivery;
  const isProof = reason.code === 'change_proof';
  if (unclear !== null && found.length === 0) {
    if (context.profile.productUpdate === 'import') return decideResend(context, withSentence(reason, unclear), false);
    return { kind: 'unconfirmed', nextLookAt: null, spend: false, reason: unprovenReason(reason, unclear) };
  }
  const own = found.find(({ remoteId }) => sent.remoteId === null || isSameId(remoteId, sent.remoteId));
  const comparison = own === undefined ? 'differs' : isProof ? compareChange(sent, own) : compare(sent, own);
  const isSettled = context.operation !== 'product.import' || (comparison === 'equal' && !isProof);
  const second = isSettled
    ? undefined
    : found.find((entry) => entry !== own && isSecond(compare(sent, entry), isProof));
  if (second) return { kind: 'blocked', reason: notUpserted(sent.remoteId, second.remoteId) };
  // The answer has said that the change was stored, and a proof has to show that there is one product.
  if (comparison === 'equal' || (comparison === 'hidden' && isProof)) {
    return { kind: 'delivered', remoteId: sent.remoteId ?? own?.remoteId ?? null, contentKnown: true, by: 'read_back' };
  }
  if (comparison === 'hidden') {
    return { kind: 'unconfirmed', nextLookAt: null, spend: false, reason: withSentence(reason, HIDDEN) };
  }
  const withProof = withSentence(reason, own === undefined ? ABSENT : DIFFERS);
  // The answer has stated a problem, and the list shows that the platform did not store the change.
  if (reason.words !== undefined) return { kind: 'rejected', reason: { ...withProof, code: 'refused' }, absent: true };
  if (context.operation === 'material.update') return decideResend(context, withProof, true);
  // The write is known to have had no effect. Parking it stages the present desired content, in a way that the profile allows.
  if (context.profile.productUpdate === 'none') return { kind: 'parked', reason: withProof };
  return decideResend(context, withProof, true);
}

const ABSENT = 'The list does not show this item.';
const DIFFERS = 'The list shows this item without the change.';
const HIDDEN = 'The list does not show the fields that changed, so a person has to check them.';

type Comparison = 'equal' | 'differs' | 'hidden';

function compare({ payload, changed }: SentContent, { fields }: RemoteItem): Comparison {
  const names = Object.keys(payload);
  const shown = names.filter((name) => Object.hasOwn(fields, name));
  if (shown.some((name) => !isSameValue(payload[name] ?? null, fields[name] ?? null))) return 'differs';
  const isProven = changed?.some((name) => shown.includes(name)) || shown.length === names.length;
  return isProven ? 'equal' : 'hidden';
}

/**
 * Compares the fields that were to change. One of them is enough: a platform may store the others in its own form. A
 * field that has neither its new nor its former value has such a form, so it is no better than a hidden one.
 */
function compareChange({ payload, changed, former }: SentContent, { fields }: RemoteItem): Comparison {
  const shown = (changed ?? Object.keys(payload)).filter((name) => Object.hasOwn(fields, name));
  const isLike = (values: JsonObject) => (name: string) => isLikeValue(values[name] ?? null, fields[name] ?? null);
  if (shown.some(isLike(payload))) return 'equal';
  const isDisproven = changed === null ? shown.length > 0 : shown.some(isLike(former));
  return isDisproven ? 'differs' : 'hidden';
}

/** True for an entry that an import has made. The content of a product that was there before may be hidden too. */
function isSecond(comparison: Comparison, isProof: boolean): boolean {
  return comparison === 'equal' || (comparison === 'hidden' && isProof);
}

/** A platform may show a cleared field as an empty text, and a number as the text of its digits. */
function isSameValue(sent: JsonValue, shown: JsonValue): boolean {
  if (sent === null) return shown === null || shown === '';
  if (typeof sent === 'object' || typeof shown === 'object') return canonicalJson(sent) === canonicalJson(shown);
  return String(sent) === String(shown);
}

/** A platform may store a text in its own form: in capitals, without blanks at its ends, or a number with fewer digits. */
function isLikeValue(sent: JsonValue, shown: JsonValue): boolean {
  if (isSameValue(sent, shown)) return true;
  if (sent === null || shown === null || typeof sent === 'object' || typeof shown === 'object') return false;
  const [one, other] = [foldedKey(String(sent)), foldedKey(String(shown))];
  return one === other || (one !== '' && Number(one) === Number(other));
}
