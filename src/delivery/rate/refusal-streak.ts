import type { EndedStop } from './stop-history.ts';

/**
 * Counts stops that begin soon after the previous stop has ended. Requests that other clients sent before may explain
 * the first of these stops. The second one is evidence about the rate. Pure: times are ticks of a clock.
 */
export interface RefusalStreak {
  accepted(now: number, isOpen: boolean): void;
  reopened(now: number): void;
  /** True if this stop began soon after the previous one. A stop that did not begin soon ends the streak. */
  isEarly(stop: EndedStop): boolean;
  /** How many stops the streak has. */
  count(): number;
  /** How long the streak has lasted, in milliseconds. */
  lengthMs(now: number): number;
  /** Adds a stop that began at `from`. */
  add(from: number): void;
  clear(): void;
  /** Accepted requests per second since the first stop of the streak began. */
  acceptedRate(now: number): number;
}

const EARLY = { ms: 1000, requests: 5 };

export function createRefusalStreak(): RefusalStreak {
  let count = 0;
  let first = { from: 0, accepted: 0 };
  let open = { at: 0, accepted: 0 };
  return {
    accepted(now, isOpen) {
      first.accepted += 1;
      open.accepted += 1;
      if (isOpen && now - open.at > EARLY.ms && open.accepted > EARLY.requests) count = 0;
    },
    reopened(now) {
      open = { at: now, accepted: 0 };
    },
    isEarly({ openMs, accepted }) {
      const isEarly = openMs < EARLY.ms || accepted <= EARLY.requests;
      if (!isEarly) count = 0;
      return isEarly;
    },
    count: () => count,
    lengthMs: (now) => (count === 0 ? 0 : now - first.from),
    add(from) {
      if (count === 0) first = { from, accepted: 0 };
      count += 1;
    },
    clear() {
      count = 0;
    },
    acceptedRate: (now) => (1000 * first.accepted) / Math.max(1, now - first.from),
  };
}
