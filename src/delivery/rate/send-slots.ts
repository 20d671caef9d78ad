/**
 * The times at which requests may be sent, at the learnt rate and below the configured ceiling. Pure: times are ticks
 * of a clock.
 */
export interface SendSlots {
  /** Milliseconds until the next slot; 0 if it has come. A reopen probe waits only for a slot of the ceiling. */
  waitMs(isProbe: boolean, now: number): number;
  /** Takes a slot at the present rate. */
  take(rate: number, now: number): void;
  /** Takes the slot of a reopen probe. */
  takeForProbe(now: number): void;
  /** Replaces the configured ceiling; null for none. */
  setCeiling(maxRate: number | null): void;
  /** Sets the earliest time of the next request. */
  continueAt(at: number): void;
}

/**
 * A late request does not delay the requests after it: they make up for a delay of up to this time, because timers are
 * not exact.
 */
const LATE_MAX_MS = 50;

const slotAfter = (slotAt: number, rate: number, now: number): number =>
  Math.max(slotAt, now - LATE_MAX_MS) + 1000 / rate;

/** @param maxRate requests per second, or null for no ceiling */
export function createSendSlots(ceiling: number | null): SendSlots {
  let maxRate = ceiling;
  let nextAt = Number.NEGATIVE_INFINITY;
  let ceilingAt = Number.NEGATIVE_INFINITY;

  function takeForProbe(now: number): void {
    if (maxRate !== null) ceilingAt = slotAfter(ceilingAt, maxRate, now);
  }

  return {
    waitMs: (isProbe, now) => Math.max(0, (isProbe ? ceilingAt : Math.max(nextAt, ceilingAt)) - now),
    take(rate, now) {
      nextAt = slotAfter(nextAt, rate, now);
      takeForProbe(now);
    },
    takeForProbe,
    setCeiling(rate) {
      maxRate = rate;
      // Without a ceiling no request waits for one.
      if (rate === null) ceilingAt = Number.NEGATIVE_INFINITY;
    },
    continueAt(at) {
      nextAt = at;
    },
  };
}
