import type { UnconfirmedCause } from '../../domain/outcome.ts';
import type { Profile } from '../../domain/profile.ts';
import { fullJitterMs } from '../../lib/backoff.ts';

/** What the waits of a delivery go by. */
export interface Attempted {
  /** Attempts that were spent before this one. */
  attempts: number;
  profile: Profile;
  /** In [0, 1), for the jitter. */
  random: number;
}

/** How long to wait before the next attempt. */
export function backoffMs({ attempts, profile, random }: Attempted): number {
  const { baseMs, capMs } = profile.retry.backoff;
  return fullJitterMs(attempts + 1, { baseMs, capMs }, random);
}

/** How long after a request was lost it may still take effect at the API. */
export function settlingDelayMs(doubt: UnconfirmedCause, profile: Profile): number {
  return doubt === 'timeout' ? profile.settlingDelayMs.timeout : profile.settlingDelayMs.reset;
}

/** How long to wait before a listing can prove that a write is absent whose answer was lost. */
export function readBackDelayMs(doubt: UnconfirmedCause, attempted: Attempted): number {
  return settlingDelayMs(doubt, attempted.profile) + Math.max(backoffMs(attempted), 1);
}

/**
 * How long to wait before a write is repeated whose answer was lost. I3: where keys are not honoured, what follows the
 * repetition may go out as soon as that is answered, so by then the lost request must no longer be able to land.
 */
export function resendDelayMs(doubt: UnconfirmedCause, attempted: Attempted): number {
  const { profile } = attempted;
  const settlingMs = profile.idempotency === 'honoured' ? 0 : settlingDelayMs(doubt, profile);
  return Math.max(backoffMs(attempted), settlingMs, 1);
}
