import { sha256Hex } from '../../lib/hash.ts';

/** The field of a form that acts on everything that its page has counted. */
export const SHOWN = 'shown';

const MARK_LENGTH = 16;

/**
 * A mark of the figures that a page has shown. The form of the page sends the mark back, and the route compares it with
 * the mark of the present figures, so that the action is never about something that the person has not seen.
 */
export function shownMark(figures: unknown): string {
  return sha256Hex(JSON.stringify(figures)).slice(0, MARK_LENGTH);
}
