// How long a rate is tried before the next one, and how far the next one is.

const TRIAL = { ms: 1500, requests: 12, msMax: 3000, ofCycle: 1 / 24 };
const HOLD = { msMin: 12_000, msMax: 30_000, requests: 250, costs: 28, ofCycle: 0.5 };
/** Where the API states its limit, and truly, a change of it is told: to look for one costs more than it brings. */
const ADVISED = 3;

/**
 * Steps of a probe, as shares of the rate. In a long window the first one has to exhaust the window before its end, and not
 * long before it. A probe that was refused before it came to `news` has found nothing new.
 */
export const STEP = { first: 0.03, firstLong: 0.12, advised: 0.1, factor: 3, max: 1, news: 0.5 } as const;

/** Whether the step is tried for a whole long window, since less would tell nothing. */
export const isWholeStep = (step: number): boolean => step === STEP.firstLong;

/** The step after one that was taken. */
export const nextStep = (step: number, inLongWindow: boolean): number =>
  inLongWindow ? STEP.max : Math.min(STEP.max, step * STEP.factor);

/** What is known of the limit: the rate, what a refusal costs, and the window where it is a long one, else 0. */
export interface Tried {
  rate: number;
  costMs: number;
  cycleMs: number;
  isAdvised: boolean;
  isWhole: boolean;
}

/** In milliseconds: a whole window of a second at least, and some requests, or a part of a long window. */
export function trialMs({ rate, cycleMs, isWhole }: Tried): number {
  const byRequests = (1000 * TRIAL.requests) / rate;
  return Math.max(TRIAL.ms, Math.min(TRIAL.msMax, byRequests), cycleMs * (isWhole ? 1 : TRIAL.ofCycle));
}

/**
 * The rest between two probes, in milliseconds: so many requests, and so many times what a refusal costs, that neither
 * refusals nor the stops after them weigh much. The upper bound is what finds a limit that was raised in about half a minute.
 */
export function holdMs({ rate, costMs, cycleMs, isAdvised }: Tried): number {
  const factor = isAdvised ? ADVISED : 1;
  const long = Math.max(factor * HOLD.costs * costMs, (1000 * HOLD.requests) / rate);
  return Math.max(HOLD.msMin, Math.min(factor * HOLD.msMax, long), cycleMs * HOLD.ofCycle);
}
