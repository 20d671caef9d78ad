import type { EndedStop } from './ended-stop.ts';

/** Measures a limit with a long window, from the end of one long stop to the end of the next. Pure: times are ticks of a clock. */
export interface WindowCycle {
  accepted(sentAt: number): void;
  restart(now: number): void;
  /**
   * Ends the cycle when a long stop has ended.
   *
   * @returns accepted requests per second in the cycle, and the length of the window as far as it is known
   */
  end(stop: EndedStop, now: number): { rate: number; windowMs: number };
}

/** The lengths that a measured window can have. */
const MEASURED = { msMin: 8000, msMax: 90_000 };
/** The assumed length of a window whose beginning was not seen. */
const DEFAULT_MS = 60_000;

export function createWindowCycle(): WindowCycle {
  let from = Number.NaN;
  let count = 0;
  return {
    accepted(sentAt) {
      if (Number.isNaN(from)) from = sentAt;
      count += 1;
    },
    restart(now) {
      from = now;
      count = 0;
    },
    end({ stopMs, goodput }, now) {
      const cycleMs = now - from;
      const isMeasured = cycleMs >= Math.max(MEASURED.msMin, stopMs) && cycleMs <= MEASURED.msMax;
      const rate = isMeasured ? (1000 * count) / cycleMs : goodput(1.25 * DEFAULT_MS);
      this.restart(now);
      return { rate, windowMs: isMeasured ? cycleMs : DEFAULT_MS };
    },
  };
}
