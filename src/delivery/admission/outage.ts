// Recognises an outage from the API's answers.
//
//   closed ── 10 failures in a row ──► wary ── failures for 5 s ──► open
//      ▲                                │                           │
//      └──────── an answer ─────────────┴──────── an answer ────────┘
//
// Closed: every request may be sent. Wary: few requests are sent. Open: one half-open probe at a time is sent, every
// second at first and every half minute later.
//
// If the API answers any request after a delivery has failed, that delivery is excused: its further failures are no
// sign of an outage. So a few deliveries that the API cannot process start no outage, and many of them at once start one
// that only lasts until the next answer.
//
// An answered read proves that the API is there, but not that it can store anything. If 30 different writes fail and none
// is accepted, there is an outage of writes. This outage ends when the API accepts a write. A delivery that also failed
// while others were accepted does not count for this. Faulty rows often stand together in an export, so 30 of them in a row may
// be no outage. To find out, the dispatcher draws a due delivery from any place in the ledger (dispatcher.ts).

import type { Observation } from '../observation.ts';

const FAILURES_MIN = 10;
/** If this many different writes have failed and none has succeeded, the API is at fault and not the writes. */
const WRITES_MIN = 30;
const FAILING_MIN_MS = 5000;
const TRICKLE_MS = 250;
const PROBE = { firstMs: 1000, lastMs: 30_000 };
/** A request that waits for the half-open probe asks again after this time. */
const POLL_MS = 100;
const EXPLAINS_MS = 25 * 3_600_000;

/**
 * Pure: the caller passes `Clock.ticks` and gets a wait. Nothing here sleeps.
 *
 * @param random numbers in [0, 1), so that several processes do not send their probes at the same moment
 */
export function createOutage(random: () => number) {
  const record = createFailureRecord(FAILURES_MIN);
  let answeredAt: number | null = null;
  let writtenAt: number | null = null;
  let openedAt: number | null = null;
  /** The present outage once it is certain, or the last one. */
  let outage: { from: number; to: number | null } | null = null;
  let intervalMs = PROBE.firstMs;
  /** When the next probe, or the next request in the wary state, may be sent. */
  let nextAt = Number.NEGATIVE_INFINITY;
  let isProbing = false;

  /**
   * True if many writes in a row have failed. The next delivery should then come from another place in the ledger.
   */
  const writesFail = (): boolean => record.writes() >= WRITES_MIN;
  const isFailing = (): boolean => writesFail() || record.unanswered() >= FAILURES_MIN;
  const failingSince = (now: number): number =>
    Math.min(record.unansweredSince() ?? now, writesFail() ? (record.writesSince() ?? now) : now);

  function delayProbe(now: number): void {
    isProbing = false;
    nextAt = now + Math.ceil(intervalMs * (0.8 + 0.2 * random()));
  }

  function openIfDue(now: number): void {
    if (openedAt !== null || !isFailing() || now - failingSince(now) < FAILING_MIN_MS) return;
    openedAt = failingSince(now);
    intervalMs = PROBE.firstMs;
    delayProbe(now);
    beSureIfDue();
  }

  /**
   * Begins the outage once it is certain. Failed deliveries alone prove no outage, because all of them may be at fault.
   * A failed question proves an outage, and so do very many failed deliveries.
   */
  function beSureIfDue(): void {
    if (openedAt === null || (record.blind() === 0 && !writesFail())) return;
    if (outage?.to !== null) outage = { from: openedAt, to: null };
  }

  function closeUnlessFailing(now: number): void {
    if (isFailing()) return;
    if (outage?.to === null) outage.to = now;
    openedAt = null;
    isProbing = false;
    nextAt = Number.NEGATIVE_INFINITY;
  }

  function fail({ subject, away }: Observation & { kind: 'failed' }, now: number): void {
    // The API reports again, for the same delivery, that it is away. If only few deliveries are left, this report is
    // the only sign of an outage.
    const isSaidAgain = away === true && subject !== null && record.isUnanswered(subject);
    if (subject !== null) record.failed(subject, now);
    if (subject === null || isSaidAgain) record.failedBlindly(now);
    if (openedAt !== null && isProbing) {
      intervalMs = Math.min(intervalMs * 2, PROBE.lastMs);
      delayProbe(now);
    }
    openIfDue(now);
    beSureIfDue();
  }

  function answer(by: 'read' | 'write', now: number): void {
    answeredAt = now;
    record.answered();
    if (by === 'write') {
      writtenAt = now;
      record.taken();
    }
    closeUnlessFailing(now);
  }

  return {
    /**
     * Milliseconds to wait before asking again; 0 admits the request. During an outage, 0 admits it as the half-open
     * probe.
     */
    admit(now: number): number {
      openIfDue(now);
      if (!isFailing()) return 0;
      if (isProbing) return POLL_MS;
      if (now < nextAt) return nextAt - now;
      if (openedAt !== null) isProbing = true;
      else nextAt = now + TRICKLE_MS;
      return 0;
    },

    observe(observation: Observation, now: number) {
      switch (observation.kind) {
        case 'failed':
          fail(observation, now);
          break;
        case 'answered':
          answer(observation.by, now);
          break;
        case 'throttled':
          // A 429 proves that the API is there, but not that it accepts writes.
          answer('read', now);
          if (openedAt !== null) delayProbe(now);
          break;
        case 'local':
        case 'unused':
          isProbing = false;
      }
    },

    /** True if requests are sent freely: there is no outage, and no sign of one. */
    isWell: () => !isFailing(),
    /** Since when the API has failed; null if there is no outage. */
    openSince: (): number | null => openedAt,
    /**
     * How many different writes have failed since the API last accepted a write, and the time of that write. The time is
     * null if the API has accepted none.
     */
    writes: (): { failed: number; takenAt: number | null } => ({ failed: record.writes(), takenAt: writtenAt }),
    needsSample: writesFail,
    /** True if only writes fail and the API can be read. */
    failsAtWrites: () => openedAt !== null && writesFail(),
    /** True if this delivery has failed recently, so that it may be at fault itself. */
    failedLately: (delivery: number) => record.isExcused(delivery) || record.isUnanswered(delivery),
    /**
     * True if the API has answered another request after this delivery had failed. The delivery's failures show nothing
     * about the API then.
     */
    isExcused: (delivery: number) => record.isExcused(delivery),
    /**
     * True if a failure at this time belongs to the present outage or the last one. Ten failures are no outage if the
     * first question after them was answered. An outage explains no failures that come more than 25 hours after it began:
     * otherwise a faulty delivery would never reach its retry limit while nothing else is written.
     */
    wasOut(at: number): boolean {
      if (outage === null || at < outage.from) return false;
      return at <= Math.min(outage.to ?? at, outage.from + EXPLAINS_MS);
    },
    /** True if the API has answered any request at or after this time. */
    hasAnsweredSince: (at: number) => answeredAt !== null && answeredAt >= at,
    /** True if the API has accepted a write at or after this time. */
    hasTakenSince: (at: number) => writtenAt !== null && writtenAt >= at,
  };
}

