// Looks for the highest rate that a limit takes, from refusals alone.
//
//             refused                 found                  for a while
//   opening ───────────► searching ───────────► holding ────────────────► probing
//                            ▲                   │ ▲  ▲                      │
//                            │     refused twice │ │  └────── refused ───────┤
//                            ├───────────────────┘ │                         │
//                            └─────────────────────┼─────────────────────────┘ far above what was held
//                                 refused again    │ when the same is taken
//                               and again: crowded ┘ from refusal to refusal
//
// Opening: nothing is known, and nothing is paced. Searching: a rate between one that was taken and one that was refused is
// on trial, nearer to the lower one, since to be refused costs more than to be slow. Where none is proven, what was
// accepted from reopening to reopening stands in for it: of a window that is its limit, and of a bucket not much more.
// Holding: a little below the proven rate. Probing: up in steps that grow until a refusal, so that a limit which was raised
// tenfold is found within half a minute; a refusal soon after costs little of what was held. Crowded: others are there, and
// shares have to become equal (rate-crowd.ts).
//
// A bucket refuses for the time of one request, a window of a second for less than that; what refuses for longer has a long
// window (rate-long.ts). Here it is judged what a refusal proves; the moves that follow are in rate-course.ts.
//
// What it builds on: multiplicative decrease, since with that shares of several clients move towards each other (Chiu and
// Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance", 1989); gains that shrink with the root
// of the rate (Bansal and Balakrishnan, "Binomial Congestion Control Algorithms", 2001); a plateau below the last refusal
// and growth that accelerates beyond it (CUBIC, RFC 9438).

import { type Block, createResidue } from './refusal-streak.ts';
import { createCourse, type Known } from './schedule.ts';
import { createCrowd } from './fair-share.ts';
import { createLongWindow } from './long-window.ts';
import { isWholeStep, nextStep, STEP } from './trial-length.ts';
import { acceptedIn, firstRange, gained, hasDropped, isGain, RATE_MIN, rangeAfterDrop, slipped } from './rate-estimates.ts';

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

/** Of the way from the proven rate to the refused one, on a logarithmic scale. */
const AFTER_REFUSAL = 0.25;
const AFTER_TRIAL = 0.4;
/** The lower end is not below this share of the refused rate: others may have taken what there was. */
const FALL = 0.25;
/** What a refusal counts for that has another explanation: a probe had gained something, or nothing was held for a whole rest as yet. */
const STRIKE = { gained: 0.5, unsure: 0.75 };
/** Among others so many refusals in a row are no sign of a limit that has dropped. */
const ROW_MAX = 3;
/** Whoever is refused before so many requests has learnt nothing of the limit, and opens again. */
const OPENING = { requests: 6, triesMax: 3, ms: 10_000 };
/** How far a rate may be from the advised one for the advice to be right. */
const ADVICE_OFF = 0.15;
/** The share of the rate that is held below a second limit. */
const BELOW_SECOND = 0.85;

