import type { ApiWait } from '../../domain/delivery/api-wait.ts';
import type { Outcome } from '../../domain/delivery/outcome.ts';
import type { RateController } from '../rate/rate-controller.ts';

/** Remembers since when the API has not answered, or has only asked to wait. Pure: times are `ticks` of a clock. */
export function createReachability() {
  let unreachableSince: number | null = null;
  let throttledSince: number | null = null;
  let lastThrottle: string | null = null;

  return {
    /** Since when no request was answered; null after an answer. */
    unreachableSince: (): number | null => unreachableSince,
    /** Since when the API has only asked to wait; null after any other answer. */
    throttledSince: (): number | null => throttledSince,
    /** The message of the last answer that asked to wait; null if there was none. */
    lastThrottle: (): string | null => lastThrottle,
    observe(outcome: Outcome, now: number) {
      // A limit of this machine shows nothing about the API.
      if (outcome.kind === 'unavailable' && outcome.local) return;
      if (isSilent(outcome)) {
        unreachableSince ??= now;
        return;
      }
      unreachableSince = null;
      if (outcome.kind !== 'throttled') {
        throttledSince = null;
        return;
      }
      throttledSince ??= now;
      lastThrottle = outcome.detail.message;
    },
  };
}

/** True if no answer came, or only the page of a proxy. A list that was answered incompletely counts as an answer. */
function isSilent(outcome: Outcome): boolean {
  if (outcome.kind === 'unavailable') return true;
  if (outcome.kind !== 'ambiguous' || outcome.atWork) return false;
  return outcome.detail.status === null || outcome.cause === 'unreadable_answer';
}

/** The API has asked to wait, and has accepted no request since then. */
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
 * The present wait for the API; null if the API asks for none.
 *
 * @param state.since the time, by `ticks`, from which the API has only asked to wait; null if its last answer was another one
 * @param state.tickZeroAt the time of tick 0, in milliseconds since the Unix epoch. It is one reading for all times of the wait,
 *   because each reading of the two clocks differs a little
 */
export function throttledBy(state: {
  rate: Pick<RateController, 'wait' | 'closedForMs'>;
  since: number | null;
  message: string;
  now: number;
  tickZeroAt: number;
}): Throttled | null {
  const { rate, message, now, tickZeroAt } = state;
  const atEpoch = (ticks: number): number => Math.round(tickZeroAt + ticks);
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