export type Outage = ReturnType<typeof createOutage>;

/**
 * A delivery that has failed this many times, while the API accepted writes in between, no longer counts as a failing
 * write.
 */
const STRIKES_MAX = 2;
/** The most deliveries that are remembered (I9). */
const KNOWN_MAX = 10_000;

/**
 * Counts which deliveries have failed recently. A delivery may be at fault itself, so it counts once, however often it
 * fails. Pure: times are `ticks` of a clock.
 *
 * @param blindMax the most requests without a subject that are counted
 */
function createFailureRecord(blindMax: number) {
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
    /** A request failed. @param subject the `subject` of the `Observation` */
    failed(subject: number | string, now: number) {
      if (typeof subject === 'number') {
        writeFailed(subject, now);
        if (excused.has(subject)) return;
      }
      if (unanswered.size < KNOWN_MAX) unanswered.add(subject);
      unansweredSince ??= now;
    },
    /** Counts a failed request whose failure does not depend on its content. */
    failedBlindly(now: number) {
      blind = Math.min(blind + 1, blindMax);
      unansweredSince ??= now;
    },
    /** The API has answered a request. Deliveries that failed before this answer may be at fault themselves. */
    answered() {
      if (unanswered.size > 0) {
        for (const subject of unanswered) if (typeof subject === 'number') excused.add(subject);
        unanswered.clear();
        forgetOldest(excused);
      }
      blind = 0;
      unansweredSince = null;
    },
    /** The API has accepted a write. */
    taken() {
      if (failedWrites.size === 0) return;
      for (const delivery of failedWrites) strikes.set(delivery, (strikes.get(delivery) ?? 0) + 1);
      forgetOldest(strikes);
      failedWrites.clear();
      failedWritesSince = null;
    },
    /** How many different subjects have failed since the last answer, plus the requests without a subject. */
    unanswered: () => unanswered.size + blind,
    /** Since when requests have failed without an answer; null if none has. */
    unansweredSince: (): number | null => unansweredSince,
    /** How many different writes have failed since the API last accepted a write. */
    writes: () => failedWrites.size,
    /** Since when writes have failed; null if none has. */
    writesSince: (): number | null => failedWritesSince,
    /** Requests without a subject that failed since the last answer. */
    blind: () => blind,
    isUnanswered: (subject: number | string) => unanswered.has(subject),
    /** True if the API has answered another request after this delivery had failed. */
    isExcused: (delivery: number) => excused.has(delivery),
  };
}

function forgetOldest(known: Map<number, number> | Set<number>): void {
  for (const oldest of known.keys()) {
    if (known.size <= KNOWN_MAX) return;
    known.delete(oldest);
  }
}
