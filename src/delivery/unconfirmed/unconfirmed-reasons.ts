import type { Reason } from '../../domain/delivery/reason.ts';
import type { RemoteItem } from '../../domain/ports/target.ts';
import type { UnconfirmedDelivery } from '../../domain/ports/unconfirmed.ts';
import { remoteIdText } from '../../domain/remote-id.ts';
import { shellWord } from '../../lib/text/shell-word.ts';

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
