// How this client shares a limit with other clients that it does not know.
//
// Two observations are evidence of other clients. First: a steady rate is refused although it was not raised. Another
// client, or a delay in the network, is the cause. Second: a rate is accepted that is well above every earlier steady
// rate. A limit that does not change cannot explain that. Without the second, a client that only raises its rate, while
// others lower theirs, would take the whole limit and never meet a refusal at its steady rate. Each steady period
// without such an observation removes one piece of evidence. After three pieces, other clients are assumed.
//
// From then on the rate rises steadily and is reduced by a share of itself at each refusal (Chiu and Jain, 1989). Of
// two clients that do this, the one with the higher rate is refused more often and reduces more. The other one gains at
// least as much in proportion to its rate, so that both rates become equal. A client that was refused less often gains
// more. That is fair too, because a server refuses each client as often as it asks. The gain follows the recent rounds,
// and each round counts half as much as the next one. Otherwise clients that are always refused at the same moment
// would keep unequal gains. If no refusal comes for long, the rate rises faster and faster, because the other clients
// have gone or the limit was raised.
//
// A client that is alone is recognised by its rounds, the times from one refusal to the next. The limit does not
// change, so each round brings the same number of accepted requests. Then the rate is kept steady again. If there were
// other clients after all, more rounds have to agree the next time.

import { acceptedPerSecond, RATE_MIN } from './rate-estimates.ts';
import type { EndedStop } from './stop.ts';

const EVIDENCE_NEEDED = 3;
/**
 * How far a rate has to rise above the highest steady rate until other clients are the only explanation. After a steady
 * period: `perRoot` times the square root of the highest rate; less than half of that is no evidence. In a raise:
 * `raised` times the highest rate.
 */
const BEYOND = { perRoot: 0.1, raised: 1.1 };
/** The share of the rate that is given up at a refusal. */
const REDUCTION = 0.15;
/**
 * The gain in requests per second for each second: `first` times the rate to the power `power`. Rates below one gain as
 * much as one per second. The gain grows with the square of the length of the rounds, within the bounds `rounds`. The
 * gain is at most the share `shareMax` of the rate: a rate that rises faster than its requests are sent would never
 * count as used.
 */
const GAIN = { first: 0.06, power: 0.5, roundsMin: 0.25, roundsMax: 4, shareMax: 0.2 };
const ROUND_MS = 15_000;
/** After this time without a refusal, the rate grows e-fold in `efoldMs`. */
const FREE = { afterMs: 25_000, efoldMs: 12_000 };
/**
 * This number of equal rounds in a row proves a limit that does not change: `first` at the beginning, and up to `max`
 * later. Rounds are equal if their accepted rates differ by no more than `ratio`. Rounds shorter than `openMs` prove
 * nothing. `kept` is the share of the lowest refused rate that is used afterwards.
 */
const EQUAL = { ratio: 1.04, openMs: 5000, first: 4, max: 32, kept: 0.96 };

/** What equal rounds have in common: the accepted rates and the lowest refused rate. */
const NO_ROUNDS = { least: Number.POSITIVE_INFINITY, most: 0, refused: Number.POSITIVE_INFINITY, count: 0 };

/** Pure: times are ticks of a clock, rates are requests per second. */
export function createFairShare() {
  let evidence = 0;
  /** The highest steady rate; 0 before there was one. */
  let highest = 0;
  let from = { rate: 0, at: 0 };
  let equal = NO_ROUNDS;
  let needed = EQUAL.first;
  /** The smoothed length of the rounds, as a multiple of `ROUND_MS`. */
  let rounds = 1;

  const roundsSince = (now: number): number => (now - from.at) / ROUND_MS;

  /** The rate after its rise so far. It also rises while no request is sent, and then without a bound. */
  function rateAt(now: number): number {
    const ms = now - from.at;
    const usual = GAIN.first * rounds ** 2 * Math.max(1, from.rate) ** GAIN.power;
    const gain = Math.min(usual, GAIN.shareMax * Math.max(RATE_MIN, from.rate));
    const risen = from.rate + gain * (Math.min(ms, FREE.afterMs) / 1000);
    return risen * Math.exp(Math.max(0, ms - FREE.afterMs) / FREE.efoldMs);
  }

  /** Continues from this rate without a reduction. */
  function continueFrom(rate: number, now: number): void {
    from = { rate, at: now };
  }

  function addRound(rate: number, refused: number): void {
    const [least, most] = [Math.min(equal.least, rate), Math.max(equal.most, rate)];
    equal =
      most > EQUAL.ratio * least
        ? { least: rate, most: rate, refused, count: 1 }
        : { least, most, refused: Math.min(equal.refused, refused), count: equal.count + 1 };
  }

  return {
    /** Counts a refusal at a rate that was accepted before. `steady` is the steady rate at that time. */
    addEvidence(weight: number = 1, steady: number = 0) {
      evidence += weight;
      highest = Math.max(highest, steady);
    },
    /** A whole steady period at this rate has ended without a refusal. */
    steadyPeriodPassed(steady: number) {
      const beyond = highest === 0 ? 0 : (Math.sqrt(highest) * (steady / highest - 1)) / BEYOND.perRoot;
      if (beyond > 1) evidence += 1;
      else if (beyond < 0.5) evidence = Math.max(0, evidence - 1);
      if (beyond > 1 || highest === 0) highest = steady;
      if (evidence === 0) needed = EQUAL.first;
    },
    /** A raise was refused. `accepted` is the highest rate that was accepted before that. */
    raiseRefused(accepted: number) {
      if (highest > 0 && accepted > BEYOND.raised * highest) evidence += 1;
    },
    evidence: () => evidence,
    /** Drops the evidence, because the limit has changed. */
    reset() {
      evidence = 0;
      highest = 0;
      needed = EQUAL.first;
    },
    /** True if there is enough evidence of other clients. */
    hasOthers: () => evidence >= EVIDENCE_NEEDED,
    /** Begins to share after this rate was refused. */
    start(refusedRate: number, now: number) {
      evidence = EVIDENCE_NEEDED;
      highest = 0;
      equal = NO_ROUNDS;
      continueFrom(refusedRate * (1 - REDUCTION), now);
    },
    rate: rateAt,
    /** The rate was not used for `ms` milliseconds, so it must not rise for this time. */
    skipUnused(ms: number, now: number) {
      from.at = Math.min(now, from.at + ms);
    },
    continueFrom,
    /** Reduces the rate. @returns the steady rate if no other client is assumed any more; else null */
    reduce(refusedRate: number, stop: EndedStop, now: number): number | null {
      rounds = Math.sqrt(rounds * Math.max(GAIN.roundsMin, Math.min(GAIN.roundsMax, roundsSince(now))));
      continueFrom(refusedRate * (1 - REDUCTION), now);
      if (stop.openMs > EQUAL.openMs) addRound(acceptedPerSecond(stop), refusedRate);
      if (equal.count < needed) return null;
      evidence = EVIDENCE_NEEDED - 1;
      needed = Math.min(EQUAL.max, needed * 2);
      return equal.refused * EQUAL.kept;
    },
  };
}

export type FairShare = ReturnType<typeof createFairShare>;
