import type { Reason } from '../../domain/reason.ts';

/** The reason of a write that a complete listing does not show. */
export function absentReason(reason: Reason): Reason {
  return { ...reason, message: `${reason.message} A complete listing shows that it did not arrive.` };
}

/** The reason of a write that a complete listing neither shows nor rules out. */
export function unprovenReason(reason: Reason, unclear: string): Reason {
  const words = `${unclear} Look at the platform, and record what is there with \`dpp-sync settle\`.`;
  return { ...reason, message: `${reason.message} ${words}` };
}

const COULD_DOUBLE = 'sending it again could double it.';

/** Adds a sentence to a reason, once. */
export function withSentence(reason: Reason, words: string): Reason {
  return reason.message.endsWith(words) ? reason : { ...reason, message: `${reason.message} ${words}` };
}

const NOT_SHOWN = "The platform's listing does not show it to this key.";

/** The reason of a create that was refused because its item exists, while the list does not show the item. */
export function notShownReason(reason: Reason): Reason {
  return withSentence(reason, NOT_SHOWN);
}

/** The reason of a write whose answer belongs to another request, while the list does not show its item. */
export function notFoundReason(reason: Reason): Reason {
  const words = `A complete listing does not show it under its own key. Look at the platform, and record what is there with \`dpp-sync settle\`.`;
  return { ...reason, message: `${reason.message} ${words}` };
}

/** The reason of a write that only a person can look up. The sentence is added once. */
export function unreadableReason(reason: Reason): Reason {
  if (reason.message.endsWith(COULD_DOUBLE)) return reason;
  return { ...reason, message: `${reason.message} The API cannot be asked whether it arrived, and ${COULD_DOUBLE}` };
}
