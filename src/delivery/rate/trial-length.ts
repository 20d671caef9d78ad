// How long a rate is tried before the next one, and how much higher the next one is.

const TRIAL = { ms: 1500, requests: 12, msMax: 3000, ofWindow: 1 / 24 };
const STEADY = { msMin: 12_000, msMax: 30_000, requests: 250, refusalCosts: 28, ofWindow: 0.5 };
/**
 * A steady period is this many times longer if the API states its limit correctly. The API then also states a change,
 * so that a raise costs more than it gains.
 */
const ADVISED_FACTOR = 3;

/**
 * Steps of a raise, as shares of the rate. In a long window the first step has to use up the window shortly before its
 * end. `news`: a raise that is refused at this step or before it has found no new limit.
 */
export const STEP = { first: 0.03, firstLong: 0.12, advised: 0.1, factor: 3, max: 1, news: 0.5 } as const;

/** True if the step is tried for a whole long window, because a shorter trial would prove nothing. */
export const isWholeStep = (step: number): boolean => step === STEP.firstLong;

/** The step after an accepted one. */
export const nextStep = (step: number, inLongWindow: boolean): number =>
  inLongWindow ? STEP.max : Math.min(STEP.max, step * STEP.factor);

/** What the length of a trial depends on. `windowMs` is 0 if the limit has no long window. */
export interface TrialContext {
  rate: number;
  refusalCostMs: number;
  windowMs: number;
  /** How long a burst can carry a rate that the limit does not allow; 0 if this is not known. */
  burstMs: number;
  isAdvised: boolean;
  /** The value of `isWholeStep`. */
  isWhole: boolean;
}

/**
 * The length of a trial in milliseconds. It contains a whole window of one second, and some requests at this rate. If the
 * limit has a long window, the trial lasts for at least a part of that window. If the limit is a bucket, a burst is used up
 * during the trial.
 */
export function trialMs({ rate, windowMs, burstMs, isWhole }: TrialContext): number {
  const byRequests = (1000 * TRIAL.requests) / rate;
  const enoughMs = Math.max(byRequests, burstMs);
  return Math.max(TRIAL.ms, Math.min(TRIAL.msMax, enoughMs), windowMs * (isWhole ? 1 : TRIAL.ofWindow));
}

/**
 * The length of a steady period between two raises, in milliseconds. It has room for a number of requests and for many times the
 * cost of a refusal, so that refusals and the stops after them waste little. Because of the upper bound of this length, a limit that
 * was raised is found in about half a minute.
 */
export function steadyMs({ rate, refusalCostMs, windowMs, isAdvised }: TrialContext): number {
  const factor = isAdvised ? ADVISED_FACTOR : 1;
  const long = Math.max(factor * STEADY.refusalCosts * refusalCostMs, (1000 * STEADY.requests) / rate);
  return Math.max(STEADY.msMin, Math.min(factor * STEADY.msMax, long), windowMs * STEADY.ofWindow);
}
