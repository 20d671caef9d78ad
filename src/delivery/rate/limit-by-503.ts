import { createGoodput } from './concurrency.ts';

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
