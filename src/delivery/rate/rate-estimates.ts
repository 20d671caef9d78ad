// Estimates of the rate that a limit allows, made after a refusal. Rates are requests per second.

import type { EndedStop } from './stop.ts';

export const RATE_MIN = 0.2;

/**
 * How much of a raise is kept if the next step is refused at once: a share that shrinks with the square root of the
 * rate. A rate below `undone` times the steady one can be lowered again.
 */
const GAIN = { perRoot: 0.03, max: 0.1, undone: 1.15 };
/** The share by which a steady rate is lowered: at the first refusal in a row, and at most. */
const LOWER = { first: 0.02, max: 0.15 };
/** A burst is small if its requests take less than this time at the rate. */
const SMALL_BURST_MS = 500;
/** If the API has accepted less than the share `below` of the rate, its limit has become far lower. */
const DROPPED = { below: 0.3, least: 0.1, margin: 0.85, most: 0.8 };
/**
 * Values for long windows. A rate above `leap` times the last steady rate is not proven. The other values are the
 * shares of the rate that are kept after the first refusal, and after further ones.
 */
const LONG = { leap: 1.5, first: 0.99, again: 0.95 };

/** Accepted requests per second, from one reopening to the next. */
export const acceptedPerSecond = ({ accepted, openMs, stopMs }: EndedStop): number =>
  (1000 * accepted) / (openMs + stopMs);

/**
 * How many requests a bucket of this rate can hold when a stop has ended; 0 if a stop does not fill the bucket, or if the burst is so
 * large that the limit may be a window of a second.
 */
export function burstAfterStop(limit: { burst: number; refusalCostMs: number }, rate: number): number {
  const { burst, refusalCostMs } = limit;
  return burst < (Math.min(SMALL_BURST_MS, refusalCostMs) * rate) / 1000 ? burst : 0;
}

/** The bounds of the search after the first refusal, when requests were not paced yet. */
export function firstRange(stop: EndedStop): { low: number; high: number } {
  const high = Math.max(stop.peak, (1000 * stop.accepted) / stop.openMs, 2 * RATE_MIN);
  return { low: Math.max(RATE_MIN, Math.min(acceptedPerSecond(stop), high * 0.9)), high };
}

/** The rate to use after a refused raise: half of what was gained above `steady`, and at least a little more than `steady`. */
export function keptAfterRaise(low: number, steady: number): number {
  const gain = Math.min(GAIN.max, GAIN.perRoot / Math.sqrt(steady));
  return steady * (1 + Math.max(gain, (low / steady - 1) / 2));
}

/** True if a raise has brought the rate from `steady` to `low`, and the raise was so small that it can be undone. */
export const isRaiseGain = (low: number, steady: number): boolean => low > steady && low < GAIN.undone * steady;

/** The lower rate after a refusal at a steady rate. `refusals` counts the earlier refusals in a row. */
export const loweredRate = (low: number, refusals: number): number =>
  low * (1 - Math.min(LOWER.max, LOWER.first * 2 ** refusals));

/** True if the API accepted so little of the refused rate that its limit must have changed. */
export const hasDropped = (refusedRate: number, accepted: number): boolean => accepted <= DROPPED.below * refusedRate;

/** The bounds of the search after the limit has dropped. Nothing was refused at the upper bound yet. */
export function rangeAfterDrop(refusedRate: number, accepted: number): { low: number; high: number } {
  const known = Math.max(DROPPED.margin * accepted, DROPPED.least * refusedRate);
  const low = Math.max(RATE_MIN / 2, Math.min(DROPPED.most * refusedRate, known));
  return { low, high: Math.min(refusedRate, 2 * low) };
}

/**
 * The rate to use after a long stop.
 *
 * @param steady the rate that was kept before the stop; 0 if none was
 * @param accepted per second, in the window that has ended
 */
export function rateAfterLongStop(steady: number, accepted: number, isRaise: boolean): number {
  const most = isRaise || steady === 0 ? accepted : Math.min(accepted, steady * LONG.leap);
  return Math.max(most, steady / 2);
}

/** True if `low` is far above the last steady rate. */
export const isLeap = (low: number, steady: number): boolean => low > LONG.leap * steady;

/** The rate to use after a short stop at the end of a long window. `recent` is the accepted rate over the last window. */
export function rateAtEndOfWindow(low: number, steady: number, recent: number, isFirst: boolean): number {
  if (isLeap(low, steady)) return Math.max(steady, Math.min(low, recent));
  return isFirst ? low * LONG.first : Math.max(low * LONG.again, Math.min(low, recent));
}

/** The rate, per second, while every client climbs again after the first long stop. It is the same for all clients. */
export function rampRate(sinceMs: number): number {
  const seconds = sinceMs / 1000;
  return 1 + seconds + Math.exp(seconds / 6);
}
