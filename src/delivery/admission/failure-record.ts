/**
 * Which deliveries have failed of late. A delivery may be at fault by itself, so each counts once, however often it fails.
 * Pure: times are `ticks` of a clock.
 */
export interface FailureRecord {
  /** A request failed. @param subject as of `Observation`, where the failure names one */
  failed(subject: number | string, now: number): void;
  /** A request failed in a way that says nothing about what was sent. */
  failedBlindly(now: number): void;
  /** The API has answered something: what failed before that may be at fault by itself. */
  answered(): void;
  /** The API has taken a write. */
  taken(): void;
  /** How many different subjects have failed since the last answer, and requests that name none. */
  unanswered(): number;
  /** Since when, where some have; null where none has. */
  unansweredSince(): number | null;
  /** How many different writes have failed since one was taken. */
  writes(): number;
  /** Since when, where some have; null where none has. */
  writesSince(): number | null;
  /** Requests without a subject that failed since the last answer. */
  blind(): number;
  isUnanswered(subject: number | string): boolean;
  /** Whether the API has answered something after this delivery had failed. */
  isExcused(delivery: number): boolean;
}

/** So often a delivery fails with others taken in between, before it counts no more among the failing writes. */
const STRIKES_MAX = 2;
/** How many deliveries that have failed are known (I9). */
const KNOWN_MAX = 10_000;

/** @param blindMax no more requests without a subject are counted */
export function createFailureRecord(blindMax: number): FailureRecord {
  /** Deliveries of which a write has failed since one was taken. */
  const failedWrites = new Set<number>();
  let failedWritesSince: number | null = null;
  /** Subjects that have failed since the last answer. */
  const unanswered = new Set<number | string>();
  let blind = 0;
  let unansweredSince: number | null = null;
  /** Deliveries after whose failure the API has answered something; the latest ones. */
  const excused = new Set<number>();
  /** How often each had failed when another was taken; the latest ones. */
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
