// When the API is away, as far as its answers tell.
//
//   closed ── 10 failures in a row ──► wary ── 5 s of them ──► open
//      ▲                                │                      │
//      └──────── an answer ─────────────┴──── an answer ───────┘
//
// Closed, everything goes out. Wary, requests trickle. Open, one canary at a time goes out, from every second up to every
// half minute.
//
// A delivery may fail by itself, so each counts once, however often it fails: a handful of deliveries that the API cannot
// digest opens nothing. What reading proves is limited in the same way. It ends the row of failures that say nothing about
// what was sent. It does not end a row of ten different writes that failed: only a write that is answered does.

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
  /** Whether what failed at this time fell into the present outage or the last one. */
  wasOut(at: number): boolean;
  /** Whether the API has answered anything at or after this time. */
  hasAnsweredSince(at: number): boolean;
}

const FAILURES_MIN = 10;
const FAILING_MIN_MS = 5000;
const TRICKLE_MS = 250;
const CANARY = { firstMs: 1000, lastMs: 30_000 };
/** How often a request that waits for the canary asks again. */
const POLL_MS = 100;

/** @param random numbers in [0, 1), so that many processes do not send their canaries together */
export function createBreaker(random: () => number): Breaker {
  /** Deliveries of which a write has failed since one was answered last; no more than count (I9). */
  const suspects = new Set<number>();
  let suspectsSince: number | null = null;
  /** Failures that say nothing of what was sent, since anything was answered. */
  let silences = 0;
  let silentSince: number | null = null;
  let answeredAt: number | null = null;
  let open = false;
  let outage: { from: number; to: number | null } | null = null;
  let intervalMs = CANARY.firstMs;
  /** When the next canary, or the next of the trickle, may go out. */
  let nextAt = Number.NEGATIVE_INFINITY;
  let canaryOut = false;

  const isFailing = (): boolean => suspects.size + silences >= FAILURES_MIN;
  const failingSince = (now: number): number => Math.min(suspectsSince ?? now, silentSince ?? now);

  function delayCanary(now: number): void {
    canaryOut = false;
    nextAt = now + Math.ceil(intervalMs * (0.8 + 0.2 * random()));
  }

  function openIfDue(now: number): void {
    if (open || !isFailing() || now - failingSince(now) < FAILING_MIN_MS) return;
    open = true;
    outage = { from: failingSince(now), to: null };
    intervalMs = CANARY.firstMs;
    delayCanary(now);
  }

  function closeUnlessFailing(now: number): void {
    if (isFailing()) return;
    if (open && outage) outage.to = now;
    open = false;
    canaryOut = false;
    nextAt = Number.NEGATIVE_INFINITY;
  }

  function fail(delivery: number | null, now: number): void {
    if (delivery === null) {
      silences = Math.min(silences + 1, FAILURES_MIN);
      silentSince ??= now;
    } else {
      if (suspects.size < FAILURES_MIN) suspects.add(delivery);
      suspectsSince ??= now;
    }
    if (open && canaryOut) {
      intervalMs = Math.min(intervalMs * 2, CANARY.lastMs);
      delayCanary(now);
    }
    openIfDue(now);
  }

  function answer(by: 'read' | 'write', now: number): void {
    answeredAt = now;
    silences = 0;
    silentSince = null;
    if (by === 'write') {
      suspects.clear();
      suspectsSince = null;
    }
    closeUnlessFailing(now);
  }

  return {
    admit(now) {
      openIfDue(now);
      if (!isFailing()) return 0;
      if (canaryOut) return POLL_MS;
      if (now < nextAt) return nextAt - now;
      if (open) canaryOut = true;
      else nextAt = now + TRICKLE_MS;
      return 0;
    },

    observe(signal, now) {
      switch (signal.kind) {
        case 'failed':
          fail(signal.delivery, now);
          break;
        case 'answered':
          answer(signal.by, now);
          break;
        case 'throttled':
          // Whoever limits the rate is there, but no write has got through.
          answer('read', now);
          if (open) delayCanary(now);
          break;
        case 'unused':
          canaryOut = false;
      }
    },

    isWell: () => !isFailing(),
    openSince: () => (open ? (outage?.from ?? null) : null),
    wasOut: (at) => outage !== null && at >= outage.from && (outage.to === null || at <= outage.to),
    hasAnsweredSince: (at) => answeredAt !== null && answeredAt >= at,
  };
}
