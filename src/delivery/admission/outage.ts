// When the API is away, as far as its answers show.
//
//   closed ── 10 failures in a row ──► wary ── 5 s of them ──► open
//      ▲                                │                      │
//      └──────── an answer ─────────────┴──── an answer ───────┘
//
// Closed, every request may be sent. Wary, requests trickle. Open, one half-open probe at a time is sent, from every second up
// to every half minute.
//
// Where the API answers anything after a delivery failed, that delivery is excused: its failures are no sign of an outage any
// more. So a handful of deliveries that the API cannot digest opens nothing, and a dozen of them at once no more than until
// the next answer (failure-record.ts).
//
// Reading proves that the API is there, and not that it can store anything. Once 30 different writes have failed and none was
// taken, the writes are out: then only a write that is taken closes it. A delivery that failed before and again after others
// were taken is no sign of that any more either. Rows that are at fault stand together in an export, so 30 of them in a row may
// be no outage: a delivery from anywhere among those that are due finds out (dispatcher.ts).

import type { Observation } from '../observation.ts';
import { createFailureRecord } from './failure-record.ts';

/** Pure: time comes in, a wait is returned, nothing sleeps. Every time is one of a clock that nobody sets (`Clock.ticks`). */
export interface Outage {
  /** Milliseconds to wait before asking again; 0 admits the request, as the half-open probe while the outage is open. */
  admit(now: number): number;
  observe(observation: Observation, now: number): void;
  /** Whether requests are sent freely: there is no outage, and none is about to begin. */
  isWell(): boolean;
  /** Since when the API has failed, or null where there is no outage. */
  openSince(): number | null;
  /** Whether writes alone fail: the API may be read meanwhile. */
  failsAtWrites(): boolean;
  /** How many different writes have failed since one was taken last, and when that was; null where none was so far. */
  writes(): { failed: number; takenAt: number | null };
  /** Whether so many writes have failed in a row that a delivery from elsewhere should be sent next. */
  needsSample(): boolean;
  /** Whether this delivery has failed of late, and may be at fault by itself. */
  failedLately(delivery: number): boolean;
  /** Whether the API has answered something after this delivery had failed: its failures show nothing about the API. */
  isExcused(delivery: number): boolean;
  /**
   * Whether what failed at this time fell into the present outage or the last one. Where the first question after ten
   * failures was answered there was none. Nor does an outage explain what fails more than 25 hours after it began: what is at
   * fault by itself would never come to its limit where nothing else is written.
   */
  wasOut(at: number): boolean;
  /** Whether the API has answered anything at or after this time. */
  hasAnsweredSince(at: number): boolean;
  /** Whether a write was answered at or after this time. */
  hasTakenSince(at: number): boolean;
}

const FAILURES_MIN = 10;
/** So many different writes that failed, with none that was answered, are not at fault by themselves. */
const WRITES_MIN = 30;
const FAILING_MIN_MS = 5000;
const TRICKLE_MS = 250;
const PROBE = { firstMs: 1000, lastMs: 30_000 };
/** How often a request that waits for the half-open probe asks again. */
const POLL_MS = 100;
const EXPLAINS_MS = 25 * 3_600_000;

/** @param random numbers in [0, 1), so that many processes do not send their probes together */
export function createOutage(random: () => number): Outage {
  const record = createFailureRecord(FAILURES_MIN);
  let answeredAt: number | null = null;
  let writtenAt: number | null = null;
  let openedAt: number | null = null;
  /** The last outage, or the present one once it is certain. */
  let outage: { from: number; to: number | null } | null = null;
  let intervalMs = PROBE.firstMs;
  /** When the next probe, or the next of the trickle, may be sent. */
  let nextAt = Number.NEGATIVE_INFINITY;
  let isProbing = false;

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

  /** Deliveries alone prove no outage: they may all be at fault. A question that fails does, and so do very many of them. */
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
    // The API says again that it is away, to a delivery that is not excused. Where only a few are left, nothing else shows it.
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
    admit(now) {
      openIfDue(now);
      if (!isFailing()) return 0;
      if (isProbing) return POLL_MS;
      if (now < nextAt) return nextAt - now;
      if (openedAt !== null) isProbing = true;
      else nextAt = now + TRICKLE_MS;
      return 0;
    },

    observe(observation, now) {
      switch (observation.kind) {
        case 'failed':
          fail(observation, now);
          break;
        case 'answered':
          answer(observation.by, now);
          break;
        case 'throttled':
          // Whoever limits the rate is there, but no write has got through.
          answer('read', now);
          if (openedAt !== null) delayProbe(now);
          break;
        case 'local':
        case 'unused':
          isProbing = false;
      }
    },

    isWell: () => !isFailing(),
    openSince: () => openedAt,
    writes: () => ({ failed: record.writes(), takenAt: writtenAt }),
    needsSample: writesFail,
    failsAtWrites: () => openedAt !== null && writesFail(),
    failedLately: (delivery) => record.isExcused(delivery) || record.isUnanswered(delivery),
    isExcused: (delivery) => record.isExcused(delivery),
    wasOut(at) {
      if (outage === null || at < outage.from) return false;
      return at <= Math.min(outage.to ?? at, outage.from + EXPLAINS_MS);
    },
    hasAnsweredSince: (at) => answeredAt !== null && answeredAt >= at,
    hasTakenSince: (at) => writtenAt !== null && writtenAt >= at,
  };
}
