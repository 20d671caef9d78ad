/** What is known when a block is over. */
export interface Block {
  /** How long requests went out before it, and how many of them were accepted. */
  openMs: number;
  accepted: number;
  /** From the refusal to the canary that came back. */
  blockMs: number;
  /** It went on for longer than a window of a second, and others who share the limit do not explain it. */
  isLong: boolean;
  /** The highest rate of answers lately, per second. */
  peak: number;
  /** Accepted requests per second over the last so many milliseconds. */
  goodput: (ms: number) => number;
}

/**
 * Tells blocks that come soon after the last one was over. The first of them may be the rest of what others have sent; the
 * second is evidence. Pure: times are ticks of a clock.
 */
export interface Residue {
  accepted(now: number, isOpen: boolean): void;
  reopened(now: number): void;
  /** Whether this block came soon. One that did not ends the row. */
  isSoon(block: Block): boolean;
  /** How many were in a row. */
  count(): number;
  /** For how long they have come, in milliseconds. */
  lastsMs(now: number): number;
  /** This one is taken for residue; it began at `from`. */
  add(from: number): void;
  clear(): void;
  /** What was accepted per second since the first of them began. */
  rate(now: number): number;
}

const SOON = { ms: 1000, requests: 5 };

export function createResidue(): Residue {
  let count = 0;
  let first = { from: 0, accepted: 0 };
  let open = { at: 0, accepted: 0 };
  return {
    accepted(now, isOpen) {
      first.accepted += 1;
      open.accepted += 1;
      if (isOpen && now - open.at > SOON.ms && open.accepted > SOON.requests) count = 0;
    },
    reopened(now) {
      open = { at: now, accepted: 0 };
    },
    isSoon({ openMs, accepted }) {
      const soon = openMs < SOON.ms || accepted <= SOON.requests;
      if (!soon) count = 0;
      return soon;
    },
    count: () => count,
    lastsMs: (now) => (count === 0 ? 0 : now - first.from),
    add(from) {
      if (count === 0) first = { from, accepted: 0 };
      count += 1;
    },
    clear() {
      count = 0;
    },
    rate: (now) => (1000 * first.accepted) / Math.max(1, now - first.from),
  };
}
