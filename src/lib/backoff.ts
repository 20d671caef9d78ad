/** Bounds of an exponential backoff, in milliseconds. */
interface BackoffLimits {
  baseMs: number;
  capMs: number;
}

/**
 * Full jitter: a uniformly random wait between 0 and the exponential bound, so that clients that failed together do not
 * retry together. Source: Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
 *
 * @param attempt how many attempts have failed so far, from 1
 * @param random a number in [0, 1)
 * @returns milliseconds to wait
 */
export function fullJitterMs(attempt: number, limits: BackoffLimits, random: number): number {
  const bound = Math.min(limits.capMs, limits.baseMs * 2 ** Math.min(attempt - 1, 30));
  return Math.floor(random * bound);
}
