// A hidden limit of 150 requests a second that answers `Retry-After: 1`, seed by seed. A mean over many cells hides a seed in
// which the search ends at the wrong rate.

import { seededRandom } from '../../../support/runner/chaos.ts';
import { LIMITS, type LimitName } from './cells.ts';
import { controlledClient } from './controlled-client.ts';
import { headersOf } from './limit-headers.ts';
import type { Limiter } from './limiters.ts';
import { refusedShare, settledAfter, usedInMedian } from './measures.ts';
import { simulate } from './simulate.ts';

const RATE = 150;
/** The search has this time. The used share is measured after it. */
const SEARCH_S = 30;
export const SEEDS = [1, 2, 3, 4, 5] as const;
/** The limits that ask for a wait of one second. */
export const SHORT_LIMITS = (Object.keys(LIMITS) as LimitName[]).filter((name) => !name.includes('60 s'));

export interface SeedResult {
  /** The used share of the limit in the median second. */
  used: number;
  /** The share of refused requests, with those of the search. */
  refused: number;
  /** Seconds until nine tenths of the limit are used in the following 20 s. */
  settledS: number;
}

/** The results of a limit, in the order of the seeds. */
export interface LimitSeeds {
  limit: LimitName;
  results: readonly SeedResult[];
}

/** Runs one seed for a time. The same seed always gives the same result. */
export function runSeed(limiterOf: (rate: number, draw: number) => Limiter, seed: number, seconds: number): SeedResult {
  const random = seededRandom(seed);
  const limiter = limiterOf(RATE, random());
  const clients = [controlledClient(random)];
  const trace = simulate({ limiter, clients, headers: headersOf('seconds', 0), untilMs: seconds * 1000, random });
  return {
    used: usedInMedian(trace, RATE, SEARCH_S, seconds),
    refused: refusedShare(trace, 0, seconds),
    settledS: settledAfter(trace, RATE, { from: 0, to: seconds, span: 20, share: 0.9 }),
  };
}