export function createRateSearch(random: () => number): RateSearch {
  const known: Known = {
    low: 0,
    high: Number.POSITIVE_INFINITY,
    isHighGuessed: false,
    proven: 0,
    sure: 0,
    costMs: 0,
    cycleMs: 0,
  };
  const residue = createResidue();
  const crowd = createCrowd();
  const course = createCourse(known, crowd, random);
  const long = createLongWindow(known, course, residue);
  let slips = 0;
  let tries = 0;
  let advice: number | null = null;
  /** A rate near the advised one was held, and one beyond it was refused. */
  let adviceHolds = false;

  function enterCrowd(refusedRate: number, now: number): void {
    residue.clear();
    course.enterCrowd(refusedRate, now);
  }

  function joinsCrowd(rate: number, now: number): boolean {
    if (crowd.isSeen()) enterCrowd(rate, now);
    return crowd.isSeen();
  }

  function isAdvised(rate: number): boolean {
    return adviceHolds && advice !== null && Math.abs(rate / advice - 1) < ADVICE_OFF;
  }

  /** The rate on trial was taken for as long as it had to be. */
  function pass(now: number): void {
    const rate = course.rate(now);
    const isLong = known.cycleMs > 0;
    switch (course.phase()) {
      case 'searching':
        known.low = rate;
        known.proven = rate;
        course.seek(AFTER_TRIAL, now);
        break;
      case 'holding':
        slips = 0;
        crowd.rest(known.low);
        known.sure = known.low;
        known.high = Number.POSITIVE_INFINITY;
        course.probe(known.low, course.step(), now);
        break;
      case 'probing':
        if (!isLong || isWholeStep(course.step())) {
          known.low = rate;
          known.proven = rate;
        }
        course.probe(rate, nextStep(course.step(), isLong), now);
        break;
      case 'opening':
      case 'ramping':
      case 'crowded':
        break;
    }
  }

  function afterShort(block: Block, refusedRate: number, now: number): void {
    const { costMs, cycleMs } = known;
    known.costMs = costMs === 0 ? block.blockMs : (costMs + block.blockMs) / 2;
    const phase = course.phase();
    if (cycleMs > 0 && phase !== 'ramping') {
      if (!long.afterShort(block, refusedRate, now)) enterCrowd(refusedRate, now);
    } else if (phase === 'opening' || phase === 'ramping') opened(block, refusedRate, now);
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
      known.cycleMs = 0;
      known.low = Math.max(RATE_MIN, block.goodput(OPENING.ms));
      course.probe(known.low, STEP.max, now);
    } else if (course.phase() === 'ramping') {
      // There is a second limit. All who share it have met it at this rate.
      known.low = refusedRate * BELOW_SECOND;
      known.sure = known.low;
      course.hold(now);
    } else {
      Object.assign(known, firstRange(block));
      course.seek(AFTER_REFUSAL, now);
    }
  }

  function searched(block: Block, refusedRate: number, now: number): void {
    const soon = residue.isSoon(block);
    known.high = Math.min(refusedRate, known.high);
    known.isHighGuessed = false;
    if (known.proven >= known.high * 0.98 || (soon && known.proven > known.high * 0.9)) {
      known.proven = 0;
      crowd.strike();
    }
    if (joinsCrowd(refusedRate, now)) return;
    known.low = Math.max(RATE_MIN / 2, known.proven, FALL * known.high, Math.min(acceptedIn(block), known.high * 0.97));
    course.seek(AFTER_REFUSAL, now);
  }

  function probed(block: Block, refusedRate: number, now: number): void {
    const soon = residue.isSoon(block);
    if (known.sure === 0 && soon && residue.count() < OPENING.triesMax) {
      // It began with the advice, and what went out before that may be in the way.
      residue.add(now - block.blockMs);
      course.again(now);
      return;
    }
    known.high = refusedRate;
    if (known.sure === 0) {
      known.low = Math.max(RATE_MIN / 2, known.proven, Math.min(acceptedIn(block), known.high * 0.9));
      course.seek(AFTER_REFUSAL, now);
      return;
    }
    adviceHolds = true;
    const step = course.step();
    if (step > STEP.news) {
      known.low /= 1 + step / STEP.factor;
      known.proven = known.low;
      known.sure = 0;
      crowd.forget();
      course.seek(AFTER_REFUSAL, now);
      return;
    }
    crowd.found(known.low);
    if (joinsCrowd(known.sure, now)) return;
    known.low = gained(known.low, known.sure);
    course.hold(now);
  }

  function held(block: Block, refusedRate: number, now: number): void {
    const soon = residue.isSoon(block);
    if (soon && residue.count() === 0) {
      residue.add(now - block.blockMs);
      course.again(now);
    } else if (soon && hasDropped(refusedRate, residue.rate(now))) drop(refusedRate, now);
    else slip(refusedRate, now);
  }

  /** Refused at a rate that was held: it was too high by a little, or others are there. */
  function slip(refusedRate: number, now: number): void {
    residue.clear();
    const givesBack = isGain(known.low, known.sure) && crowd.strikes() < 1;
    crowd.strike(givesBack ? STRIKE.gained : known.sure === 0 ? STRIKE.unsure : 1, known.low);
    if (joinsCrowd(refusedRate, now)) return;
    if (givesBack) known.low = known.sure;
    else {
      known.low = slipped(known.low, slips);
      slips += 1;
    }
    course.hold(now);
  }

  /** Refused again and again, far below what was held: the limit is another one. */
  function drop(refusedRate: number, now: number): void {
    known.proven = 0;
    Object.assign(known, rangeAfterDrop(refusedRate, residue.rate(now)));
    known.isHighGuessed = true;
    residue.clear();
    crowd.forget();
    course.seek(AFTER_REFUSAL, now);
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
    known.low = still ?? crowd.rate(now);
    known.sure = known.low;
    if (still === null) return;
    slips = 0;
    course.hold(now);
  }

  return {
    rate: (now) => course.rate(now),
    hasLongWindow: () => known.cycleMs > 0,

    accepted(sentAt, now, isOpen) {
      if (isOpen) course.used(now);
      long.accepted(sentAt);
      residue.accepted(now, isOpen);
      if (isOpen && course.tried(sentAt, isAdvised(course.rate(now)), now)) pass(now);
    },

    paused: (now) => long.paused(now),

    reopened(block, now) {
      const refusedRate = course.rate(now - block.blockMs);
      residue.reopened(now);
      if (block.isLong) long.afterLong(block, refusedRate, now);
      else afterShort(block, refusedRate, now);
      course.resume(now);
    },

    advised(next, now) {
      const before = advice;
      const phase = course.phase();
      advice = next;
      if (before !== null && phase !== 'opening' && phase !== 'ramping') {
        // However many share the limit and whatever was wrong with the advice: it has changed by this much.
        known.low = Math.max(RATE_MIN, (phase === 'crowded' ? course.rate(now) : known.low) * (next / before));
      } else if (phase === 'opening') known.low = Math.max(RATE_MIN, next);
      else return;
      known.high = Number.POSITIVE_INFINITY;
      known.sure = 0;
      known.proven = 0;
      crowd.forget();
      adviceHolds = false;
      course.expect(known.low, before === null ? STEP.advised : STEP.first, now);
    },
  };
}
