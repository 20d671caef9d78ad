/**
 * Decides whether a rate that the server states is believed. A wrong or changing statement must not move the rate at each
 * answer. Pure: times are ticks of a clock.
 */
export interface AdvisedRate {
  /** Learns a stated rate, in requests per second. @returns true if it is believed now and was not before */
  stated(rate: number, now: number): boolean;
}

/**
 * A changed rate is believed when this many answers in a row agree on it. If the rate changes this many times in a row,
 * each time within this span after the last change, it describes parts of the API and not the whole. It is believed
 * again when it has not changed for the same span.
 */
const BELIEVED = { agreeing: 3, changes: 3, spanMs: 60_000 };

export function createAdvisedRate(): AdvisedRate {
  let latest = { rate: 0, agreed: 0, since: 0 };
  /** The rate that was believed last, and how many changes in a row came soon after the change before. */
  let believed = { rate: 0, at: 0, changes: 0 };
  return {
    stated(rate, now) {
      const { agreeing, changes, spanMs } = BELIEVED;
      if (rate === latest.rate) latest.agreed += 1;
      else latest = { rate, agreed: 1, since: now };
      if (now - latest.since >= spanMs) believed.changes = 0;
      if (believed.rate !== 0) {
        const isChange = Math.abs(rate / believed.rate - 1) > 0.01;
        if (!isChange || latest.agreed < agreeing || believed.changes >= changes) return false;
        believed.changes = now - believed.at < spanMs ? believed.changes + 1 : 0;
      }
      believed = { ...believed, rate, at: now };
      return true;
    },
  };
}
