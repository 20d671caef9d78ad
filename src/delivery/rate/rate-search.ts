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

import { createLongWindow } from './long-window.ts';
import { RATE_MIN } from './rate-estimates.ts';
import { createSearchState, type SearchState } from './search-state.ts';
import { afterShortStop, startSharing } from './short-stop.ts';
import type { EndedStop } from './stop-history.ts';
import { isWholeStep, nextStep, STEP } from './trial-length.ts';

/** Pure: times are ticks of a clock, rates are requests per second. */
export interface RateSearch {
  /** The present rate; infinite while no limit is known. */
  rate(now: number): number;
  /** True if the limit is known to have a window of many seconds. */
  hasLongWindow(): boolean;
  /** Counts an accepted request. A rate is on trial only while requests are sent; `isOpen` is true then. */
  accepted(sentAt: number, now: number, isOpen: boolean): void;
  /** Call it when no answer has come for a time, and no stop was the reason. */
  paused(now: number): void;
  /** A stop has ended. */
  reopened(stop: EndedStop, now: number): void;
  /** The server states this rate for the first time, or in place of another one. */
  advised(rate: number, now: number): void;
}

/** The next trial after an accepted one: this part of the way from the lower bound to the upper one, on a logarithmic scale. */
const AFTER_TRIAL = 0.4;
/** The advice is correct if the rate differs from the advised one by less than this share. */
const ADVICE_OFF = 0.15;

export function createRateSearch(random: () => number): RateSearch {
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
    rate: (now) => schedule.rate(now),
    hasLongWindow: () => limit.windowMs > 0,

    accepted(sentAt, now, isOpen) {
      if (isOpen) schedule.countUse(now);
      longWindow.accepted(sentAt);
      streak.accepted(now, isOpen);
      if (isOpen && schedule.countTrial(sentAt, isAdvised(state, schedule.rate(now)), now)) passTrial(state, now);
    },

    paused: (now) => longWindow.paused(now),

    reopened(stop, now) {
      const refusedRate = schedule.rate(now - stop.stopMs);
      streak.reopened(now);
      if (stop.isLong) longWindow.afterLongStop(stop, refusedRate, now);
      else shortStop(stop, refusedRate, now);
      schedule.reopened(now);
    },

    advised: (rate, now) => followAdvice(state, rate, now),
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
