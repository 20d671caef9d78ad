// Decides what a short stop proves in each phase, and which phase follows. Long windows have other rules
// (long-window.ts).

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
import type { SearchState } from './search-state.ts';
import type { EndedStop } from './stop-history.ts';
import { STEP } from './trial-length.ts';

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

export function startSharing({ streak, schedule }: SearchState, refusedRate: number, now: number): void {
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
export function afterShortStop(state: SearchState, stop: EndedStop, refusedRate: number, now: number): void {
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
