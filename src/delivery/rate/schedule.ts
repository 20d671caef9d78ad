// Where the search for a rate stands, and the moves that it can make from there. What a refusal proves, and so which move is
// next, is judged in rate-search.ts and rate-long.ts. Pure: times are ticks of a clock, rates are requests per second.

import type { Crowd } from './fair-share.ts';
import { rampRate } from './window-cycle.ts';
import { holdMs, isWholeStep, STEP, trialMs } from './trial-length.ts';
import { RATE_MIN } from './rate-estimates.ts';

export type Phase = 'opening' | 'ramping' | 'searching' | 'holding' | 'probing' | 'crowded';

/** What is known of the limit. */
export interface Known {
  /** The rate that is held, or the lower end of the search. */
  low: number;
  high: number;
  /** Nothing was refused at the upper end as yet. */
  isHighGuessed: boolean;
  /** The lower end where it passed a trial; 0 where it was inferred. */
  proven: number;
  /** The rate that was held for a whole rest; 0 where none was. */
  sure: number;
  /** What a refusal costs, in milliseconds; 0 before there was one. */
  costMs: number;
  /** The window, where it is a long one; 0 where it is not. */
  cycleMs: number;
}

export interface Course {
  phase(): Phase;
  /** The share by which the last probe went up. */
  step(): number;
  /** The rate that is paced at now; infinite while nothing is known. */
  rate(now: number): number;
  /** A block is over, in which no rate could be used. */
  resume(now: number): void;
  /**
   * A request was accepted while they go out: a rate that rises with time does so only as long as it is used, and comes to five
   * times the use at most.
   */
  used(now: number): void;
  /**
   * One that was sent then was accepted, and requests go out freely.
   *
   * @returns whether the rate on trial was taken for as long as it has to be
   */
  tried(sentAt: number, isAdvised: boolean, now: number): boolean;
  /** Puts the present rate on trial anew. */
  again(now: number): void;
  hold(now: number): void;
  /** Goes up from a rate by a share of it. */
  probe(from: number, by: number, now: number): void;
  /** Tries a rate that the server states; a probe from there goes up by this share. */
  expect(rate: number, by: number, now: number): void;
  /** Tries a rate between the ends, so far up on a logarithmic scale, and holds the lower end where they are near each other. */
  seek(part: number, now: number): void;
  /** Climbs from the small rate that all begin with. */
  ramp(now: number): void;
  /** Holds, and comes to the rate that is held from this one: a window that slides gives back what it took as slowly as it took it. */
  refill(from: number, now: number): void;
  enterCrowd(refusedRate: number, now: number): void;
}

/** Of a long window, where it was measured. */
const RATE_MIN_LONG = 1 / 60;
/** The interval between proven and refused is narrow enough. */
const FOUND = 1.06;
/** The share of the proven rate that is held. */
const HOLD_AT = 0.985;
/** Rests differ by this share: those who share a limit and were stopped together shall not probe together. */
const REST_SPREAD = 0.5;
/** Below this share of it, what was requested was not limited by the rate. */
const LIMITED = 0.7;
/** A rate that rises is looked at in such spans, and stands still over those in which less than this share of it was used. */
const RISE = { spanMs: 5000, used: 0.5 };
/** While a window refills, what goes out grows e-fold in this time: no faster than the ramp which filled it. */
const REFILL_MS = 6000;

/** @param random numbers in [0, 1) */
export function createCourse(known: Known, crowd: Crowd, random: () => number): Course {
  let phase: Phase = 'opening';
  let rate = Number.POSITIVE_INFINITY;
  let step: number = STEP.first;
  let trial = { at: 0, accepted: 0 };
  let restFactor = 1;
  let rampFrom = 0;
  let refilling: { from: number; at: number } | null = null;
  /** What was accepted of a rate that rises, in the present span. */
  let span = { from: 0, accepted: 0 };

  function begin(next: Phase, at: number, now: number): void {
    phase = next;
    refilling = null;
    rate = Math.max(known.cycleMs > 0 ? RATE_MIN_LONG : RATE_MIN, at);
    trial = { at: now, accepted: 0 };
  }

  function hold(now: number): void {
    const isLong = known.cycleMs > 0;
    step = isLong ? STEP.firstLong : STEP.first;
    restFactor = isLong ? 1 : 1 + REST_SPREAD * (random() - 0.5);
    begin('holding', known.low * HOLD_AT, now);
  }

  function probe(from: number, by: number, now: number): void {
    step = by;
    begin('probing', from * (1 + by), now);
  }

  /** How long the rate on trial stays so. */
  function lengthMs(isAdvised: boolean): number {
    const { costMs, cycleMs } = known;
    const tried = { rate, costMs, cycleMs, isAdvised, isWhole: phase === 'probing' && isWholeStep(step) };
    return phase === 'holding' ? holdMs(tried) * restFactor : trialMs(tried);
  }

  const risenAt = (at: number): number =>
    phase === 'ramping' ? rampRate(at - rampFrom) : Math.max(RATE_MIN, crowd.rate(at));

  return {
    phase: () => phase,
    step: () => step,

    rate(now) {
      if (refilling !== null) return Math.min(rate, refilling.from * Math.exp((now - refilling.at) / REFILL_MS));
      if (phase !== 'ramping' && phase !== 'crowded') return rate;
      return risenAt(Math.min(now, span.from + RISE.spanMs));
    },

    resume(now) {
      span = { from: now, accepted: 0 };
    },

    used(now) {
      if (phase !== 'ramping' && phase !== 'crowded') return;
      span.accepted += 1;
      const ms = now - span.from;
      if (ms < RISE.spanMs) return;
      if (span.accepted < (RISE.used * risenAt(span.from + RISE.spanMs) * ms) / 1000) {
        rampFrom = Math.min(now, rampFrom + ms);
        crowd.rested(ms, now);
      }
      span = { from: now, accepted: 0 };
    },

    tried(sentAt, isAdvised, now) {
      if (sentAt < trial.at || phase === 'opening' || phase === 'ramping' || phase === 'crowded') return false;
      trial.accepted += 1;
      const ms = now - trial.at;
      if (ms < lengthMs(isAdvised)) return false;
      if (trial.accepted >= (LIMITED * rate * ms) / 1000) return true;
      trial = { at: now, accepted: 0 };
      return false;
    },

    again: (now) => begin(phase, rate, now),
    hold,
    probe,

    expect(stated, by, now) {
      step = by;
      begin('probing', stated, now);
    },

    seek(part, now) {
      const { low, high } = known;
      if (high / low >= FOUND) begin('searching', low ** (1 - part) * high ** part, now);
      else if (known.isHighGuessed) {
        known.isHighGuessed = false;
        known.sure = low;
        probe(low, STEP.advised, now);
      } else hold(now);
    },

    ramp(now) {
      phase = 'ramping';
      refilling = null;
      rampFrom = now;
    },

    refill(from, now) {
      hold(now);
      refilling = { from, at: now };
    },

    enterCrowd(refusedRate, now) {
      crowd.enter(refusedRate, now);
      begin('crowded', refusedRate, now);
    },
  };
}
