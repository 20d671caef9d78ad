/** How much of what goes to one target may be retries. Pure: monotonic time comes in, a wait goes out, nothing sleeps. */
export interface RetryBudget {
  /** A request has gone out. */
  sent(now: number): void;
  /**
   * Takes the next place for a retry. It always gets one: where the budget is spent, later.
   *
   * @returns milliseconds until its turn
   */
  reserve(now: number): number;
}

/** Retries are a tenth of the requests at most, or ten a second, whichever is more. */
const SHARE = 0.1;
const FLOOR_PER_SECOND = 10;
/** The requests of this long tell what a tenth of them is. */
const WINDOW_S = 10;

/**
 * Places stand apart by what the budget allows at the time that they are given out; those that nobody took for a second may
 * be taken at once. A delivery that has its place stays due in the ledger until then and holds up nothing.
 */
export function createRetryBudget(): RetryBudget {
  /** Requests by second, of the last ones alone (I9). */
  const counts = new Map<number, number>();
  let nextAt = Number.NEGATIVE_INFINITY;

  function ratePerSecond(now: number): number {
    const second = Math.floor(now / 1000);
    let requests = 0;
    for (const [at, count] of counts) {
      if (at > second - WINDOW_S && at <= second) requests += count;
      else counts.delete(at);
    }
    return Math.max(FLOOR_PER_SECOND, (SHARE * requests) / WINDOW_S);
  }

  return {
    sent(now) {
      const second = Math.floor(now / 1000);
      if (!counts.has(second)) ratePerSecond(now);
      counts.set(second, (counts.get(second) ?? 0) + 1);
    },
    reserve(now) {
      const at = Math.max(nextAt, now - 1000);
      nextAt = at + 1000 / ratePerSecond(now);
      return Math.max(0, Math.ceil(at - now));
    },
  };
}
