// Limits with long windows are measured from the end of one block to the end of the next.

import type { Block } from './refusal-streak.ts';

/** Pure: times are ticks of a clock. */
export interface RateCycle {
  accepted(sentAt: number): void;
  restart(now: number): void;
  /**
   * A long block is over, and with it a cycle.
   *
   * @returns what was accepted per second, and the length of the window as far as it is known
   */
  end(block: Block, now: number): { rate: number; cycleMs: number };
}

const SEEN = { msMin: 8000, msMax: 90_000 };
/** Taken for the window where its beginning was not seen. */
const DEFAULT_MS = 60_000;

export function createRateCycle(): RateCycle {
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
    end({ blockMs, goodput }, now) {
      const wholeMs = now - from;
      const isSeen = wholeMs >= Math.max(SEEN.msMin, blockMs) && wholeMs <= SEEN.msMax;
      const rate = isSeen ? (1000 * count) / wholeMs : goodput(1.25 * DEFAULT_MS);
      this.restart(now);
      return { rate, cycleMs: isSeen ? wholeMs : DEFAULT_MS };
    },
  };
}

/** The rate, per second, at which everyone begins again after the first long block: the same for all of them. */
export function rampRate(sinceMs: number): number {
  const seconds = sinceMs / 1000;
  return 1 + seconds + Math.exp(seconds / 6);
}
