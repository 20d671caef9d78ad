// Looks for the highest rate that a limit takes, from refusals alone.
//
//             refused                 found                  for a while
//   opening ───────────► searching ───────────► holding ────────────────► probing
//                            ▲                   │ ▲  ▲                      │
//                            │     refused twice │ │  └────── refused ───────┤
//                            ├───────────────────┘ │                         │
//                            └─────────────────────┼─────────────────────────┘ far above what was held
//                                 refused again    │ now and then
//                               and again: crowded ┘
//
// Opening: nothing is known, and nothing is paced. Searching: a rate between one that was taken and one that was refused is
// on trial, nearer to the lower one, since to be refused costs more than to be slow. Where none is proven, what was
// accepted from reopening to reopening stands in for it: of a window that is its limit, and of a bucket not much more.
// Holding: a little below the proven rate. Probing: up in steps that grow until a refusal, so that a limit which was raised
// tenfold is found within half a minute; a refusal soon after costs little of what was held. Crowded: others are there, and
// shares have to become equal (rate-crowd.ts).
//
// A bucket refuses for the time of one request, a window of a second for less than that; what refuses for longer has a long
// window. There a rate is tried for a whole window, and what was accepted in a whole cycle is held. After the first long
// block everyone that shares the limit climbs in the same way from the same small rate, and as the block has ended for all
// of them at once they come to equal shares.
//
// What it builds on: multiplicative decrease, since with that shares of several clients move towards each other (Chiu and
// Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance", 1989); gains that shrink with the root
// of the rate (Bansal and Balakrishnan, "Binomial Congestion Control Algorithms", 2001); a plateau below the last refusal
// and growth that accelerates beyond it (CUBIC, RFC 9438).

import { type Block, createResidue } from './rate-block.ts';
import { createCrowd } from './rate-crowd.ts';
import { createRateCycle, rampRate } from './rate-cycle.ts';
import { holdMs, isWholeStep, nextStep, STEP, trialMs } from './rate-trial.ts';
import {
  acceptedIn,
  afterLongBlock,
  atEndOfWindow,
  firstRange,
  gained,
  hasDropped,
  isGain,
  isLeap,
  RATE_MIN,
  rangeAfterDrop,
  slipped,
} from './rate-worth.ts';

/** Pure: times are ticks of a clock, rates are requests per second. */
export interface RateSearch {
  /** The rate that is paced at now; infinite while nothing is known. */
  rate(now: number): number;
  /** Whether the limit is known to have a window of many seconds. */
  hasLongWindow(): boolean;
  /** A request that was sent then was accepted. Rates are on trial only while requests go out freely. */
  accepted(sentAt: number, now: number, isOpen: boolean): void;
  /** Nothing was heard for a while, and not because of a block. */
  paused(now: number): void;
  /** A block is over. */
  reopened(block: Block, now: number): void;
  /** The server states this rate, or states another one than before. */
  advised(rate: number, now: number): void;
}

/** Of a long window, where it was measured. */
const RATE_MIN_LONG = 1 / 60;

/** The interval between proven and refused is narrow enough. */
const FOUND = 1.06;
/** Of the way from the proven rate to the refused one, on a logarithmic scale. */
const AFTER_REFUSAL = 0.25;
const AFTER_TRIAL = 0.4;

/** The lower end is not below this share of the refused rate: others may have taken what there was. */
const FALL = 0.25;

/** Rests differ by this share: those who share a limit and were stopped together shall not probe together. */
const REST_SPREAD = 0.5;

/** The share of the proven rate that is held. */
const HOLD_AT = 0.985;
/** Where a probe has gained something, and it is refused later, that counts for half a strike. */
const GAIN_STRIKE = 0.5;
const UNSURE_STRIKE = 0.75;
/** Among others so many refusals in a row are no sign of a limit that has dropped. */
const ROW_MAX = 3;
/** Whoever is refused before so many requests has learnt nothing of the limit, and opens again. */
const OPENING = { requests: 6, triesMax: 3, ms: 10_000 };
/** Below this share of it, what was requested was not limited by the rate. */
const LIMITED = 0.7;
/** Whoever hears nothing for so long sends nothing, or less than it may. */
const IDLE_MS = 5000;
/** How far a rate may be from the advised one for the advice to be right. */
const ADVICE_OFF = 0.15;
/** In a long window: the share of the rate that is held below a second limit, and for how many windows refusals in a row say that it is none. */
const LONG = { belowSecond: 0.85, rowOfCycle: 1.5, refilled: 0.9 };

