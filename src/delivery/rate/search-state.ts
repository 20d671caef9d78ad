import { createFairShare, type FairShare } from './fair-share.ts';
import { createRateSchedule, type LimitEstimate, type RateSchedule } from './rate-schedule.ts';
import { createRefusalStreak, type RefusalStreak } from './refusal-streak.ts';

/** Everything that the search for a rate remembers. */
export interface SearchState {
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
export function createSearchState(random: () => number): SearchState {
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
