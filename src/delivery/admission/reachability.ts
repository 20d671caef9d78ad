import type { Outcome } from '../../domain/outcome.ts';

/** Since when the API has given no answer, or no answer but to wait. Pure: times are `ticks` of a clock. */
export interface Reachability {
  observe(outcome: Outcome, now: number): void;
  /** Since when no request has been answered; null after an answer. */
  unreachableSince(): number | null;
  /** Since when the API has asked to wait and answered nothing else; null after another answer. */
  throttledSince(): number | null;
  /** What the API said when it last asked to wait; null where it never did. */
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

/** No answer, or a page in its place. A list that is answered and not complete is an answer. */
function isSilent(outcome: Outcome): boolean {
  if (outcome.kind === 'unavailable') return true;
  if (outcome.kind !== 'ambiguous' || outcome.atWork) return false;
  return outcome.detail.status === null || outcome.cause === 'unreadable_answer';
}
