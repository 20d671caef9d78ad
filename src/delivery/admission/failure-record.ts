/**
 * Counts which deliveries have failed recently. A delivery may be at fault itself, so it counts once, however often it
 * fails. Pure: times are `ticks` of a clock.
 */
export interface FailureRecord {
  /** A request failed. @param subject the `subject` of the `Observation` */
  failed(subject: number | string, now: number): void;
  /** Counts a failed request whose failure does not depend on its content. */
  failedBlindly(now: number): void;
  /** The API has answered a request. Deliveries that failed before this answer may be at fault themselves. */
  answered(): void;
  /** The API has accepted a write. */
  taken(): void;
  /** How many different subjects have failed since the last answer, plus the requests without a subject. */
  unanswered(): number;
  /** Since when requests have failed without an answer; null if none has. */
  unansweredSince(): number | null;
  /** How many different writes have failed since the API last accepted a write. */
  writes(): number;
  /** Since when writes have failed; null if none has. */
  writesSince(): number | null;
  /** Requests without a subject that failed since the last answer. */
  blind(): number;
  isUnanswered(subject: number | string): boolean;
  /** True if the API has answered another request after this delivery had failed. */
  isExcused(delivery: number): boolean;
}

/**
 * A delivery that has failed this many times, while the API accepted writes in between, no longer counts as a failing
 * write.
 */
const STRIKES_MAX = 2;
/** The most deliveries that are remembered (I9). */
const KNOWN_MAX = 10_000;

/** @param blindMax the most requests without a subject that are counted */
export function createFailureRecord(blindMax: number): FailureRecord {
  /** The deliveries that have failed since the API last accepted a write. */
  const failedWrites = new Set<number>();
  let failedWritesSince: number | null = null;
  /** The subjects that have failed since the last answer. */
  const unanswered = new Set<number | string>();
  let blind = 0;
  let unansweredSince: number | null = null;
  /** The latest deliveries that failed and after which the API answered another request. */
  const excused = new Set<number>();
  /** How many times each of the latest failing deliveries had failed before the API accepted another write. */
  const strikes = new Map<number, number>();

  function writeFailed(delivery: number, now: number): void {
    const isAtFault = (strikes.get(delivery) ?? 0) >= STRIKES_MAX;
    if (isAtFault || failedWrites.size >= KNOWN_MAX) return;
    failedWrites.add(delivery);
    failedWritesSince ??= now;
  }

  return {
    failed(subject, now) {
      if (typeof subject === 'number') {
        writeFailed(subject, now);
        if (excused.has(subject)) return;
      }
      if (unanswered.size < KNOWN_MAX) unanswered.add(subject);
      unansweredSince ??= now;
    },
    failedBlindly(now) {
      blind = Math.min(blind + 1, blindMax);
      unansweredSince ??= now;
    },
    answered() {
      if (unanswered.size > 0) {
        for (const subject of unanswered) if (typeof subject === 'number') excused.add(subject);
        unanswered.clear();
        forgetOldest(excused);
      }
      blind = 0;
      unansweredSince = null;
    },
    taken() {
      if (failedWrites.size === 0) return;
      for (const delivery of failedWrites) strikes.set(delivery, (strikes.get(delivery) ?? 0) + 1);
      forgetOldest(strikes);
      failedWrites.clear();
      failedWritesSince = null;
    },
    unanswered: () => unanswered.size + blind,
    unansweredSince: () => unansweredSince,
    writes: () => failedWrites.size,
    writesSince: () => failedWritesSince,
    blind: () => blind,
    isUnanswered: (subject) => unanswered.has(subject),
    isExcused: (delivery) => excused.has(delivery),
  };
}

function forgetOldest(known: Map<number, number> | Set<number>): void {
  for (const oldest of known.keys()) {
    if (known.size <= KNOWN_MAX) return;
    known.delete(oldest);
  }
}
