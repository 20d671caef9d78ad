import { isRepeatable } from '../../domain/delivery/operation.ts';
import type { Reason } from '../../domain/delivery/stored-reason.ts';
import { remoteIdText } from '../../domain/item.ts';
import { foldedKey, keyText, type NaturalKey } from '../../domain/natural-key.ts';
import type { Decision, SentContent, UnconfirmedDelivery } from '../../domain/ports/deliveries.ts';
import type { ListableKind, RemoteItem } from '../../domain/ports/target.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { shellWord } from '../../lib/text/safe-text.ts';
import type { DecideContext } from '../outcome/decide-context.ts';
import { isSameId, notUpserted } from '../outcome/decide-import.ts';

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

/** An unconfirmed delivery that may be sent again. */
export interface ResendContext extends DecideContext {
  /** When the delivery may be sent again; 0 means at once. */
  dueAt: number;
  /** Whether the API was away for all requests when the last attempt failed. The attempt does not count then. */
  refund: boolean;
}

/**
 * Decides about an unconfirmed delivery that may be sent again. A delivery whose retry limit is spent is parked if the write is
 * proven `absent`, or if writing it twice does no harm: a replay or a change of its row may then follow. Any other delivery stays
 * unconfirmed, and a person has to decide.
 */
export function decideResend(context: ResendContext, reason: Reason, absent: boolean): Decision {
  const { dueAt, refund } = context;
  const attempts = context.attempts - (refund ? 1 : 0);
  if (attempts < context.profile.retry.attemptsMax) return { kind: 'resend', dueAt, absent, refund, reason };
  const message = `${context.attempts} attempts were made and none had a clear answer. The last one: ${reason.message}`;
  const spent: Reason = { ...reason, code: 'exhausted', message };
  if (absent) return { kind: 'parked', reason: spent };
  // I3: the settling delay has passed. The lost request can no longer land after the write that follows.
  if (isRepeatable(context)) return { kind: 'parked', reason: spent, open: true };
  return { kind: 'unconfirmed', nextLookAt: null, spend: false, reason: spent };
}

/** The reason of a write that a complete listing does not show. */
export function absentReason(reason: Reason): Reason {
  return { ...reason, message: `${reason.message} A complete listing shows that the write did not arrive.` };
}

/** The reason of a write that a complete listing neither shows nor excludes. */
export function unprovenReason(reason: Reason, unclear: string): Reason {
  const sentences = `${unclear} Look at the platform, and record what is there with \`dpp-sync settle\`.`;
  return { ...reason, message: `${reason.message} ${sentences}` };
}

const COULD_DOUBLE = 'a second request could create the item twice.';

/** Adds a sentence to a reason, once. */
export function withSentence(reason: Reason, sentence: string): Reason {
  return reason.message.endsWith(sentence) ? reason : { ...reason, message: `${reason.message} ${sentence}` };
}

const NOT_SHOWN = "The platform's list does not show the item to this API key.";

/** The reason of a create that was refused because its item exists, although the list does not show the item. */
export function notShownReason(reason: Reason): Reason {
  return withSentence(reason, NOT_SHOWN);
}

/** The reason of a write whose answer belongs to another request, if the list does not show its item. */
export function notFoundReason(reason: Reason): Reason {
  const sentences = `A complete listing does not show the item under its own key. Look at the platform, and record what is there with \`dpp-sync settle\`.`;
  return { ...reason, message: `${reason.message} ${sentences}` };
}

/** The reason of a create after which the platform has several items with the key that was sent. */
export function severalReason(
  { kind, key }: UnconfirmedDelivery,
  found: readonly Pick<RemoteItem, 'remoteId'>[],
): Reason {
  const ids = found.map(({ remoteId }) => remoteIdText(remoteId)).join(', ');
  const message = `The platform has made this ${kind} ${found.length} times, with the ids ${ids}. Remove all but one at the platform: the next run finds the one that is left. Or name the right one with \`dpp-sync settle --delivered --id ID ${shellWord(key)}\`.`;
  return { code: 'made_twice', message };
}

const MAY_COME = 'The list of products does not show this product, and the import may still make it.';

/** The reason of an imported product that no list shows, if it is unknown how long an import may take. */
export function lateReason(reason: Reason): Reason {
  const sentences = `${MAY_COME} The next run looks up the product again. Set \`imports.settlesWithinMs\` in the profile, or record what is there with \`dpp-sync settle\`.`;
  return withSentence(reason, sentences);
}

