// Searches for the highest rate that a limit allows. Refusals are the only evidence.
//
//   phase      event                                                      next phase
//   unpaced    the first refusal                                          searching
//   searching  the accepted and the refused rate are close                steady
//   steady     no refusal for a whole steady period                       raising
//   steady     refused twice in a row, and far less was accepted          searching
//   steady     refused again and again                                    sharing
//   raising    refused                                                    steady
//   raising    refused far above the steady rate                          searching
//   sharing    the same number of requests is accepted in each round      steady
//   any        the first long stop                                        ramping
//   ramping    the next stop                                              steady
//
// - unpaced: no limit is known, and requests are not paced.
// - searching: a rate between an accepted and a refused one is on trial. It is closer to the accepted one, because a refusal
//   costs more than a rate that is too low. If no rate is proven yet, the number of accepted requests per second since the last
//   reopening takes the place of the proven rate. This number is the limit of a window, and little more than the limit of a bucket.
//   A bucket accepts a rate that is too high for as long as it holds requests: in the time t at most b + r·t of them. The requests
//   before the first refusal of all show how large the burst b is at most. If the burst is small, a trial lasts until the burst is
//   used up, and proves only what the burst does not explain.
// - steady: the rate is a little below the proven one.
// - raising: the rate goes up in growing steps until a refusal. A limit that was raised tenfold is found within half a minute. A
//   refusal soon after the first step costs little of the steady rate.
// - sharing: there are other clients, and the shares of all have to become equal (fair-share.ts).
// - ramping: after the first long stop every client climbs in the same way (long-window.ts).
//
// A bucket refuses for the time of one request, and a window of one second for less than that. A limit that refuses for longer
// has a long window.
//
// Sources: multiplicative decrease, which moves the shares of several clients towards each other (Chiu and Jain, "Analysis of
// the Increase and Decrease Algorithms for Congestion Avoidance", 1989); gains that shrink with the root of the rate (Bansal and
// Balakrishnan, "Binomial Congestion Control Algorithms", 2001); a plateau below the last refusal and growth that accelerates
// beyond it (CUBIC, RFC 9438); the bound b + r·t (Cruz, "A Calculus for Network Delay", 1991).

import { createFairShare, type FairShare } from './fair-share.ts';
import { createLongWindow } from './long-window.ts';
import {
  acceptedPerSecond,
  firstRange,
  hasDropped,
  isRaiseGain,
  keptAfterRaise,
  loweredRate,
  RATE_MIN,
  rangeAfterDrop,
} from './rate-estimates.ts';
import {
  createRateSchedule,
  isWholeStep,
  type LimitEstimate,
  nextStep,
  type RateSchedule,
  STEP,
} from './rate-schedule.ts';
import { createRefusalStreak, type EndedStop, type RefusalStreak } from './stop.ts';

/** The next trial after an accepted one: this part of the way from the lower bound to the upper one, on a logarithmic scale. */
const AFTER_TRIAL = 0.4;
/** The advice is correct if the rate differs from the advised one by less than this share. */
const ADVICE_OFF = 0.15;

/** Pure: times are ticks of a clock, rates are requests per second. */
export function createRateSearch(random: () => number) {
  const state = createSearchState(random);
  const { limit, streak, schedule } = state;
  const longWindow = createLongWindow(limit, schedule, streak);

  /** Handles a short stop. The length of the stop is the cost of a refusal. */
  function shortStop(stop: EndedStop, refusedRate: number, now: number): void {
    const { refusalCostMs } = limit;
    limit.refusalCostMs = refusalCostMs === 0 ? stop.stopMs : (refusalCostMs + stop.stopMs) / 2;
    if (limit.windowMs === 0 || schedule.phase() === 'ramping') afterShortStop(state, stop, refusedRate, now);
    else if (!longWindow.afterShortStop(stop, refusedRate, now)) startSharing(state, refusedRate, now);
  }

  return {
    /** The present rate; infinite while no limit is known. */
    rate: (now: number) => schedule.rate(now),
    /** True if the limit is known to have a window of many seconds. */
    hasLongWindow: () => limit.windowMs > 0,

    /** Counts an accepted request. A rate is on trial only while requests are sent; `isOpen` is true then. */
    accepted(sentAt: number, now: number, isOpen: boolean) {
      if (isOpen) schedule.countUse(now);
      longWindow.accepted(sentAt);
      streak.accepted(now, isOpen);
      if (isOpen && schedule.countTrial(sentAt, isAdvised(state, schedule.rate(now)), now)) passTrial(state, now);
    },

    /** Call it when no answer has come for a time, and no stop was the reason. */
    paused: (now: number) => longWindow.paused(now),

    /** A stop has ended. */
    reopened(stop: EndedStop, now: number) {
      const refusedRate = schedule.rate(now - stop.stopMs);
      streak.reopened(now);
      if (stop.isLong) longWindow.afterLongStop(stop, refusedRate, now);
      else shortStop(stop, refusedRate, now);
      schedule.reopened(now);
    },

    /** The server states this rate for the first time, or in place of another one. */
    advised: (rate: number, now: number) => followAdvice(state, rate, now),
  };
}

