import type { DeliveryState, Operation, Reason } from '../domain/delivery.ts';
import type { Doubt, Outcome, OutcomeDetail } from '../domain/outcome.ts';
import type { Verdict } from '../domain/ports/ledger.ts';
import type { Profile } from '../domain/profile.ts';
import { fullJitterMs } from '../lib/backoff.ts';
import { showsInPublications } from './passport-doubts.ts';

/** The state that a delivery is in after each verdict. */
export const VERDICT_STATES: Record<Verdict['kind'], DeliveryState> = {
  delivered: 'delivered',
  retry: 'due',
  doubt: 'in_doubt',
  resend: 'due',
  blocked: 'blocked',
  rejected: 'rejected',
  parked: 'parked',
};

/** How a doubt about a write can be settled. */
export type DoubtPolicy =
  /** The same revision may go out again: its key is honoured, or writing it twice is writing it once. */
  | 'resend'
  /** A complete listing tells whether the item is there, or the passport public. */
  | 'read_back'
  /** Nothing but a person can tell. */
  | 'person';

/** The way out of a doubt, by operation, as far as the profile trusts idempotency keys. */
export function doubtPolicy(operation: Operation, profile: Profile): DoubtPolicy {
  if (profile.idempotency === 'honoured') return 'resend';
  switch (operation) {
    case 'material.update':
    // A passport that is initialised already answers 409.
    case 'passport.init':
      return 'resend';
    case 'passport.publish':
      return profile.idempotency === 'publish' ? 'resend' : 'read_back';
    case 'product.create':
    case 'material.create':
    case 'passport.unpublish':
      return 'read_back';
    case 'product.import':
      // Like an update, an import that updates may be written twice; one that does not would make another product.
      return profile.productUpdate === 'import' ? 'resend' : 'person';
    case 'product.update':
    case 'bom_item.create':
    case 'bom_item.update':
      return 'person';
  }
}

/** How long after a request was lost it may still take effect at the API. */
function settlingDelayMs(doubt: Doubt, profile: Profile): number {
  return doubt === 'timeout' ? profile.settlingDelayMs.timeout : profile.settlingDelayMs.reset;
}

/**
 * How long to wait before a write is repeated whose answer was lost. I3: where keys are not honoured, what follows the
 * repetition may go out as soon as that is answered, so by then the lost request must no longer be able to land.
 */
export function resendDelayMs(doubt: Doubt, context: Pick<JudgeContext, 'attempts' | 'profile' | 'random'>): number {
  const { profile } = context;
  const settlingMs = profile.idempotency === 'honoured' ? 0 : settlingDelayMs(doubt, profile);
  return Math.max(backoffMs(context), settlingMs, 1);
}

export interface JudgeContext {
  operation: Operation;
  /** Attempts that were spent before this one. */
  attempts: number;
  profile: Profile;
  now: number;
  /** In [0, 1), for the jitter. */
  random: number;
}

/** An attempt, after which there is something to judge. */
export interface AttemptContext extends JudgeContext {
  /** Whether an earlier attempt may have taken effect. */
  uncertain: boolean;
}

/** What becomes of a delivery after an attempt. Pure. */
export function judge(outcome: Outcome, context: AttemptContext): Verdict {
  const { operation, profile, now } = context;
  switch (outcome.kind) {
    case 'accepted':
      return { kind: 'delivered', remoteId: outcome.remoteId, contentKnown: true, by: 'answer' };
    case 'exists':
      return { kind: 'doubt', nextLookAt: now, spend: false, reason: reasonOf('exists', outcome.detail) };
    case 'throttled':
    case 'unavailable':
    case 'in_flight':
    case 'denied': {
      // None of these says anything about the delivery itself, so none of them uses an attempt.
      const waitMs = outcome.kind === 'in_flight' ? backoffMs(context) : 0;
      return { kind: 'retry', dueAt: now + waitMs, spend: false, reason: reasonOf(outcome.kind, outcome.detail) };
    }
    case 'gated':
      return judgeGate(outcome.detail, context);
    case 'refused':
      if (isUnknowable(context)) return leftToPerson(reasonOf('refused', outcome.detail));
      return { kind: 'rejected', reason: reasonOf('refused', outcome.detail) };
    case 'ambiguous': {
      const reason = reasonOf(outcome.doubt, outcome.detail);
      const isReadBack = doubtPolicy(operation, profile) === 'read_back';
      const waitMs = isReadBack ? settlingDelayMs(outcome.doubt, profile) : resendDelayMs(outcome.doubt, context);
      return { kind: 'doubt', nextLookAt: now + waitMs, spend: true, reason };
    }
  }
}

/** How a 409 says that there is nothing left to do. It only ever leads to a look, or to a step that the API checks itself. */
const ALREADY = /\balready\b/i;

/** A passport that is where it was to go, by an earlier attempt or by hand, answers with the status of a gate. */
function judgeGate(detail: OutcomeDetail, context: AttemptContext): Verdict {
  const { operation, uncertain, now } = context;
  const reason = reasonOf('gate', detail);
  if (isUnknowable(context)) return leftToPerson(reason);
  const mayBeDone = uncertain || ALREADY.test(detail.message);
  if (!mayBeDone) return { kind: 'blocked', reason };
  if (operation === 'passport.init') return { kind: 'delivered', remoteId: null, contentKnown: true, by: 'answer' };
  if (showsInPublications(operation)) return { kind: 'doubt', nextLookAt: now, spend: false, reason };
  return { kind: 'blocked', reason };
}

/**
 * True where an earlier attempt may have taken effect and nothing but a person can tell. I6: a refusal of this attempt says
 * nothing of that one, and a replay would send it anew.
 */
function isUnknowable({ operation, uncertain }: AttemptContext): boolean {
  return uncertain && operation === 'bom_item.create';
}

function leftToPerson(reason: Reason): Verdict {
  const message = `${reason.message} An earlier attempt may have taken effect all the same, and the API cannot be asked.`;
  return { kind: 'doubt', nextLookAt: null, spend: false, reason: { ...reason, message } };
}

/**
 * What becomes of a delivery in doubt that may be sent again. Once its retry limit is spent it is parked when it is
 * proven `absent`, and otherwise stays in doubt for a person: a parked delivery is one that had no effect.
 */
export function judgeResend(context: JudgeContext, reason: Reason, absent: boolean): Verdict {
  if (context.attempts < context.profile.retry.attemptsMax) return { kind: 'resend', dueAt: 0, absent, reason };
  const message = `${context.attempts} attempts were made and none had a clear answer. The last one: ${reason.message}`;
  const spent = { ...reason, code: 'exhausted', message };
  return absent ? { kind: 'parked', reason: spent } : { kind: 'doubt', nextLookAt: null, spend: false, reason: spent };
}

/** How long to wait before the next attempt. */
export function backoffMs({
  attempts,
  profile,
  random,
}: Pick<JudgeContext, 'attempts' | 'profile' | 'random'>): number {
  const { baseMs, capMs } = profile.retry.backoff;
  return fullJitterMs(attempts + 1, { baseMs, capMs }, random);
}

/** An answer as the reason for where a delivery is. */
export function reasonOf(code: string, detail: OutcomeDetail): Reason {
  return {
    code,
    message: detail.message,
    ...(detail.status === null ? {} : { status: detail.status }),
    ...(detail.fields ? { fields: detail.fields } : {}),
  };
}
