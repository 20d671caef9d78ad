import type { DeliveryState, Operation, Reason } from '../domain/delivery.ts';
import type { Doubt, Outcome, OutcomeDetail } from '../domain/outcome.ts';
import type { Verdict } from '../domain/ports/ledger.ts';
import type { Profile } from '../domain/profile.ts';
import { fullJitterMs } from '../lib/backoff.ts';
import { readInitConflict } from './init-conflict.ts';
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

/** How long to wait before a listing can prove that a write is absent whose answer was lost. */
function readBackDelayMs(doubt: Doubt, context: Pick<JudgeContext, 'attempts' | 'profile' | 'random'>): number {
  return settlingDelayMs(doubt, context.profile) + Math.max(backoffMs(context), 1);
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

/** A doubt that was looked at. */
export interface ResendContext extends JudgeContext {
  /** When it may go out again; 0 for now. */
  dueAt: number;
  /** Whether the API was away for all when the attempt failed. */
  refund: boolean;
}

/** An attempt, after which there is something to judge. */
export interface AttemptContext extends JudgeContext {
  /** Whether an earlier attempt may have taken effect. */
  uncertain: boolean;
  /** Since when the API has said that it is at work on it; null where that was not its last answer. */
  busySince: number | null;
}

/** What becomes of a delivery after an attempt. Pure. */
export function judge(outcome: Outcome, context: AttemptContext): Verdict {
  const { operation, profile, now } = context;
  switch (outcome.kind) {
    case 'accepted':
      return { kind: 'delivered', remoteId: outcome.remoteId, contentKnown: true, by: 'answer' };
    case 'exists':
      return { kind: 'doubt', nextLookAt: now, spend: false, reason: reasonOf('exists', outcome.detail) };
    // None of these three says anything about the delivery itself, so none of them uses an attempt.
    case 'throttled':
    case 'denied':
      return { kind: 'retry', dueAt: now, spend: false, reason: reasonOf(outcome.kind, outcome.detail) };
    case 'unavailable': {
      const dueAt = now + backoffMs(context);
      return { kind: 'retry', dueAt, spend: false, reason: reasonOf(outcome.kind, outcome.detail) };
    }
    case 'in_flight':
      return judgeBusy(outcome.detail, context);
    case 'gated':
      return judgeGate(outcome.detail, context);
    case 'refused':
      if (isUnknowable(context)) return leftToPerson(reasonOf('refused', outcome.detail));
      return { kind: 'rejected', reason: reasonOf('refused', outcome.detail) };
    case 'ambiguous': {
      const reason = reasonOf(outcome.doubt, outcome.detail);
      const isReadBack = doubtPolicy(operation, profile) === 'read_back';
      const waitMs = isReadBack ? readBackDelayMs(outcome.doubt, context) : resendDelayMs(outcome.doubt, context);
      return { kind: 'doubt', nextLookAt: now + waitMs, spend: true, reason };
    }
  }
}

/** A request that the platform has been working on for longer than this is taken for lost there. */
const BUSY_MAX_MS = 600_000;

/**
 * The platform is at work on an earlier send of this very revision: asked again under the same key, it answers with what
 * came of that. The longer it takes, the less often it is asked. It costs no attempt for as long as it may be true.
 */
function judgeBusy(detail: OutcomeDetail, context: AttemptContext): Verdict {
  const { now, profile, random, operation } = context;
  const since = Math.min(context.busySince ?? now, now);
  const reason: Reason = { ...reasonOf('in_flight', detail), since };
  const { baseMs, capMs } = profile.retry.backoff;
  if (now - since < BUSY_MAX_MS) {
    const boundMs = Math.min(capMs, Math.max(baseMs, now - since));
    return {
      kind: 'retry',
      dueAt: now + Math.max(1, Math.floor(random * boundMs)),
      spend: false,
      uncertain: true,
      reason,
    };
  }
  const isReadBack = doubtPolicy(operation, profile) === 'read_back';
  const waitMs = isReadBack ? readBackDelayMs('timeout', context) : resendDelayMs('timeout', context);
  return { kind: 'doubt', nextLookAt: now + waitMs, spend: true, reason };
}

/** How a 409 may say that there is nothing left to do. It only ever leads to a look. */
const ALREADY = /\balready\b/i;

/** A passport that is where it was to go, by an earlier attempt or by hand, answers with the status of a gate. */
function judgeGate(detail: OutcomeDetail, context: AttemptContext): Verdict {
  const { operation, uncertain, now } = context;
  const reason = reasonOf('gate', detail);
  if (isUnknowable(context)) return leftToPerson(reason);
  if (operation === 'passport.init') return judgeInitConflict(detail, context);
  const mayBeDone = uncertain || ALREADY.test(detail.message);
  if (mayBeDone && showsInPublications(operation)) return { kind: 'doubt', nextLookAt: now, spend: false, reason };
  return blockedByGate(reason, context);
}

/**
 * That a passport is initialised cannot be read, so a 409 counts as done only where it says so; and after an attempt that
 * may have done it, unless it plainly speaks of something else. To ask again is safe, to believe wrongly is not: it would be
 * shown as initialised for ever.
 */
function judgeInitConflict(detail: OutcomeDetail, context: AttemptContext): Verdict {
  const said = readInitConflict(detail.message);
  const isDone = said === 'exists' || (said === 'unclear' && context.uncertain);
  if (!isDone) return blockedByGate(reasonOf('gate', detail), context);
  return { kind: 'delivered', remoteId: null, contentKnown: true, by: 'answer' };
}

/** A gate may open by what happens at the platform alone, so it is asked again now and then. */
export function blockedByGate(reason: Reason, { profile, now, random }: JudgeContext): Verdict {
  const { recheckBlockedMs } = profile;
  if (recheckBlockedMs === 0) return { kind: 'blocked', reason };
  return { kind: 'blocked', recheckAt: now + Math.ceil(recheckBlockedMs * (0.8 + 0.4 * random)), reason };
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
 * proven `absent`, and otherwise stays in doubt for a person: a parked delivery is one that had no effect. With `refund`
 * its last attempt does not count.
 */
export function judgeResend(context: ResendContext, reason: Reason, absent: boolean): Verdict {
  const { dueAt, refund } = context;
  const attempts = context.attempts - (refund ? 1 : 0);
  if (attempts < context.profile.retry.attemptsMax) return { kind: 'resend', dueAt, absent, refund, reason };
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
