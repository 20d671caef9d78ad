import type { Reason } from '../../domain/delivery/reason.ts';
import { isRepeatable } from '../../domain/delivery/unconfirmed-policy.ts';
import type { Decision } from '../../domain/ports/decision.ts';
import type { DecideContext } from './decide-context.ts';

/** An unconfirmed delivery that may be sent again. */
export interface ResendContext extends DecideContext {
  /** When the delivery may be sent again; 0 means at once. */
  dueAt: number;
  /** Whether the API was away for all requests when the last attempt failed. The attempt does not count then. */
  refund: boolean;
}

/**
 * Decides about an unconfirmed delivery that may be sent again. A delivery whose retry limit is spent is parked if the write is
 * proven `absent`, or if writing it twice does no harm: a replay or a change of its row may then follow. Any other delivery stays
 * unconfirmed, and a person has to decide.
 */
export function decideResend(context: ResendContext, reason: Reason, absent: boolean): Decision {
  const { dueAt, refund } = context;
  const attempts = context.attempts - (refund ? 1 : 0);
  if (attempts < context.profile.retry.attemptsMax) return { kind: 'resend', dueAt, absent, refund, reason };
  const message = `${context.attempts} attempts were made and none had a clear answer. The last one: ${reason.message}`;
  const spent: Reason = { ...reason, code: 'exhausted', message };
  if (absent) return { kind: 'parked', reason: spent };
  // I3: the settling delay has passed. The lost request can no longer land after the write that follows.
  if (isRepeatable(context)) return { kind: 'parked', reason: spent, open: true };
  return { kind: 'unconfirmed', nextLookAt: null, spend: false, reason: spent };
}
