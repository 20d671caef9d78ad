import type { PaddedKeys } from './ports/ledger/ledger-views.ts';
import { kindWord } from './words/names.ts';

/**
 * Describes items that the platform has under a key with padding, and what that means.
 *
 * @param formatted the count as people read it
 */
export function describePaddedKeys({ kind, count }: PaddedKeys, formatted: string): string {
  const noun = kindWord(kind);
  const [what, its] = count === 1 ? [`1 ${noun} has`, 'its'] : [`${formatted} ${noun}s have`, 'their'];
  const same = count === 1 ? `the same ${noun}` : `the same ${noun}s`;
  return `${what} ${its} former key at the platform, with white space or a byte order mark around it. Nothing has to be done: changes go to ${same}, and no second one is made.`;
}