/** True if the server has stated this rate and its advice is known to be correct. */
function isAdvised({ advice }: SearchState, rate: number): boolean {
  return advice.isConfirmed && advice.rate !== null && Math.abs(rate / advice.rate - 1) < ADVICE_OFF;
}

/** The rate on trial was accepted for the whole trial. */
function passTrial(state: SearchState, now: number): void {
  const { limit, share, schedule } = state;
  const rate = schedule.rate(now);
  const isLong = limit.windowMs > 0;
  switch (schedule.phase()) {
    case 'searching':
      limit.low = rate;
      limit.provenLow = schedule.provenRate(now);
      schedule.startSearch(AFTER_TRIAL, now);
      break;
    case 'steady':
      state.steadyRefusals = 0;
      share.steadyPeriodPassed(limit.low);
      limit.steadyRate = limit.low;
      limit.high = Number.POSITIVE_INFINITY;
      schedule.startRaise(limit.low, schedule.step(), now);
      break;
    case 'raising':
      if (!isLong || isWholeStep(schedule.step())) {
        limit.low = rate;
        limit.provenLow = rate;
      }
      schedule.startRaise(rate, nextStep(schedule.step(), isLong), now);
      break;
    case 'unpaced':
    case 'ramping':
    case 'sharing':
      break;
  }
}

function followAdvice(state: SearchState, next: number, now: number): void {
  const { limit, share, schedule, advice } = state;
  const before = advice.rate;
  const phase = schedule.phase();
  advice.rate = next;
  if (before !== null && phase !== 'unpaced' && phase !== 'ramping') {
    // A difference of this factor shows that the limit has changed. Other clients and wrong advice explain smaller
    // differences.
    limit.low = Math.max(RATE_MIN, (phase === 'sharing' ? schedule.rate(now) : limit.low) * (next / before));
  } else if (phase === 'unpaced') limit.low = Math.max(RATE_MIN, next);
  else return;
  limit.high = Number.POSITIVE_INFINITY;
  limit.steadyRate = 0;
  limit.provenLow = 0;
  share.reset();
  advice.isConfirmed = false;
  schedule.startAdvised(limit.low, before === null ? STEP.advised : STEP.first, now);
}

/** Everything that the search for a rate remembers. */
interface SearchState {
  limit: LimitEstimate;
  streak: RefusalStreak;
  share: FairShare;
  schedule: RateSchedule;
  /** Refusals in a row at a steady rate. */
  steadyRefusals: number;
  /** Stops in a row that came before enough requests were accepted to learn the limit. */
  earlyStops: number;
  advice: {
    /** The rate that the server states; null if it states none. */
    rate: number | null;
    /** True if a rate near the advised one was steady and a higher one was refused. */
    isConfirmed: boolean;
  };
}

