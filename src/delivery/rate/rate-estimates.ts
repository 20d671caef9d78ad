// What a rate is worth after it was refused. Rates are requests per second.

import type { Block } from './refusal-streak.ts';

export const RATE_MIN = 0.2;

/** What is gained by a probe that is refused at once: a share that shrinks with the root of the rate. */
const GAIN = { perRoot: 0.03, max: 0.1, undone: 1.15 };
const SLIP = { first: 0.02, max: 0.15 };
/** Less than this share of the rate was taken lately: the limit is far lower. */
const DROPPED = { below: 0.3, least: 0.1, margin: 0.85, most: 0.8 };
/**
 * In long windows: how far above what was held for a whole rest a rate is not proven; the shares that are held after a
 * refusal, and after more of them.
 */
const LONG = { leap: 1.5, first: 0.99, again: 0.95 };

/** What was accepted from one reopening to the next. */
export const acceptedIn = ({ accepted, openMs, blockMs }: Pick<Block, 'accepted' | 'openMs' | 'blockMs'>): number =>
  (1000 * accepted) / (openMs + blockMs);

/** The ends between which to search when the first limit was met while nothing was paced. */
export function firstRange(block: Block): { low: number; high: number } {
  const high = Math.max(block.peak, (1000 * block.accepted) / block.openMs, 2 * RATE_MIN);
  return { low: Math.max(RATE_MIN, Math.min(acceptedIn(block), high * 0.9)), high };
}

/** After a probe: half of what passed, and a little in any case. `sure` was held before it. */
export function gained(low: number, sure: number): number {
  const gain = Math.min(GAIN.max, GAIN.perRoot / Math.sqrt(sure));
  return sure * (1 + Math.max(gain, (low / sure - 1) / 2));
}

/** Whether that was gained by a probe, and can be given back. */
export const isGain = (low: number, sure: number): boolean => low > sure && low < GAIN.undone * sure;

/** Refused while it was held, for the `slips`-th time in a row. */
export const slipped = (low: number, slips: number): number => low * (1 - Math.min(SLIP.max, SLIP.first * 2 ** slips));

/** Whether so little was taken of what was tried that the limit is another one. */
export const hasDropped = (refusedRate: number, taken: number): boolean => taken <= DROPPED.below * refusedRate;

/** The ends between which to search then; at the upper one nothing was refused. */
export function rangeAfterDrop(refusedRate: number, taken: number): { low: number; high: number } {
  const known = Math.max(DROPPED.margin * taken, DROPPED.least * refusedRate);
  const low = Math.max(RATE_MIN / 2, Math.min(DROPPED.most * refusedRate, known));
  return { low, high: Math.min(refusedRate, 2 * low) };
}

/** After a long block. `held` is 0 where no rate was held; `whole` was accepted in the cycle that has ended. */
export function afterLongBlock(held: number, whole: number, isProbe: boolean): number {
  const most = isProbe || held === 0 ? whole : Math.min(whole, held * LONG.leap);
  return Math.max(most, held / 2);
}

/** Whether the rate is far above what was held for a whole rest. */
export const isLeap = (low: number, sure: number): boolean => low > LONG.leap * sure;

/** After a short block at the end of a long window. `present` was accepted over its length. */
export function atEndOfWindow(low: number, sure: number, present: number, isFirst: boolean): number {
  if (isLeap(low, sure)) return Math.max(sure, Math.min(low, present));
  return isFirst ? low * LONG.first : Math.max(low * LONG.again, Math.min(low, present));
}
