import type { UnconfirmedCause } from '../../domain/delivery/outcome.ts';
import type { Profile } from '../../domain/profile.ts';
import { fullJitterMs } from '../../lib/backoff.ts';

/** How long a write that a list has to show waits for the other writes of the run before the list is read. */
export const REST_MAX_MS = 900_000;

/** What the waits of a delivery depend on. */
export interface Attempted {
  /** The attempts that were used before this one. */
  attempts: number;
  profile: Profile;
  /** In [0, 1), for the jitter. */
  random: number;
}

/** The wait before the next attempt. */
export function backoffMs({ attempts, profile, random }: Attempted): number {
  const { baseMs, capMs } = profile.retry.backoff;
  return fullJitterMs(attempts + 1, { baseMs, capMs }, random);
}

/** How long after a request was lost it may still take effect at the API. */
export function settlingDelayMs(cause: UnconfirmedCause, profile: Profile): number {
  return cause === 'timeout' ? profile.settlingDelayMs.timeout : profile.settlingDelayMs.reset;
}

/** The wait after a lost answer before a listing can prove that the write is absent. */
export function readBackDelayMs(cause: UnconfirmedCause, attempted: Attempted): number {
  return settlingDelayMs(cause, attempted.profile) + Math.max(backoffMs(attempted), 1);
}

/**
 * The wait after a lost answer before the write is sent again. I3: if keys are not honoured, the write that follows may be sent
 * as soon as the repetition is answered. The lost request must not be able to land after that.
 */
export function resendDelayMs(cause: UnconfirmedCause, attempted: Attempted): number {
  const { profile } = attempted;
  const settlingMs = profile.idempotency === 'honoured' ? 0 : settlingDelayMs(cause, profile);
  return Math.max(backoffMs(attempted), settlingMs, 1);
}
