// Looks for the highest rate that a limit takes, from refusals alone.
//
//             refused                 found                  for a while
//   opening ───────────► searching ───────────► holding ────────────────► probing
//                            ▲                   ▲    ▲                      │
//                            │   refused twice   │    └───── refused ────────┤
//                            └───────────────────┼───────────────────────────┘ far above what was held
//                                                └── refused for a long time: hold what was accepted
//
// Opening: nothing is known, and nothing is paced. Searching: a rate between one that was taken and one that was refused is
// on trial, nearer to the lower one, since to be refused costs more than to be slow. Where none is proven, what was
// accepted from reopening to reopening stands in for it: of a window that is its limit, and of a bucket not much more.
// Holding: a little below the proven rate. Probing: up in steps that grow until a refusal, so that a limit which was raised
// tenfold is found within half a minute; a refusal soon after costs little of what was held.
//
// A bucket refuses for the time of one request, a window of a second for less than that; what refuses for longer has a long
// window. There rates on trial tell nothing, and the search takes the rate of a whole cycle instead. After the first long
// block everyone that shares the limit begins again from the same small rate in the same way, and as the block has ended for
// all of them at once they come to equal shares.
//
// What it builds on: multiplicative decrease, since with that shares of several clients move towards each other (Chiu and
// Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance", 1989); gains that shrink with the root
// of the rate (Bansal and Balakrishnan, "Binomial Congestion Control Algorithms", 2001); a plateau below the last refusal
// and growth that accelerates beyond it (CUBIC, RFC 9438).

import { type Block, createResidue } from './rate-block.ts';
import { createRateCycle, rampRate } from './rate-cycle.ts';
import { holdMs, trialMs } from './rate-trial.ts';

/** Pure: times are ticks of a clock, rates are requests per second. */
export interface RateSearch {
  /** The rate that is paced at now; infinite while nothing is known. */
  rate(now: number): number;
  /** A request that was sent then was accepted. Rates are on trial only while requests go out freely. */
  accepted(sentAt: number, now: number, isOpen: boolean): void;
  /** Nothing was heard for a while, and not because of a block. */
  paused(now: number): void;
  /** A block is over. */
  reopened(block: Block, now: number): void;
  /** The server states this rate, or states another one than before. */
  advised(rate: number, now: number): void;
}

const LONG_BLOCK_MS = 3000;
const RATE_MIN = 0.2;
/** Of a long window, where it was measured. */
const RATE_MIN_LONG = 1 / 60;

/** The interval between proven and refused is narrow enough. */
const FOUND = 1.06;
/** Of the way from the proven rate to the refused one, on a logarithmic scale. */
const AFTER_REFUSAL = 0.25;
const AFTER_TRIAL = 0.4;

/** The share of the proven rate that is held. */
const HOLD_AT = 0.985;
const STEP = { first: 0.03, advised: 0.1, factor: 3, factorLong: 2, max: 1 };
/** A probe that was refused before a step of this size has found nothing new. */
const STEP_NEWS = 0.5;
const GAIN = { perRoot: 0.05, max: 0.1 };
const SLIP = { first: 0.02, max: 0.1 };
/** Whoever is refused before so many requests has learnt nothing of the limit, and opens again. */
const OPENING = { requests: 6, triesMax: 3 };
/** Below this share of it, what was requested was not limited by the rate. */
const LIMITED = 0.7;
/** How far a rate may be from the advised one for the advice to be right. */
const ADVICE_OFF = 0.15;

type Phase = 'opening' | 'ramping' | 'searching' | 'holding' | 'probing';

