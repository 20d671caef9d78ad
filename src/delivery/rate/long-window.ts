// What refusals prove where the limit has a window of many seconds: what was accepted in a whole cycle is held. After the
// first long block everyone that shares the limit climbs in the same way from the same small rate, and as the block has ended
// for all of them at once they come to equal shares. So they do again after a block that a probe by one step does not explain:
// others have taken what there was, or the limit is another one, and all of them have seen the same block. A window that slides
// gives back what it took in the shape in which it was taken, so that whoever is refused again at once comes up no faster.

import type { Block, Residue } from './refusal-streak.ts';
import type { Course, Known } from './schedule.ts';
import { createRateCycle, rampRate } from './window-cycle.ts';
import { STEP } from './trial-length.ts';
import { acceptedIn, afterLongBlock, atEndOfWindow, isLeap } from './rate-estimates.ts';

/** Pure: times are ticks of a clock, rates are requests per second. */
export interface LongWindow {
  accepted(sentAt: number): void;
  /** Nothing was heard for a while, and not because of a block. */
  paused(now: number): void;
  afterLong(block: Block, refusedRate: number, now: number): void;
  /** A short block: the end of the window was met, or a second limit. @returns false where it has no long window after all */
  afterShort(block: Block, refusedRate: number, now: number): boolean;
}

/** For how many windows refusals in a row say that there is none. */
const ROW_OF_CYCLE = 1.5;
/** A rate below this share of the one that is held was refused while the window refills. */
const REFILLED = 0.9;
/**
 * A block for more than this share of the window is not explained by a step, but by a leap of so many times what was held. A
 * climb has to come in this share of the window to what was accepted of late: of a very high limit it would waste too much.
 */
const ANEW = { ofCycle: 0.25, leap: 8, climbed: 0.5 };

export function createLongWindow(known: Known, course: Course, residue: Residue): LongWindow {
  const cycle = createRateCycle();
  /** Since when every refusal has come while the window refilled; null where the last one did not. */
  let refillingSince: number | null = null;
  /** The last long block was followed by a climb: the next one says where that has come to. */
  let hasClimbed = false;

  /** @param rate accepted per second in the cycle that has ended */
  function beginsAnew(block: Block, rate: number): boolean {
    if (hasClimbed) return course.phase() === 'ramping' && block.accepted === 0;
    const { low, sure, cycleMs } = known;
    const isInTime = rate <= rampRate(ANEW.climbed * cycleMs);
    return isInTime && block.blockMs > ANEW.ofCycle * cycleMs && low <= ANEW.leap * sure;
  }

  /** A window that is there has refilled after its length: whoever is refused below that for longer has met another limit. */
  function refillsForEver(isRefilling: boolean, now: number): boolean {
    refillingSince = isRefilling ? (refillingSince ?? now) : null;
    return refillingSince !== null && now - refillingSince > ROW_OF_CYCLE * known.cycleMs;
  }

  return {
    accepted: (sentAt) => cycle.accepted(sentAt),
    paused: (now) => cycle.restart(now),

    afterLong(block, refusedRate, now) {
      refillingSince = null;
      const isFirst = known.cycleMs === 0;
      const phase = course.phase();
      const seen = cycle.end(block, now);
      known.cycleMs = seen.cycleMs;
      hasClimbed = isFirst || beginsAnew(block, seen.rate);
      if (hasClimbed) {
        course.ramp(now);
        return;
      }
      const held = phase === 'holding' || phase === 'probing' ? Math.min(known.low, refusedRate) : 0;
      known.low = afterLongBlock(held, seen.rate, phase === 'probing');
      known.sure = known.low;
      course.hold(now);
    },

    afterShort(block, refusedRate, now) {
      const { low, sure, cycleMs } = known;
      const present = block.goodput(cycleMs);
      const phase = course.phase();
      const isRefilling = refusedRate < REFILLED * low;
      const isRow = phase === 'holding' && !isLeap(low, sure) && residue.lastsMs(now) > ROW_OF_CYCLE * cycleMs;
      if (refillsForEver(isRefilling, now) || isRow) {
        refillingSince = null;
        known.cycleMs = 0;
        return false;
      }
      const isAgain = residue.count() > 0;
      const step = course.step();
      const passed = step === STEP.max ? refusedRate / (1 + step) : 0;
      if (phase === 'probing') known.low = Math.max(low, present, passed);
      else if (!isRefilling) known.low = atEndOfWindow(low, sure, present, !isAgain);
      residue.add(now - block.blockMs);
      if (isAgain || isRefilling) course.refill(Math.max(1, acceptedIn(block)), now);
      else course.hold(now);
      return true;
    },
  };
}
