import type { Outcome } from '../../domain/outcome.ts';

/** Remembers since when the API has not answered, or has only asked to wait. Pure: times are `ticks` of a clock. */
export interface Reachability {
  observe(outcome: Outcome, now: number): void;
  /** Since when no request was answered; null after an answer. */
  unreachableSince(): number | null;
  /** Since when the API has only asked to wait; null after any other answer. */
  throttledSince(): number | null;
  /** The message of the last answer that asked to wait; null if there was none. */
  lastThrottle(): string | null;
}

export function createReachability(): Reachability {
  let unreachableSince: number | null = null;
  let throttledSince: number | null = null;
  let lastThrottle: string | null = null;

  return {
    unreachableSince: () => unreachableSince,
    throttledSince: () => throttledSince,
    lastThrottle: () => lastThrottle,
    observe(outcome, now) {
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