export function createRateSearch(): RateSearch {
  const cycle = createRateCycle();
  const residue = createResidue();
  let phase: Phase = 'opening';
  let rate = Number.POSITIVE_INFINITY;
  /** The rate that is held, or the lower end of the search. */
  let low = 0;
  let high = Number.POSITIVE_INFINITY;
  /** The lower end where it passed a trial; 0 where it was inferred. */
  let proven = 0;
  /** The rate that was held for a whole rest. */
  let sure = 0;
  let trial = { at: 0, accepted: 0 };
  let step = STEP.first;
  /** What a refusal costs, in milliseconds; 0 before there was one. */
  let costMs = 0;
  /** The window, where it is a long one; 0 where it is not. */
  let cycleMs = 0;
  let slips = 0;
  let tries = 0;
  let rampFrom = 0;
  let advice: number | null = null;
  /** A rate near the advised one was held, and one beyond it was refused. */
  let adviceHolds = false;

  const rateAt = (now: number): number => (phase === 'ramping' ? rampRate(now - rampFrom) : rate);

  function begin(next: Phase, at: number, now: number): void {
    phase = next;
    rate = Math.max(cycleMs > 0 ? RATE_MIN_LONG : RATE_MIN, at);
    trial = { at: now, accepted: 0 };
  }

  function hold(now: number): void {
    step = STEP.first;
    begin('holding', low * HOLD_AT, now);
  }

  function seek(part: number, now: number): void {
    if (high / low < FOUND) hold(now);
    else begin('searching', low ** (1 - part) * high ** part, now);
  }

  /** How long the rate on trial stays so. */
  function lengthMs(): number {
    const isAdvised = adviceHolds && advice !== null && Math.abs(rate / advice - 1) < ADVICE_OFF;
    const tried = { rate, costMs, cycleMs, isAdvised };
    return phase === 'holding' ? holdMs(tried) : trialMs(tried);
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
        sure = low;
        high = Number.POSITIVE_INFINITY;
        begin('probing', low * (1 + step), now);
        break;
      case 'probing':
        if (cycleMs === 0) {
          low = rate;
          proven = rate;
        }
        step = Math.min(STEP.max, step * (cycleMs > 0 ? STEP.factorLong : STEP.factor));
        begin('probing', rate * (1 + step), now);
        break;
      case 'opening':
      case 'ramping':
        break;
    }
  }

  function slip(now: number): void {
    low *= 1 - Math.min(SLIP.max, SLIP.first * 2 ** slips);
    slips += 1;
    hold(now);
  }

  function afterLong({ openMs, goodput, accepted }: Block, stoppedRate: number, now: number): void {
    const isFirst = cycleMs === 0;
    const { rate: whole, cycleMs: seenMs } = cycle.end(goodput, now);
    cycleMs = seenMs;
    if (phase === 'opening' && isFirst) {
      phase = 'ramping';
      rampFrom = now;
      return;
    }
    if (phase === 'ramping' && (accepted === 0 || openMs === 0)) return;
    const before = phase === 'holding' || phase === 'probing' ? Math.min(low, stoppedRate) : 0;
    const most = phase === 'probing' || before === 0 ? whole : Math.min(whole, before * 1.5);
    low = Math.max(most, before / 2);
    sure = low;
    hold(now);
  }

  /** Short blocks of a limit with a long window: its end was met, or a second limit. */
  function atEndOfWindow({ goodput, blockMs }: Block, stoppedRate: number, now: number): void {
    const present = goodput(cycleMs);
    if (phase === 'probing' && present > 2 * low) {
      cycleMs = 0;
      high = stoppedRate;
      proven = low;
      low = Math.max(low, Math.min(goodput(5000), 0.9 * high));
      seek(AFTER_TRIAL, now);
      return;
    }
    if (phase === 'probing') low = Math.max(low, Math.min(present, low * 1.1));
    else if (residue.count() === 0) low *= 0.99;
    else low = Math.max(low * 0.95, Math.min(low, present));
    residue.add(now - blockMs);
    hold(now);
  }

  function afterShort(block: Block, stoppedRate: number, now: number): void {
    const { openMs, accepted, blockMs, peak } = block;
    costMs = costMs === 0 ? blockMs : (costMs + blockMs) / 2;
    if (cycleMs > 0 && phase !== 'ramping') {
      atEndOfWindow(block, stoppedRate, now);
      return;
    }
    const whole = (1000 * accepted) / (openMs + blockMs);
    const soon = residue.isSoon(block);
    switch (phase) {
      case 'opening':
      case 'ramping':
        if (accepted < OPENING.requests && tries < OPENING.triesMax) {
          tries += 1;
          return;
        }
        high = Math.max(peak, (1000 * accepted) / openMs, 2 * RATE_MIN);
        low = Math.max(RATE_MIN, Math.min(whole, high * 0.9));
        proven = 0;
        seek(AFTER_REFUSAL, now);
        break;
      case 'searching':
        high = Math.min(stoppedRate, high);
        if (proven >= high * 0.98 || (soon && proven > high * 0.9)) proven = 0;
        low = Math.max(RATE_MIN / 2, proven, Math.min(whole, high * 0.97));
        seek(AFTER_REFUSAL, now);
        break;
      case 'probing':
        if (sure === 0) {
          // Nothing was held yet: it began with the advice, and what went out before that may be in the way.
          if (soon && residue.count() < OPENING.triesMax) {
            residue.add(now - blockMs);
            begin('probing', rate, now);
            break;
          }
          high = stoppedRate;
          low = Math.max(RATE_MIN / 2, proven, Math.min(whole, high * 0.9));
          seek(AFTER_REFUSAL, now);
          break;
        }
        adviceHolds = true;
        high = stoppedRate;
        if (step > STEP_NEWS) {
          low /= 1 + step / STEP.factor;
          proven = low;
          seek(AFTER_REFUSAL, now);
        } else {
          const gain = Math.min(GAIN.max, GAIN.perRoot / Math.sqrt(sure));
          low = sure * (1 + Math.max(gain, (low / sure - 1) / 2));
          hold(now);
        }
        break;
      case 'holding':
        if (!soon) slip(now);
        else if (residue.count() === 0) {
          residue.add(now - blockMs);
          begin('holding', rate, now);
        } else {
          high = stoppedRate;
          proven = 0;
          low = Math.max(RATE_MIN / 2, Math.min(stoppedRate * 0.8, Math.max(residue.rate(now), stoppedRate / 8)));
          residue.clear();
          seek(AFTER_REFUSAL, now);
        }
        break;
    }
  }

  return {
    rate: rateAt,

    accepted(sentAt, now, isOpen) {
      cycle.accepted(sentAt);
      residue.accepted(now, isOpen);
      if (!isOpen || sentAt < trial.at || phase === 'opening' || phase === 'ramping') return;
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
      const stoppedRate = rateAt(now - block.blockMs);
      residue.reopened(now);
      if (block.blockMs >= LONG_BLOCK_MS) afterLong(block, stoppedRate, now);
      else afterShort(block, stoppedRate, now);
    },

    advised(next, now) {
      const before = advice;
      advice = next;
      if (before !== null && phase !== 'opening' && phase !== 'ramping') {
        // However many share the limit and whatever was wrong with the advice: it has changed by this much.
        low = Math.max(RATE_MIN, low * (next / before));
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
