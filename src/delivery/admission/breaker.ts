// When the API is away, as far as its answers tell.
//
//   closed ── 10 failures in a row ──► wary ── 5 s of them ──► open
//      ▲                                │                      │
//      └──────── an answer ─────────────┴──── an answer ───────┘
//
// Closed, everything goes out. Wary, requests trickle. Open, one canary at a time goes out, from every second up to every
// half minute.
//
// A delivery may fail by itself, so each counts once, however often it fails. Where the API answers anything after it
// failed, that delivery is excused: its failures are no sign of an outage any more, whatever goes on beside it. So a handful
// of deliveries that the API cannot digest opens nothing, and a dozen of them at once no more than until the next answer.
//
// Reading proves that the API is there, and not that it can store anything. Once 30 different writes have failed and none was
// answered, the writes are out: then only a write that is answered closes it. A delivery that failed before and again after
// others were taken is no sign of that any more either. Rows that are at fault stand together in an export, so 30 of them in a
// row may be no outage: a delivery from anywhere among those that are due finds out (feeder.ts).

import type { Signal } from './signal.ts';

/** Pure: time comes in, a wait goes out, nothing sleeps. Every time is one of a clock that nobody sets (`Clock.ticks`). */
export interface Breaker {
  /** Milliseconds to wait before asking again; 0 admits the request, as the canary while the breaker is open. */
  admit(now: number): number;
  observe(signal: Signal, now: number): void;
  /** Whether requests go out freely: it is neither open nor about to open. */
  isWell(): boolean;
  /** Since when the API has failed, or null while the breaker is not open. */
  openSince(): number | null;
  /** Whether it is open because writes fail: the API may be read meanwhile. */
  failsAtWrites(): boolean;
  /** How many different writes have failed since one was taken last, and when that was; null where none was so far. */
  writes(): { failed: number; takenAt: number | null };
  /** Whether so many writes have failed in a row that one of another place should go next. */
  needsSample(): boolean;
  /** Whether this delivery has failed of late, and may be at fault by itself. */
  isSuspect(delivery: number): boolean;
  /** Whether the API has answered something after this delivery had failed: its failures tell of nothing but itself. */
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
const CANARY = { firstMs: 1000, lastMs: 30_000 };
/** How often a request that waits for the canary asks again. */
const POLL_MS = 100;
const EXPLAINS_MS = 25 * 3_600_000;
/** So often does a delivery fail with others taken in between, before it counts no more. */
const STRIKES_MAX = 2;
/** How many deliveries that have failed are known (I9). */
const KNOWN_MAX = 10_000;

/** @param random numbers in [0, 1), so that many processes do not send their canaries together */
export function createBreaker(random: () => number): Breaker {
  /** Deliveries of which a write has failed since one was answered last. */
  const suspects = new Set<number>();
  let suspectsSince: number | null = null;
  /** What has failed since anything was answered, each once: deliveries, and lists that were read. */
  const unanswered = new Set<number | string>();
  /** Failures since then that say nothing of what was sent. */
  let silences = 0;
  let silentSince: number | null = null;
  /** Deliveries after whose failure the API has answered something; the latest ones. */
  const excused = new Set<number>();
  /** How often each had failed when another was taken; the latest ones. */
  const strikes = new Map<number, number>();
  let answeredAt: number | null = null;
  let writtenAt: number | null = null;
  let openedAt: number | null = null;
  /** The last outage, or the present one once it is certain. */
  let outage: { from: number; to: number | null } | null = null;
  let intervalMs = CANARY.firstMs;
  /** When the next canary, or the next of the trickle, may go out. */
  let nextAt = Number.NEGATIVE_INFINITY;
  let canaryOut = false;

  const writesFail = (): boolean => suspects.size >= WRITES_MIN;
  const isFailing = (): boolean => writesFail() || unanswered.size + silences >= FAILURES_MIN;
  const failingSince = (now: number): number =>
    Math.min(silentSince ?? now, writesFail() ? (suspectsSince ?? now) : now);

  function delayCanary(now: number): void {
    canaryOut = false;
    nextAt = now + Math.ceil(intervalMs * (0.8 + 0.2 * random()));
  }

  function openIfDue(now: number): void {
    if (openedAt !== null || !isFailing() || now - failingSince(now) < FAILING_MIN_MS) return;
    openedAt = failingSince(now);
    intervalMs = CANARY.firstMs;
    delayCanary(now);
    beSureIfDue();
  }

  /** Deliveries alone prove no outage: they may all be at fault. A question that fails does, and so do very many of them. */
  function beSureIfDue(): void {
    if (openedAt === null || (silences === 0 && !writesFail())) return;
    if (outage?.to !== null) outage = { from: openedAt, to: null };
  }

  function closeUnlessFailing(now: number): void {
    if (isFailing()) return;
    if (outage?.to === null) outage.to = now;
    openedAt = null;
    canaryOut = false;
    nextAt = Number.NEGATIVE_INFINITY;
  }

  function blame(subject: number | string, now: number): void {
    if (typeof subject === 'number') {
      const isAtFault = (strikes.get(subject) ?? 0) >= STRIKES_MAX;
      if (!isAtFault && suspects.size < KNOWN_MAX) {
        suspects.add(subject);
        suspectsSince ??= now;
      }
      if (excused.has(subject)) return;
    }
    if (unanswered.size < KNOWN_MAX) unanswered.add(subject);
    silentSince ??= now;
  }

  function fail({ subject, away }: Signal & { kind: 'failed' }, now: number): void {
    // Said again to a delivery that is not excused: where there are but a few of them, nothing else would tell of it.
    const isSaidAgain = away === true && subject !== null && unanswered.has(subject);
    if (subject !== null) blame(subject, now);
    if (subject === null || isSaidAgain) {
      silences = Math.min(silences + 1, FAILURES_MIN);
      silentSince ??= now;
    }
    if (openedAt !== null && canaryOut) {
      intervalMs = Math.min(intervalMs * 2, CANARY.lastMs);
      delayCanary(now);
    }
    openIfDue(now);
    beSureIfDue();
  }

  function excuse(): void {
    if (unanswered.size === 0) return;
    for (const subject of unanswered) if (typeof subject === 'number') excused.add(subject);
    unanswered.clear();
    forgetOldest(excused);
  }

  function strike(): void {
    if (suspects.size === 0) return;
    for (const delivery of suspects) strikes.set(delivery, (strikes.get(delivery) ?? 0) + 1);
    forgetOldest(strikes);
    suspects.clear();
    suspectsSince = null;
  }

  function answer(by: 'read' | 'write', now: number): void {
    answeredAt = now;
    excuse();
    silences = 0;
    silentSince = null;
    if (by === 'write') {
      writtenAt = now;
      strike();
    }
    closeUnlessFailing(now);
  }

  return {
    admit(now) {
      openIfDue(now);
      if (!isFailing()) return 0;
      if (canaryOut) return POLL_MS;
      if (now < nextAt) return nextAt - now;
      if (openedAt !== null) canaryOut = true;
      else nextAt = now + TRICKLE_MS;
      return 0;
    },

    observe(signal, now) {
      switch (signal.kind) {
        case 'failed':
          fail(signal, now);
          break;
        case 'answered':
          answer(signal.by, now);
          break;
        case 'throttled':
          // Whoever limits the rate is there, but no write has got through.
          answer('read', now);
          if (openedAt !== null) delayCanary(now);
          break;
        case 'local':
        case 'unused':
          canaryOut = false;
      }
    },

    isWell: () => !isFailing(),
    openSince: () => openedAt,
    writes: () => ({ failed: suspects.size, takenAt: writtenAt }),
    needsSample: writesFail,
    failsAtWrites: () => openedAt !== null && writesFail(),
    isSuspect: (delivery) => excused.has(delivery) || unanswered.has(delivery),
    isExcused: (delivery) => excused.has(delivery),
    wasOut(at) {
      if (outage === null || at < outage.from) return false;
      return at <= Math.min(outage.to ?? at, outage.from + EXPLAINS_MS);
    },
    hasAnsweredSince: (at) => answeredAt !== null && answeredAt >= at,
    hasTakenSince: (at) => writtenAt !== null && writtenAt >= at,
  };
}

function forgetOldest(known: Map<number, number> | Set<number>): void {
  for (const oldest of known.keys()) {
    if (known.size <= KNOWN_MAX) return;
    known.delete(oldest);
  }
}