/** The time in which what goes out while a window refills grows e-fold: no faster than the ramp which filled it. */
const REFILL_MS = 6000;

type Phase = 'opening' | 'ramping' | 'searching' | 'holding' | 'probing' | 'crowded';

export function createRateSearch(random: () => number): RateSearch {
  const cycle = createRateCycle();
  const residue = createResidue();
  const crowd = createCrowd();
  let phase: Phase = 'opening';
  let rate = Number.POSITIVE_INFINITY;
  /** The rate that is held, or the lower end of the search. */
  let low = 0;
  let high = Number.POSITIVE_INFINITY;
  /** Nothing was refused at the upper end as yet. */
  let isHighGuessed = false;
  /** The lower end where it passed a trial; 0 where it was inferred. */
  let proven = 0;
  /** The rate that was held for a whole rest. */
  let sure = 0;
  let trial = { at: 0, accepted: 0 };
  let step: number = STEP.first;
  /** What a refusal costs, in milliseconds; 0 before there was one. */
  let costMs = 0;
  /** The window, where it is a long one; 0 where it is not. */
  let cycleMs = 0;
  let restFactor = 1;
  let slips = 0;
  let tries = 0;
  let rampFrom = 0;
  /** Since when a window that slides gives back what it took, as slowly as it took it. */
  let refill: { rate: number; at: number } | null = null;
  /** When a request was accepted last. */
  let takenAt = 0;
  let advice: number | null = null;
  /** A rate near the advised one was held, and one beyond it was refused. */
  let adviceHolds = false;

  function rateAt(now: number): number {
    if (refill !== null) return Math.min(rate, refill.rate * Math.exp((now - refill.at) / REFILL_MS));
    if (phase !== 'ramping' && phase !== 'crowded') return rate;
    // What rises with time does so only as long as it is used.
    const at = Math.min(now, takenAt + IDLE_MS);
    return phase === 'ramping' ? rampRate(at - rampFrom) : Math.max(RATE_MIN, crowd.rate(at));
  }

  function taken(now: number): void {
    const idleMs = Math.max(0, now - takenAt - IDLE_MS);
    takenAt = now;
    rampFrom += idleMs;
    crowd.rested(idleMs);
  }

  function begin(next: Phase, at: number, now: number): void {
    phase = next;
    refill = null;
    rate = Math.max(cycleMs > 0 ? RATE_MIN_LONG : RATE_MIN, at);
    trial = { at: now, accepted: 0 };
  }

  function hold(now: number): void {
    step = cycleMs > 0 ? STEP.firstLong : STEP.first;
    restFactor = cycleMs > 0 ? 1 : 1 + REST_SPREAD * (random() - 0.5);
    begin('holding', low * HOLD_AT, now);
  }

  function probe(from: number, by: number, now: number): void {
    step = by;
    begin('probing', from * (1 + by), now);
  }

  function seek(part: number, now: number): void {
    if (high / low >= FOUND) begin('searching', low ** (1 - part) * high ** part, now);
    else if (isHighGuessed) {
      isHighGuessed = false;
      sure = low;
      probe(low, STEP.advised, now);
    } else hold(now);
  }

  function enterCrowd(refusedRate: number, now: number): void {
    crowd.enter(refusedRate, now);
    residue.clear();
    begin('crowded', refusedRate, now);
  }

  /** How long the rate on trial stays so. */
  function lengthMs(): number {
    const isAdvised = adviceHolds && advice !== null && Math.abs(rate / advice - 1) < ADVICE_OFF;
    const tried = { rate, costMs, cycleMs, isAdvised, isWhole: phase === 'probing' && isWholeStep(step) };
    return phase === 'holding' ? holdMs(tried) * restFactor : trialMs(tried);
  }

  /** The rate on trial was taken for as long as it had to be. */
  function pass(now: number): void {
    switch (phase) {
      case 'searching':
        low = rate;
        proven = rate;
        seek(AFTER_TRIAL, now);
        break;
      case 'holding':
        slips = 0;
        crowd.calm();
        sure = low;
        high = Number.POSITIVE_INFINITY;
        probe(low, step, now);
        break;
      case 'probing':
        if (cycleMs === 0 || isWholeStep(step)) {
          low = rate;
          proven = rate;
        }
        probe(rate, nextStep(step, cycleMs > 0), now);
        break;
      case 'opening':
      case 'ramping':
      case 'crowded':
        break;
    }
  }

  function afterLong(block: Block, refusedRate: number, now: number): void {
    const isFirst = cycleMs === 0;
    const seen = cycle.end(block, now);
    cycleMs = seen.cycleMs;
    if (isFirst) {
      phase = 'ramping';
      rampFrom = now;
      return;
    }
    if (phase === 'ramping' && block.accepted === 0) return;
    const held = phase === 'holding' || phase === 'probing' ? Math.min(low, refusedRate) : 0;
    low = afterLongBlock(held, seen.rate, phase === 'probing');
    sure = low;
    hold(now);
  }

  /** A short block of a limit with a long window: its end was met, or a second limit. */
  function inLongWindow(block: Block, refusedRate: number, now: number): void {
    const { goodput, blockMs } = block;
    const present = goodput(cycleMs);
    if (phase === 'holding' && !isLeap(low, sure) && residue.lastsMs(now) > LONG.rowOfCycle * cycleMs) {
      // It has no long window after all.
      cycleMs = 0;
      enterCrowd(refusedRate, now);
      return;
    }
    const isAgain = residue.count() > 0;
    const isRefilling = refusedRate < LONG.refilled * low;
    const passed = step === STEP.max ? refusedRate / (1 + step) : 0;
    if (phase === 'probing') low = Math.max(low, present, passed);
    else if (!isRefilling) low = atEndOfWindow(low, sure, present, !isAgain);
    residue.add(now - blockMs);
    hold(now);
    if ((isAgain || isRefilling) && !isLeap(low, sure)) refill = { rate: Math.max(1, acceptedIn(block)), at: now };
  }

  function afterShort(block: Block, refusedRate: number, now: number): void {
    costMs = costMs === 0 ? block.blockMs : (costMs + block.blockMs) / 2;
    if (cycleMs > 0 && phase !== 'ramping') inLongWindow(block, refusedRate, now);
    else if (phase === 'opening' || phase === 'ramping') opened(block, refusedRate, now);
    else if (phase === 'searching') searched(block, refusedRate, now);
    else if (phase === 'probing') probed(block, refusedRate, now);
    else if (phase === 'holding') held(block, refusedRate, now);
    else amongOthers(block, refusedRate, now);
  }

  function opened(block: Block, refusedRate: number, now: number): void {
    const isEarly = block.accepted < OPENING.requests;
    if (isEarly && tries < OPENING.triesMax) tries += 1;
    else if (isEarly) {
      // A handful at once is too much for it: nothing is known but what it has taken so far.
      cycleMs = 0;
      low = Math.max(RATE_MIN, block.goodput(OPENING.ms));
      probe(low, STEP.max, now);
    } else if (phase === 'ramping') {
      // There is a second limit. All who share it have met it at this rate.
      low = refusedRate * LONG.belowSecond;
      sure = low;
      hold(now);
    } else {
      ({ low, high } = firstRange(block));
      seek(AFTER_REFUSAL, now);
    }
  }

  function searched(block: Block, refusedRate: number, now: number): void {
    const soon = residue.isSoon(block);
    high = Math.min(refusedRate, high);
    isHighGuessed = false;
    if (proven >= high * 0.98 || (soon && proven > high * 0.9)) {
      proven = 0;
      crowd.strike();
    }
    if (crowd.isSeen()) {
      enterCrowd(refusedRate, now);
      return;
    }
    low = Math.max(RATE_MIN / 2, proven, FALL * high, Math.min(acceptedIn(block), high * 0.97));
    seek(AFTER_REFUSAL, now);
  }

  function probed(block: Block, refusedRate: number, now: number): void {
    const soon = residue.isSoon(block);
    if (sure === 0 && soon && residue.count() < OPENING.triesMax) {
      // It began with the advice, and what went out before that may be in the way.
      residue.add(now - block.blockMs);
      begin('probing', rate, now);
      return;
    }
    high = refusedRate;
    if (sure === 0) {
      low = Math.max(RATE_MIN / 2, proven, Math.min(acceptedIn(block), high * 0.9));
      seek(AFTER_REFUSAL, now);
      return;
    }
    adviceHolds = true;
    if (step > STEP.news) {
      low /= 1 + step / STEP.factor;
      proven = low;
      seek(AFTER_REFUSAL, now);
      return;
    }
    low = gained(low, sure);
    hold(now);
  }

  function held(block: Block, refusedRate: number, now: number): void {
    const soon = residue.isSoon(block);
    if (soon && residue.count() === 0) {
      residue.add(now - block.blockMs);
      begin('holding', rate, now);
    } else if (soon && hasDropped(refusedRate, residue.rate(now))) drop(refusedRate, now);
    else slip(refusedRate, now);
  }

  /** Refused at a rate that was held: it was too high by a little, or others are there. */
  function slip(refusedRate: number, now: number): void {
    residue.clear();
    const givesBack = isGain(low, sure) && crowd.strikes() < 1;
    crowd.strike(givesBack ? GAIN_STRIKE : sure === 0 ? UNSURE_STRIKE : 1);
    if (crowd.isSeen()) {
      enterCrowd(refusedRate, now);
      return;
    }
    if (givesBack) low = sure;
    else {
      low = slipped(low, slips);
      slips += 1;
    }
    hold(now);
  }

  /** Refused again and again, far below what was held: the limit is another one. */
  function drop(refusedRate: number, now: number): void {
    proven = 0;
    ({ low, high } = rangeAfterDrop(refusedRate, residue.rate(now)));
    isHighGuessed = true;
    residue.clear();
    crowd.forget();
    seek(AFTER_REFUSAL, now);
  }

  function amongOthers(block: Block, refusedRate: number, now: number): void {
    const soon = residue.isSoon(block);
    const isFirst = residue.count() === 0;
    if (soon) residue.add(now - block.blockMs);
    if (soon && isFirst) {
      crowd.goOn(refusedRate, now);
      return;
    }
    if (residue.count() > ROW_MAX && hasDropped(refusedRate, residue.rate(now))) {
      drop(refusedRate, now);
      return;
    }
    const still = crowd.giveUp(refusedRate, block, now);
    low = still ?? crowd.rate(now);
    sure = low;
    if (still === null) return;
    slips = 0;
    hold(now);
  }

  return {
    rate: rateAt,
    hasLongWindow: () => cycleMs > 0,

    accepted(sentAt, now, isOpen) {
      taken(now);
      cycle.accepted(sentAt);
      residue.accepted(now, isOpen);
      if (!isOpen || sentAt < trial.at || phase === 'opening' || phase === 'ramping' || phase === 'crowded') return;
      trial.accepted += 1;
      const ms = now - trial.at;
      if (ms < lengthMs()) return;
      if (trial.accepted < (LIMITED * rate * ms) / 1000) trial = { at: now, accepted: 0 };
      else pass(now);
    },

    paused(now) {
      cycle.restart(now);
    },

    reopened(block, now) {
      const refusedRate = rateAt(now - block.blockMs);
      residue.reopened(now);
      if (block.isLong) afterLong(block, refusedRate, now);
      else afterShort(block, refusedRate, now);
    },

    advised(next, now) {
      const before = advice;
      advice = next;
      if (before !== null && phase !== 'opening' && phase !== 'ramping') {
        // However many share the limit and whatever was wrong with the advice: it has changed by this much.
        low = Math.max(RATE_MIN, (phase === 'crowded' ? crowd.rate(now) : low) * (next / before));
      } else if (phase === 'opening') low = Math.max(RATE_MIN, next);
      else return;
      high = Number.POSITIVE_INFINITY;
      step = before === null ? STEP.advised : STEP.first;
      sure = before === null ? 0 : low;
      proven = 0;
      adviceHolds = false;
      begin('probing', low, now);
    },
  };
}