/** @param random numbers in [0, 1) */
function createSearchState(random: () => number): SearchState {
  const limit: LimitEstimate = {
    low: 0,
    high: Number.POSITIVE_INFINITY,
    isHighUntested: false,
    provenLow: 0,
    steadyRate: 0,
    refusalCostMs: 0,
    windowMs: 0,
    burst: 0,
  };
  const share = createFairShare();
  return {
    limit,
    streak: createRefusalStreak(),
    share,
    schedule: createRateSchedule(limit, share, random),
    steadyRefusals: 0,
    earlyStops: 0,
    advice: { rate: null, isConfirmed: false },
  };
}

// What a short stop proves in each phase, and which phase follows. Long windows have other rules (long-window.ts).

/** The next trial after a refusal: this part of the way from the lower bound to the upper one, on a logarithmic scale. */
const AFTER_REFUSAL = 0.25;
/** The lower bound is at least this share of the refused rate, because other clients may have caused the refusal. */
const LOW_MIN = 0.25;
/**
 * The weight of a refusal that has another possible cause: the search gives back a part of an earlier raise, or no rate
 * was steady yet.
 */
const WEIGHT = { gained: 0.5, unsure: 0.75 };
/** While the limit is shared, up to this many refusals in a row do not prove that the limit has dropped. */
const STREAK_MAX = 3;
/**
 * A stop after fewer requests than this shows nothing about the limit. The search then begins again, a bounded number
 * of times.
 */
const FIRST = { requests: 6, triesMax: 3, ms: 10_000 };
/** The share of the rate that is kept below a second limit. */
const BELOW_SECOND = 0.85;

function startSharing({ streak, schedule }: SearchState, refusedRate: number, now: number): void {
  streak.clear();
  schedule.startSharing(refusedRate, now);
}

/** Begins to share if there is enough evidence of other clients. @returns whether it does */
function sharesWithOthers(state: SearchState, refusedRate: number, now: number): boolean {
  const hasOthers = state.share.hasOthers();
  if (hasOthers) startSharing(state, refusedRate, now);
  return hasOthers;
}

/** Handles a short stop in a limit without a long window, or while the rate climbs. */
function afterShortStop(state: SearchState, stop: EndedStop, refusedRate: number, now: number): void {
  switch (state.schedule.phase()) {
    case 'unpaced':
    case 'ramping':
      return refusedAtFirst(state, stop, refusedRate, now);
    case 'searching':
      return refusedInSearch(state, stop, refusedRate, now);
    case 'raising':
      return refusedInRaise(state, stop, refusedRate, now);
    case 'steady':
      return refusedWhileSteady(state, stop, refusedRate, now);
    case 'sharing':
      return refusedWhileSharing(state, stop, refusedRate, now);
  }
}

function refusedAtFirst(state: SearchState, stop: EndedStop, refusedRate: number, now: number): void {
  const { limit, schedule } = state;
  const isEarly = stop.accepted < FIRST.requests;
  if (isEarly && state.earlyStops < FIRST.triesMax) state.earlyStops += 1;
  else if (isEarly) {
    // The API refuses again after a few requests. The only known rate is the one that it has accepted so far.
    limit.windowMs = 0;
    limit.low = Math.max(RATE_MIN, stop.goodput(FIRST.ms));
    schedule.startRaise(limit.low, STEP.max, now);
  } else if (schedule.phase() === 'ramping') {
    // There is a second limit. All clients of the limit reach the second one at this rate.
    limit.low = refusedRate * BELOW_SECOND;
    limit.steadyRate = limit.low;
    schedule.startSteady(now);
  } else {
    Object.assign(limit, firstRange(stop), { burst: stop.accepted });
    schedule.startSearch(AFTER_REFUSAL, now);
  }
}

function refusedInSearch(state: SearchState, stop: EndedStop, refusedRate: number, now: number): void {
  const { limit, streak, share, schedule } = state;
  const isEarly = streak.isEarly(stop);
  limit.high = Math.min(refusedRate, limit.high);
  limit.isHighUntested = false;
  if (limit.provenLow >= limit.high * 0.98 || (isEarly && limit.provenLow > limit.high * 0.9)) {
    limit.provenLow = 0;
    share.addEvidence();
  }
  if (sharesWithOthers(state, refusedRate, now)) return;
  const accepted = Math.min(acceptedPerSecond(stop), limit.high * 0.97);
  limit.low = Math.max(RATE_MIN / 2, limit.provenLow, LOW_MIN * limit.high, accepted);
  schedule.startSearch(AFTER_REFUSAL, now);
}