/** The reason of a write that only a person can look up. The sentence is added once. */
export function unreadableReason(reason: Reason): Reason {
  if (reason.message.endsWith(COULD_DOUBLE)) return reason;
  return { ...reason, message: `${reason.message} The API cannot show whether the write arrived, and ${COULD_DOUBLE}` };
}

/** The reason of a passport whose publications do not show to whom they belong. */
export function unclearPublicationsReason(reason: Reason): Reason {
  const sentence =
    'The list of publications does not show to whom its entries belong, so it is unknown whether the write took effect; see `publications` in the profile.';
  return { ...reason, message: `${reason.message} ${sentence}` };
}

/** The reason of a publication or a withdrawal that the publications have not shown for some time. */
export function pendingReason({ operation, reason }: Pick<UnconfirmedDelivery, 'operation' | 'reason'>): Reason {
  const shown = operation === 'passport.publish' ? 'do not show the passport' : 'still show the passport';
  return withSentence(
    reason,
    `The publications ${shown}. The next run of the source looks again. Look at the platform, and record what is there with \`dpp-sync settle\`.`,
  );
}

/** What a listing shows under the natural key of a write. */
export interface ListingMatch {
  /** The items with exactly this key, at most `SAME_KEY_MAX`. */
  found: readonly RemoteItem[];
  /** Why an empty `found` proves no absence; null if it proves one. */
  unclear: string | null;
}

interface Wanted {
  /** The entries by the key's value in one Unicode form. A platform may store another form. */
  byValue: Map<string, RemoteItem[]>;
  unclear: string | null;
}

/** How many items under one natural key are kept. A natural key should be unique. */
const SAME_KEY_MAX = 10;

/**
 * Looks for items in a listing.
 *
 * A platform may show an item in another form than it was sent: without the field of its natural key, in capitals, or
 * with a code of the platform. Such an entry counts neither as the item nor as another one.
 *
 * @param fields the kind's natural keys, in order of preference
 */
export function createListingMatches(
  kind: ListableKind,
  { fields, keys }: { fields: readonly string[]; keys: readonly NaturalKey[] },
) {
  const wanted = new Map<string, Wanted>();
  for (const { field, value } of keys) {
    const known = wanted.get(nameOf(field, value)) ?? { byValue: new Map(), unclear: null };
    wanted.set(nameOf(field, value), known);
    known.byValue.set(value.normalize('NFC'), []);
  }
  const hidden = new Set<string>();
  let hidesKeys = false;

  return {
    /** Adds an entry of the listing. @returns whether it may be one of the wanted items */
    add(item: RemoteItem): boolean {
      let isWanted = false;
      let preferred: string | null = null;
      for (const field of fields) {
        if (!Object.hasOwn(item.fields, field)) hidden.add(field);
        const value = keyText(item.fields[field]);
        if (value === null) continue;
        const candidate = wanted.get(nameOf(field, value));
        const found = candidate?.byValue.get(value.normalize('NFC'));
        if (candidate && preferred !== null) candidate.unclear ??= otherKey(kind, field, preferred);
        else if (found && found.length < SAME_KEY_MAX) found.push(item);
        else if (candidate && !found) candidate.unclear ??= similarKey(kind, field, value);
        isWanted ||= candidate !== undefined;
        preferred ??= field;
      }
      hidesKeys ||= fields.every((field) => !Object.hasOwn(item.fields, field));
      return isWanted;
    },
    of({ field, value }: NaturalKey): ListingMatch {
      const candidate = wanted.get(nameOf(field, value));
      const found = candidate?.byValue.get(value.normalize('NFC')) ?? [];
      return { found, unclear: hidden.has(field) ? hiddenKey(kind, field) : (candidate?.unclear ?? null) };
    },
    /** Whether any entry shows none of the fields of a natural key. */
    hidesKeys: () => hidesKeys,
  };
}

/** One name for all values that a platform might treat as equal. */
function nameOf(field: string, value: string): string {
  return `${field}\u0000${foldedKey(value)}`;
}

function hiddenKey(kind: ListableKind, field: string): string {
  return `The listing does not show the ${field} of every ${kind}, so it cannot prove that the write did not arrive.`;
}

function similarKey(kind: ListableKind, field: string, value: string): string {
  return `The listing shows a ${kind} with the ${field} ${JSON.stringify(value)}, which may be this ${kind} in another form.`;
}

function otherKey(kind: ListableKind, field: string, preferred: string): string {
  return `The listing shows a ${kind} with the same ${field} and a ${preferred} that was not sent. That entry may be this ${kind}.`;
}
