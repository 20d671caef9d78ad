import type { ApiWait } from '../../domain/api-wait.ts';
import type { RateController } from '../rate/rate-controller.ts';

/** The API has asked to wait and has taken nothing since. */
export interface Throttled {
  /** By `Clock.ticks`. */
  since: number;
  /** Milliseconds until it is asked again; next to none while that question is under way. */
  askAgainInMs: number;
  message: string;
  /** Null for a wait of up to a minute. */
  wait: ApiWait | null;
}

/**
 * The wait that goes on; null where there is none.
 *
 * @param state.since since when the API has answered nothing but to wait, by `ticks`; null where its last answer was another one
 * @param state.atEpoch turns ticks into milliseconds since the Unix epoch
 */
export function throttledBy(state: {
  rate: Pick<RateController, 'wait' | 'closedForMs'>;
  since: number | null;
  message: string;
  now: number;
  atEpoch: (ticks: number) => number;
}): Throttled | null {
  const { rate, message, now, atEpoch } = state;
  const long = rate.wait(now);
  // A question that is answered ends no long wait, since writes may be refused all the same.
  const since = long?.since ?? state.since;
  if (since === null) return null;
  const askAgainInMs = rate.closedForMs(now);
  if (long === null) return { since, askAgainInMs, message, wait: null };
  const wait: ApiWait = {
    since: atEpoch(long.since),
    until: long.until === null ? null : atEpoch(long.until),
    askAgainAt: atEpoch(long.askAgainAt),
    message,
  };
  return { since, askAgainInMs, message, wait };
}
