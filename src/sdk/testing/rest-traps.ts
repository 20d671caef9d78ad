import { ANSWER_TRAPS } from './rest-answer-traps.ts';
import { END_TRAPS } from './rest-end-traps.ts';
import { PAGE_TRAPS } from './rest-page-traps.ts';
import type { Trap } from './rest-trap.ts';

/** The traps, in the order of the checks. */
export const TRAPS: readonly Trap[] = [...PAGE_TRAPS, ...END_TRAPS, ...ANSWER_TRAPS];
