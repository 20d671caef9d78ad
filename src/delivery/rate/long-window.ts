// What a refusal proves about a limit whose window lasts many seconds.
//
// The schedule keeps the rate that the API accepted over a whole window. After the first long stop every client of the
// limit climbs in the same way from the same small rate. The stop ended for all of them at once, so their shares become
// equal. They climb again after a stop that one step of a raise does not explain. The cause is then that other clients
// have used the window, or that the limit has changed, and all clients have seen the same stop. A sliding window gives
// requests back in the order in which they were sent. Therefore a client that is refused again at once raises its rate
// no faster than the window refills.

import { acceptedPerSecond, isLeap, rampRate, rateAfterLongStop, rateAtEndOfWindow } from './rate-estimates.ts';
import type { LimitEstimate, RateSchedule } from './rate-schedule.ts';
import { STEP } from './rate-schedule.ts';
import type { EndedStop, RefusalStreak } from './stop.ts';

/** If refusals continue for this many windows, the limit has no long window. */
const STREAK_WINDOWS_MAX = 1.5;
/** A refusal below this share of the kept rate came while the window refilled. */
const REFILLED = 0.9;
/**
 * When the clients climb again. They do so if the stop lasts longer than the share `ofWindow` of the window, and no
 * leap of `leap` times the steady rate explains the stop. The climb must reach the accepted rate within the share
 * `climbed` of the window. Otherwise it would waste too much of a very high limit.
 */
const RAMP_AGAIN = { ofWindow: 0.25, leap: 8, climbed: 0.5 };

/** Pure: times are ticks of a clock, rates are requests per second. */
export function createLongWindow(limit: LimitEstimate, schedule: RateSchedule, streak: RefusalStreak) {
  const cycle = createWindowCycle();
  /** Since when every refusal has come while the window refilled; null if the last refusal did not. */
  let refillingSince: number | null = null;
  /** True if a climb followed the last long stop. The next long stop shows how high the rate has climbed. */
  let hasRamped = false;

  /** @param rate accepted per second in the window that has ended */
  function rampsAgain(stop: EndedStop, rate: number): boolean {
    if (hasRamped) return schedule.phase() === 'ramping' && stop.accepted === 0;
    const { low, steadyRate, windowMs } = limit;
    const isInTime = rate <= rampRate(RAMP_AGAIN.climbed * windowMs);
    return isInTime && stop.stopMs > RAMP_AGAIN.ofWindow * windowMs && low <= RAMP_AGAIN.leap * steadyRate;
  }

  /** A real window has refilled after its own length. If refusals at lower rates go on for longer, there is another limit. */
  function refillsTooLong(isRefilling: boolean, now: number): boolean {
    refillingSince = isRefilling ? (refillingSince ?? now) : null;
    return refillingSince !== null && now - refillingSince > STREAK_WINDOWS_MAX * limit.windowMs;
  }

  return {
    accepted: (sentAt: number) => cycle.accepted(sentAt),
    /** No answer came for a while, and no stop was the cause. */
    paused: (now: number) => cycle.restart(now),

    afterLongStop(stop: EndedStop, refusedRate: number, now: number) {
      refillingSince = null;
      const isFirst = limit.windowMs === 0;
      const phase = schedule.phase();
      const measured = cycle.end(stop, now);
      limit.windowMs = measured.windowMs;
      hasRamped = isFirst || rampsAgain(stop, measured.rate);
      if (hasRamped) {
        schedule.startRamp(now);
        return;
      }
      const kept = phase === 'steady' || phase === 'raising' ? Math.min(limit.low, refusedRate) : 0;
      limit.low = rateAfterLongStop(kept, measured.rate, phase === 'raising');
      limit.steadyRate = limit.low;
      schedule.startSteady(now);
    },

    /**
     * Handles a short stop while a long window is assumed. Such a stop has one of these causes: the window ends, the window
     * refills, or there is a second limit.
     *
     * @returns false if refusals have continued for so long that the limit cannot have a long window
     */
    afterShortStop(stop: EndedStop, refusedRate: number, now: number): boolean {
      const { low, steadyRate, windowMs } = limit;
      const recent = stop.goodput(windowMs);
      const phase = schedule.phase();
      const isRefilling = refusedRate < REFILLED * low;
      const streakIsTooLong =
        phase === 'steady' && !isLeap(low, steadyRate) && streak.lengthMs(now) > STREAK_WINDOWS_MAX * windowMs;
      if (refillsTooLong(isRefilling, now) || streakIsTooLong) {
        refillingSince = null;
        limit.windowMs = 0;
        return false;
      }
      const isAgain = streak.count() > 0;
      const step = schedule.step();
      const passed = step === STEP.max ? refusedRate / (1 + step) : 0;
      if (phase === 'raising') limit.low = Math.max(low, recent, passed);
      else if (!isRefilling) limit.low = rateAtEndOfWindow(low, steadyRate, recent, !isAgain);
      streak.add(now - stop.stopMs);
      if (isAgain || isRefilling) schedule.startRefill(Math.max(1, acceptedPerSecond(stop)), now);
      else schedule.startSteady(now);
      return true;
    },
  };
}

/** The lengths that a measured window can have. */
const MEASURED = { msMin: 8000, msMax: 90_000 };
/** The assumed length of a window whose beginning was not seen. */
const DEFAULT_MS = 60_000;

/**
 * Measures a limit with a long window, from the end of one long stop to the end of the next. Pure: times are ticks of a clock.
 */
function createWindowCycle() {
  let from = Number.NaN;
  let count = 0;
  return {
    accepted(sentAt: number) {
      if (Number.isNaN(from)) from = sentAt;
      count += 1;
    },
    restart(now: number) {
      from = now;
      count = 0;
    },
    /**
     * Ends the cycle when a long stop has ended.
     *
     * @returns accepted requests per second in the cycle, and the length of the window as far as it is known
     */
    end({ stopMs, goodput }: EndedStop, now: number): { rate: number; windowMs: number } {
      const cycleMs = now - from;
      const isMeasured = cycleMs >= Math.max(MEASURED.msMin, stopMs) && cycleMs <= MEASURED.msMax;
      const rate = isMeasured ? (1000 * count) / cycleMs : goodput(1.25 * DEFAULT_MS);
      this.restart(now);
      return { rate, windowMs: isMeasured ? cycleMs : DEFAULT_MS };
    },
  };
}
