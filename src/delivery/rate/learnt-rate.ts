// The rate that is learnt from all answers. A limit that answers 429 and a limit that answers 503 each have a rate
// controller, and a request needs a slot of both. When 503s turn out to be no limit, only their controller is dropped: the rate
// that was learnt from 429s is as before.

import type { Observation } from '../observation.ts';
import { createGoodput } from './concurrency.ts';
import { createRateController, type RateController } from './rate-controller.ts';

export interface LearntRate extends RateController {
  /** True if a request was answered with 503 a short time ago. */
  sees503s(now: number): boolean;
  /** True from a 503 of a limit until a reopen probe has succeeded. */
  isStoppedBy503(): boolean;
}

/** A 503 among successes stops all requests for no longer than this, whatever wait it asks for. */
const ASKED_MS_MAX = 60_000;

/**
 * @param ceiling requests per second, or null for no ceiling
 * @param random numbers in [0, 1), so that many processes do not send their probes together
 */
export function createLearntRate(ceiling: number | null, random: () => number): LearntRate {
  const by429 = createRateController(ceiling, random);
  const signs = createLimitBy503();
  let by503 = createRateController(null, random);

  function waitMs(now: number): number {
    return Math.max(by429.waitMs(now), by503.waitMs(now));
  }

  function take(now: number): void {
    by429.take(now);
    by503.take(now);
  }

  return {
    waitMs,
    take,
    admit(now) {
      const ms = waitMs(now);
      if (ms === 0) take(now);
      return ms;
    },
    sentBeside(now) {
      by429.sentBeside(now);
      by503.sentBeside(now);
    },
    closedForMs: (now) => Math.max(by429.closedForMs(now), by503.closedForMs(now)),
    wait: (now) => by429.wait(now),
    setCeiling: (maxRate) => by429.setCeiling(maxRate),
    concurrency(now) {
      const inFlight = by429.concurrency(now);
      // Without a rate of its own, a controller bounds the growth, and one bound of the growth is enough.
      return Number.isFinite(by503.rate(now)) ? Math.min(inFlight, by503.concurrency(now)) : inFlight;
    },
    rate: (now) => Math.min(by429.rate(now), by503.rate(now)),
    isStopped: () => by429.isStopped() || by503.isStopped(),
    sees503s: (now) => signs.isRecent(now),
    isStoppedBy503: () => by503.isStopped(),

    observe(observation, latencyMs, now) {
      const is503 = observation.kind === 'failed' && observation.is503 === true;
      const wasLimit = signs.isLimit();
      const rate = by503.rate(now);
      if (is503) signs.refused(rate, now);
      else if (observation.kind === 'answered') signs.succeeded(rate, now);
      if (!is503 || !signs.isLimit()) {
        by429.observe(observation, latencyMs, now);
        // A stated limit is that of the 429s.
        const shown: Observation =
          observation.kind === 'answered' ? { kind: 'answered', by: observation.by } : { kind: 'unused' };
        by503.observe(shown, latencyMs, now);
      } else {
        by429.observe({ kind: 'unused' }, latencyMs, now);
        const { retryAfterMs } = observation;
        const askedMs = retryAfterMs === null ? null : Math.min(retryAfterMs, ASKED_MS_MAX);
        by503.observe({ kind: 'throttled', retryAfterMs: askedMs }, latencyMs, now);
      }
      if (wasLimit && !signs.isLimit()) by503 = createRateController(null, random);
    },
  };
}

// Decides whether 503s are the answers of a limit. nginx answers 503 where its limits refuse a request (limit_req and
// limit_conn, unless their status was changed). A platform that is away, or a part of it that is broken, answers 503 as well.
//
//                    a fifth of the last answers are 503s, and a request has succeeded since
//        no limit ───────────────────────────────────────────────────────────────────────────► limit
//           ▲    nothing succeeds any more: an outage (outage.ts)                                │
//           └──  503s at a far lower rate than the one that was accepted before: not a limit  ◄──┘
//
// A limit refuses less at a lower rate. What is broken fails as often as before, and must not slow down the rest. So after the
// second event 503s are a limit only if a far larger share of the answers are 503s at full speed.

/** The last answers, within this time, of which so many and such a share have to be 503s. */
const EVIDENCE = { ms: 10_000, answers: 40, refused: 5, share: 0.2 };
/** After so many 503s in a row, and for so long without a success, there is an outage. */
const OUTAGE = { refused: 5, ms: 3000 };
/** A rate is slow below this share of the rate that was accepted before, over this time. */
const SLOW = { share: 0.25, ms: 5000 };
/** So many 503s at a slow rate show that the rate is not their cause. */
const SLOW_REFUSED = 4;
/** After that, the share of 503s at full speed has to be this many times as large. It is remembered for a time. */
const LARGER = { factor: 2, ms: 600_000 };
/** A 503 counts as recent for this time. */
const RECENT_MS = 10_000;

/** Pure: times are ticks of a clock, rates are requests per second. */
export function createLimitBy503() {
  const goodput = createGoodput();
  let answers: { at: number; isRefusal: boolean }[] = [];
  /** Null while 503s are no limit. */
  let limit: { slowBelow: number; slow: { answers: number; refused: number } } | null = null;
  /** The share of 503s at a slow rate, when they turned out to be no limit. */
  let broken = { share: 0, at: Number.NEGATIVE_INFINITY };
  let refusedAt = Number.NEGATIVE_INFINITY;
  let succeededAt = Number.NEGATIVE_INFINITY;
  let refusedInARow = 0;

  function end(): void {
    limit = null;
    answers = [];
  }

  function count(isRefusal: boolean, rate: number, now: number): void {
    if (limit === null) answers = [...answers, { at: now, isRefusal }].slice(-EVIDENCE.answers);
    else if (rate < limit.slowBelow) {
      limit.slow.answers += 1;
      if (isRefusal) limit.slow.refused += 1;
    }
  }

  function beginIfDue(now: number): void {
    const recent = answers.filter(({ at }) => now - at < EVIDENCE.ms);
    const refused = recent.filter(({ isRefusal }) => isRefusal).length;
    const known = now - broken.at < LARGER.ms ? broken.share : 0;
    const share = Math.max(EVIDENCE.share, LARGER.factor * known);
    if (refused < EVIDENCE.refused || refused < share * recent.length) return;
    if (known > 0 && recent.length < EVIDENCE.answers) return;
    limit = { slowBelow: SLOW.share * goodput.over(SLOW.ms, now), slow: { answers: 0, refused: 0 } };
  }

  return {
    /** A request has succeeded. @param rate the rate that was learnt from 503s; infinite if there is none */
    succeeded(rate: number, now: number) {
      succeededAt = now;
      refusedInARow = 0;
      goodput.accepted(now);
      // Without a recent 503 there is nothing to count.
      if (now - refusedAt >= EVIDENCE.ms) return;
      count(false, rate, now);
      if (limit === null) beginIfDue(now);
    },
    /** A request was answered with 503. */
    refused(rate: number, now: number) {
      refusedAt = now;
      refusedInARow += 1;
      count(true, rate, now);
      if (limit === null) return;
      const { answers: slowAnswers, refused } = limit.slow;
      if (refused >= SLOW_REFUSED) {
        broken = { share: refused / slowAnswers, at: now };
        end();
      } else if (refusedInARow >= OUTAGE.refused && now - succeededAt >= OUTAGE.ms) end();
    },
    /** True while 503s are the answers of a limit. */
    isLimit: () => limit !== null,
    /** True if a 503 has come a short time ago. */
    isRecent: (now: number) => now - refusedAt < RECENT_MS,
  };
}
