// The phase of the search for a rate, the rate in it, and the changes of phase. The files rate-search.ts and long-window.ts
// decide what a refusal proves and which phase follows. Pure: times are ticks of a clock, rates are requests per second.

import type { FairShare } from './fair-share.ts';
import { burstAfterStop, RATE_MIN, rampRate } from './rate-estimates.ts';

type Phase = 'unpaced' | 'ramping' | 'searching' | 'steady' | 'raising' | 'sharing';

/** What is known about the limit. */
export interface LimitEstimate {
  /** The lower bound of the search. Outside of a search it is the rate that the schedule keeps. */
  low: number;
  high: number;
  /** True while nothing was refused at the upper bound. */
  isHighUntested: boolean;
  /** The part of the lower bound that a trial has proven; 0 if the bound was inferred. */
  provenLow: number;
  /** The rate of the last whole steady period; 0 if there was none. */
  steadyRate: number;
  /** How long requests are stopped by one refusal, in milliseconds; 0 before the first refusal. */
  refusalCostMs: number;
  /** The length of the window if it is a long one; else 0. */
  windowMs: number;
  /** How many requests were accepted before the first refusal of all. A bucket holds at most this number. 0 if it is not known. */
  burst: number;
}

/** The lowest rate in a long window that was measured. */
const RATE_MIN_LONG = 1 / 60;
/** The search ends when the upper bound is less than this many times the lower one. */
const FOUND = 1.06;
/** The share of the proven rate that is kept. */
const STEADY_AT = 0.985;
/**
 * The length of a steady period is random within this share. Several clients of one limit, which were stopped together,
 * then raise their rates at different times.
 */
const STEADY_SPREAD = 0.5;
/** If less than this share of the rate was used, the trial proves nothing. */
const USED_MIN = 0.7;
/** A rising rate is checked in spans of this length. If less than the share `used` of the rate was used in a span, the rate does not rise. */
const RISE = { spanMs: 5000, used: 0.5 };
/** While a window refills, the rate grows e-fold in this time: no faster than the ramp that filled the window. */
const REFILL_MS = 6000;

/** @param random numbers in [0, 1) */
export function createRateSchedule(limit: LimitEstimate, share: FairShare, random: () => number) {
  let phase: Phase = 'unpaced';
  let rate = Number.POSITIVE_INFINITY;
  let step: number = STEP.first;
  let trial = { at: 0, accepted: 0 };
  let steadyFactor = 1;
  let rampFrom = 0;
  let refill: { from: number; at: number } | null = null;
  /** The present span of a rising rate, and the requests accepted in it. */
  let span = { from: 0, accepted: 0 };

  function start(next: Phase, at: number, now: number): void {
    phase = next;
    refill = null;
    rate = Math.max(limit.windowMs > 0 ? RATE_MIN_LONG : RATE_MIN, at);
    trial = { at: now, accepted: 0 };
  }

  /** Keeps a rate a little below the proven one. */
  function startSteady(now: number): void {
    const isLong = limit.windowMs > 0;
    step = isLong ? STEP.firstLong : STEP.first;
    steadyFactor = isLong ? 1 : 1 + STEADY_SPREAD * (random() - 0.5);
    start('steady', limit.low * STEADY_AT, now);
  }

  /** Tries a higher rate: `from` times `1 + by`. */
  function startRaise(from: number, by: number, now: number): void {
    step = by;
    start('raising', from * (1 + by), now);
  }

  /** How long the trial of the present rate lasts. */
  function lengthMs(isAdvised: boolean): number {
    const { refusalCostMs, windowMs } = limit;
    const isWhole = phase === 'raising' && isWholeStep(step);
    const burstMs = phase === 'searching' ? (1000 * burstAfterStop(limit, rate)) / (rate - limit.low) : 0;
    const context = { rate, refusalCostMs, windowMs, burstMs, isAdvised, isWhole };
    return phase === 'steady' ? steadyMs(context) * steadyFactor : trialMs(context);
  }

  const risenAt = (at: number): number =>
    phase === 'ramping' ? rampRate(at - rampFrom) : Math.max(RATE_MIN, share.rate(at));

  return {
    phase: (): Phase => phase,
    /** The share of the rate by which the last step has raised it. */
    step: () => step,

    /** The present rate; infinite while no limit is known. */
    rate(now: number): number {
      if (refill !== null) return Math.min(rate, refill.from * Math.exp((now - refill.at) / REFILL_MS));
      if (phase !== 'ramping' && phase !== 'sharing') return rate;
      return risenAt(Math.min(now, span.from + RISE.spanMs));
    },

    /** A stop has ended. No rate could be used during it. */
    reopened(now: number) {
      span = { from: now, accepted: 0 };
    },

    /**
     * Counts an accepted request while requests are sent. A rate that rises with time rises only while it is used, and to at most five
     * times the used rate.
     */
    countUse(now: number) {
      if (phase !== 'ramping' && phase !== 'sharing') return;
      span.accepted += 1;
      const ms = now - span.from;
      if (ms < RISE.spanMs) return;
      if (span.accepted < (RISE.used * risenAt(span.from + RISE.spanMs) * ms) / 1000) {
        rampFrom = Math.min(now, rampFrom + ms);
        share.skipUnused(ms, now);
      }
      span = { from: now, accepted: 0 };
    },

    /**
     * Counts an accepted request in the trial of the present rate.
     *
     * @param sentAt when the request was sent
     * @returns true if the rate has passed its trial
     */
    countTrial(sentAt: number, isAdvised: boolean, now: number): boolean {
      if (sentAt < trial.at || phase === 'unpaced' || phase === 'ramping' || phase === 'sharing') return false;
      trial.accepted += 1;
      const ms = now - trial.at;
      if (ms < lengthMs(isAdvised)) return false;
      if (trial.accepted >= (USED_MIN * rate * ms) / 1000) return true;
      trial = { at: now, accepted: 0 };
      return false;
    },

    /** The rate that the trial of the present rate has proven so far. The requests of a burst prove nothing. */
    provenRate: (now: number) => rate - (1000 * burstAfterStop(limit, rate)) / (now - trial.at),
    /** Begins the trial of the present rate again. */
    restartTrial: (now: number) => start(phase, rate, now),
    startSteady,
    startRaise,

    /** Tries a rate that the server states. `by` is the share by which the rate is raised after that. */
    startAdvised(advised: number, by: number, now: number) {
      step = by;
      start('raising', advised, now);
    },

    /**
     * Tries a rate between the bounds: `part` of the way up, on a logarithmic scale. Keeps the lower bound if the bounds are close.
     */
    startSearch(part: number, now: number) {
      const { low, high } = limit;
      if (high / low >= FOUND) start('searching', low ** (1 - part) * high ** part, now);
      else if (limit.isHighUntested) {
        limit.isHighUntested = false;
        limit.steadyRate = low;
        startRaise(low, STEP.advised, now);
      } else startSteady(now);
    },

    /** Climbs from the small rate that every client begins with. */
    startRamp(now: number) {
      phase = 'ramping';
      refill = null;
      rampFrom = now;
    },

    /**
     * Rises from `from` to the steady rate while a sliding window refills. Such a window gives requests back as slowly as they were
     * sent.
     */
    startRefill(from: number, now: number) {
      startSteady(now);
      refill = { from, at: now };
    },

    /** Shares the limit with other clients. */
    startSharing(refusedRate: number, now: number) {
      share.start(refusedRate, now);
      start('sharing', refusedRate, now);
    },
  };
}

