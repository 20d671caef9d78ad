import type { Reason } from '../domain/delivery.ts';

/** What is told of a write that a complete listing does not show. */
export function absentReason(reason: Reason): Reason {
  return { ...reason, message: `${reason.message} A complete listing shows that it did not arrive.` };
}

const COULD_DOUBLE = 'sending it again could double it.';

/** What is told of a write that nothing but a person can look up. Told once, however often it is looked at. */
export function unreadableReason(reason: Reason): Reason {
  if (reason.message.endsWith(COULD_DOUBLE)) return reason;
  return { ...reason, message: `${reason.message} The API cannot be asked whether it arrived, and ${COULD_DOUBLE}` };
}
