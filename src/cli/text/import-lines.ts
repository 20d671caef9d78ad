// Why bulk imports are not used for new products or for changed ones.

import { UNUSED_IMPORTS } from '../../domain/words/holds.ts';
import type { Words } from '../../domain/words/word.ts';
import { formatTime, printable } from './style.ts';

/** What `status` shows about the imports for one use. */
interface Import {
  state: string;
  message?: string;
  until?: number;
}

/** The lines that say why imports are not used; empty if they are. */
export function importLines({ creates, changes }: { creates: Import; changes: Import }, now: number): string[] {
  return [...linesOf(creates, now, UNUSED_IMPORTS.creates), ...linesOf(changes, now, UNUSED_IMPORTS.changes)];
}

function linesOf({ state, message = '', until = 0 }: Import, now: number, { title, cure }: Words): string[] {
  const isPutOff = state === 'postponed' && now < until;
  if (state !== 'failed' && !isPutOff) return [];
  const again = isPutOff ? `after ${formatTime(until)}` : 'when `imports` in the profile has changed';
  return ['', `${title} ${printable(message)} Imports are tried again ${again}. ${cure}`];
}
