import type { ApiWait } from '../../domain/api-wait.ts';
import type { RateController } from '../rate/rate-controller.ts';

/** The API has asked to wait, and has taken no request since. */
export interface Throttled {
  /** In `Clock.ticks`. */
  since: number;
  /** Milliseconds until the API is asked again; almost 0 while the question is on its way. */
  askAgainInMs: number;
  message: string;
  /** Null for a wait of up to a minute. */
  wait: ApiWait | null;
}

/**
 * The present wait; null if there is none.
 *
 * @param state.since since when the API has only asked to wait, by `ticks`; null if its last answer was another one
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
  // An answered question does not end a long wait, because the API may still refuse writes.
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
