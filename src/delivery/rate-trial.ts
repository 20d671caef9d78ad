// How long a rate is tried before the next one.

const TRIAL = { ms: 1500, requests: 12, msMax: 3000, ofCycle: 1 / 12 };
const HOLD = { msMin: 12_000, msMax: 24_000, requests: 200, costs: 24 };
/** Where the API states its limit, and truly, a change of it is told: to look for one costs more than it brings. */
const ADVISED = 3;

/** What is known of the limit: the rate, what a refusal costs, and the window where it is a long one, else 0. */
export interface Tried {
  rate: number;
  costMs: number;
  cycleMs: number;
  isAdvised: boolean;
}

/** In milliseconds: a whole window of a second at least, and some requests, or a part of a long window. */
export function trialMs({ rate, cycleMs }: Tried): number {
  const byRequests = (1000 * TRIAL.requests) / rate;
  return Math.max(TRIAL.ms, Math.min(TRIAL.msMax, byRequests), cycleMs * TRIAL.ofCycle);
}

/**
 * The rest between two probes, in milliseconds: so many requests, and so many times what a refusal costs, that neither
 * refusals nor the stops after them weigh much. The upper bound is what finds a limit that was raised in half a minute.
 */
export function holdMs({ rate, costMs, cycleMs, isAdvised }: Tried): number {
  const factor = isAdvised ? ADVISED : 1;
  const long = Math.max(factor * HOLD.costs * costMs, (1000 * HOLD.requests) / rate);
  return Math.max(HOLD.msMin, Math.min(factor * HOLD.msMax, long), cycleMs);
}
