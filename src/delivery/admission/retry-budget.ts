/** At most a tenth of the requests are retries, or ten a second if that is more. */
const SHARE = 0.1;
const FLOOR_PER_SECOND = 10;
/** The share is computed from the requests of this many seconds. */
const WINDOW_S = 10;

/**
 * Limits the share of retries among all requests. Pure: the caller passes a monotonic time and gets a wait.
 *
 * The budget at the time of the reservation decides how far apart two slots are. Slots that no retry has taken within a
 * second may be taken at once. A delivery stays due in the ledger until its slot, and blocks no other delivery.
 */
export function createRetryBudget() {
  /** The number of requests in each of the last seconds (I9). */
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
    /** Counts a request that was sent. */
    sent(now: number) {
      const second = Math.floor(now / 1000);
      if (!counts.has(second)) ratePerSecond(now);
      counts.set(second, (counts.get(second) ?? 0) + 1);
    },
    /**
     * Reserves the next slot for a retry. If the budget is spent, the slot is later.
     *
     * @returns milliseconds until the slot
     */
    reserve(now: number): number {
      const at = Math.max(nextAt, now - 1000);
      nextAt = at + 1000 / ratePerSecond(now);
      return Math.max(0, Math.ceil(at - now));
    },
  };
}

export type RetryBudget = ReturnType<typeof createRetryBudget>;