export type RateSchedule = ReturnType<typeof createRateSchedule>;

// How long a rate is tried before the next one, and how much higher the next one is.

const TRIAL = { ms: 1500, requests: 12, msMax: 3000, ofWindow: 1 / 24 };
const STEADY = { msMin: 12_000, msMax: 30_000, requests: 250, refusalCosts: 28, ofWindow: 0.5 };
/**
 * A steady period is this many times longer if the API states its limit correctly. The API then also states a change,
 * so that a raise costs more than it gains.
 */
const ADVISED_FACTOR = 3;

/**
 * Steps of a raise, as shares of the rate. In a long window the first step has to use up the window shortly before its
 * end. `news`: a raise that is refused at this step or before it has found no new limit.
 */
export const STEP = { first: 0.03, firstLong: 0.12, advised: 0.1, factor: 3, max: 1, news: 0.5 } as const;

/** True if the step is tried for a whole long window, because a shorter trial would prove nothing. */
export const isWholeStep = (step: number): boolean => step === STEP.firstLong;

/** The step after an accepted one. */
export const nextStep = (step: number, inLongWindow: boolean): number =>
  inLongWindow ? STEP.max : Math.min(STEP.max, step * STEP.factor);

/** What the length of a trial depends on. `windowMs` is 0 if the limit has no long window. */
interface TrialContext {
  rate: number;
  refusalCostMs: number;
  windowMs: number;
  /** How long a burst can carry a rate that the limit does not allow; 0 if this is not known. */
  burstMs: number;
  isAdvised: boolean;
  /** The value of `isWholeStep`. */
  isWhole: boolean;
}

/**
 * The length of a trial in milliseconds. It contains a whole window of one second, and some requests at this rate. If the
 * limit has a long window, the trial lasts for at least a part of that window. If the limit is a bucket, a burst is used up
 * during the trial.
 */
function trialMs({ rate, windowMs, burstMs, isWhole }: TrialContext): number {
  const byRequests = (1000 * TRIAL.requests) / rate;
  const enoughMs = Math.max(byRequests, burstMs);
  return Math.max(TRIAL.ms, Math.min(TRIAL.msMax, enoughMs), windowMs * (isWhole ? 1 : TRIAL.ofWindow));
}

/**
 * The length of a steady period between two raises, in milliseconds. It has room for a number of requests and for many times the
 * cost of a refusal, so that refusals and the stops after them waste little. Because of the upper bound of this length, a limit that
 * was raised is found in about half a minute.
 */
function steadyMs({ rate, refusalCostMs, windowMs, isAdvised }: TrialContext): number {
  const factor = isAdvised ? ADVISED_FACTOR : 1;
  const long = Math.max(factor * STEADY.refusalCosts * refusalCostMs, (1000 * STEADY.requests) / rate);
  return Math.max(STEADY.msMin, Math.min(factor * STEADY.msMax, long), windowMs * STEADY.ofWindow);
}
