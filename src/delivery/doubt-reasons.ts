import type { Reason } from '../domain/delivery.ts';

/** What is told of a write that a complete listing does not show. */
export function absentReason(reason: Reason): Reason {
  return { ...reason, message: `${reason.message} A complete listing shows that it did not arrive.` };
}

/** What is told of a write that a complete listing neither shows nor rules out. */
export function unprovenReason(reason: Reason, unclear: string): Reason {
  const words = `${unclear} Look at the platform, and say what is there with \`dpp-sync settle\`.`;
  return { ...reason, message: `${reason.message} ${words}` };
}

const COULD_DOUBLE = 'sending it again could double it.';

/** Adds a sentence to a reason, once. */
export function withWords(reason: Reason, words: string): Reason {
  return reason.message.endsWith(words) ? reason : { ...reason, message: `${reason.message} ${words}` };
}

const NOT_SHOWN = "The platform's listing does not show it to this key.";

/** What is told of an item that is said to exist and is not listed. */
export function notShownReason(reason: Reason): Reason {
  return withWords(reason, NOT_SHOWN);
}

/** What is told of a write that was answered as another one, and is not listed. */
export function notFoundReason(reason: Reason): Reason {
  const words = `A complete listing does not show it under its own key. Look at the platform, and say what is there with \`dpp-sync settle\`.`;
  return { ...reason, message: `${reason.message} ${words}` };
}

/** What is told of a write that nothing but a person can look up. Told once, however often it is looked at. */
export function unreadableReason(reason: Reason): Reason {
  if (reason.message.endsWith(COULD_DOUBLE)) return reason;
  return { ...reason, message: `${reason.message} The API cannot be asked whether it arrived, and ${COULD_DOUBLE}` };
}