function refusedInRaise(state: SearchState, stop: EndedStop, refusedRate: number, now: number): void {
  const { limit, streak, share, schedule } = state;
  const isEarly = streak.isEarly(stop);
  if (limit.steadyRate === 0 && isEarly && streak.count() < FIRST.triesMax) {
    // The raise began at the advised rate. Requests that were sent before may have caused the refusal.
    streak.add(now - stop.stopMs);
    schedule.restartTrial(now);
    return;
  }
  limit.high = refusedRate;
  if (limit.steadyRate === 0) {
    limit.low = Math.max(RATE_MIN / 2, limit.provenLow, Math.min(acceptedPerSecond(stop), limit.high * 0.9));
    schedule.startSearch(AFTER_REFUSAL, now);
    return;
  }
  state.advice.isConfirmed = true;
  const step = schedule.step();
  if (step > STEP.news) {
    limit.low /= 1 + step / STEP.factor;
    limit.provenLow = limit.low;
    limit.steadyRate = 0;
    // The burst of the new limit is not known.
    limit.burst = 0;
    share.reset();
    schedule.startSearch(AFTER_REFUSAL, now);
    return;
  }
  share.raiseRefused(limit.low);
  if (sharesWithOthers(state, limit.steadyRate, now)) return;
  limit.low = keptAfterRaise(limit.low, limit.steadyRate);
  schedule.startSteady(now);
}

function refusedWhileSteady(state: SearchState, stop: EndedStop, refusedRate: number, now: number): void {
  const { streak, schedule } = state;
  const isEarly = streak.isEarly(stop);
  if (isEarly && streak.count() === 0) {
    streak.add(now - stop.stopMs);
    schedule.restartTrial(now);
  } else if (isEarly && hasDropped(refusedRate, streak.acceptedRate(now))) searchLower(state, refusedRate, now);
  else lowerSteadyRate(state, refusedRate, now);
}

/** Lowers a steady rate that was refused: it was a little too high, or there are other clients. */
function lowerSteadyRate(state: SearchState, refusedRate: number, now: number): void {
  const { limit, streak, share, schedule } = state;
  streak.clear();
  const givesGainBack = isRaiseGain(limit.low, limit.steadyRate) && share.evidence() < 1;
  share.addEvidence(givesGainBack ? WEIGHT.gained : limit.steadyRate === 0 ? WEIGHT.unsure : 1, limit.low);
  if (sharesWithOthers(state, refusedRate, now)) return;
  if (givesGainBack) limit.low = limit.steadyRate;
  else {
    limit.low = loweredRate(limit.low, state.steadyRefusals);
    state.steadyRefusals += 1;
  }
  schedule.startSteady(now);
}

/** Searches far below the refused rate: refusals in a row have proven that the limit has dropped. */
function searchLower({ limit, streak, share, schedule }: SearchState, refusedRate: number, now: number): void {
  limit.provenLow = 0;
  Object.assign(limit, rangeAfterDrop(refusedRate, streak.acceptedRate(now)));
  limit.isHighUntested = true;
  streak.clear();
  share.reset();
  schedule.startSearch(AFTER_REFUSAL, now);
}

function refusedWhileSharing(state: SearchState, stop: EndedStop, refusedRate: number, now: number): void {
  const { limit, streak, share, schedule } = state;
  const isEarly = streak.isEarly(stop);
  const isFirst = streak.count() === 0;
  if (isEarly) streak.add(now - stop.stopMs);
  if (isEarly && isFirst) {
    share.continueFrom(refusedRate, now);
    return;
  }
  if (streak.count() > STREAK_MAX && hasDropped(refusedRate, streak.acceptedRate(now))) {
    searchLower(state, refusedRate, now);
    return;
  }
  const steady = share.reduce(refusedRate, stop, now);
  limit.low = steady ?? share.rate(now);
  limit.steadyRate = limit.low;
  if (steady === null) return;
  state.steadyRefusals = 0;
  schedule.startSteady(now);
}
