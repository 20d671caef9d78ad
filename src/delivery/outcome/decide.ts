import type { DeliveryState, Operation } from '../../domain/delivery.ts';
import { askedWaitMs, type Outcome, type OutcomeDetail } from '../../domain/outcome.ts';
import type { Decision } from '../../domain/ports/decision.ts';
import type { Reason, ReasonCode } from '../../domain/reason.ts';
import { showsInPublications } from '../unconfirmed/publications.ts';
import { isRepeatable, showsInListing, unconfirmedPolicy } from '../unconfirmed/unconfirmed-policy.ts';
import { readInitConflict } from './init-conflict.ts';
import { type Attempted, readBackDelayMs, resendDelayMs, settlingDelayMs } from './waits.ts';

/** The state that a delivery is in after each decision. */
export const DECISION_STATES: Record<Decision['kind'], DeliveryState> = {
  delivered: 'delivered',
  retry: 'due',
  unconfirmed: 'in_doubt',
  resend: 'due',
  blocked: 'blocked',
  rejected: 'rejected',
  parked: 'parked',
  ignored: 'superseded',
};

export interface DecideContext extends Attempted {
  operation: Operation;
  now: number;
}

/** A doubt that was looked at. */
export interface ResendContext extends DecideContext {
  /** When it may go out again; 0 for now. */
  dueAt: number;
  /** Whether the API was away for all when the attempt failed. */
  refund: boolean;
}

/** An attempt, after which there is something to judge. */
export interface AttemptContext extends DecideContext {
  /** Whether an earlier attempt may have taken effect. */
  uncertain: boolean;
  /** Since when the API has said that it is at work on it; null where that was not its last answer. */
  busySince: number | null;
  /** Since when the API has not been able to take it; null where something else came of it last, but for waits it asked for. */
  awaySince: number | null;
  /** Whether the API is well and has taken others since then. */
  takesOthers: boolean;
  /** Whether the API refuses this delivery the scope that it takes from others. */
  forbidden: boolean;
}

/** What becomes of a delivery after an attempt. Pure. */
export function decide(outcome: Outcome, context: AttemptContext): Decision {
  const { operation, profile, now } = context;
  switch (outcome.kind) {
    case 'accepted':
      return {
        kind: 'delivered',
        remoteId: outcome.remoteId,
        contentKnown: true,
        by: 'answer',
        ...(outcome.shownAs !== undefined && { shownAs: outcome.shownAs }),
      };
    case 'exists':
      return readBackNow(markOwn({ ...reasonOf('exists', outcome.detail), lookAgain: true }, context), context);
    // None of these says anything about the delivery itself, so none of them uses an attempt.
    case 'throttled':
      return decideDeferred('throttled', outcome.detail, context);
    case 'denied':
      if (context.forbidden) return decideForbidden(outcome.detail, context);
      return { kind: 'retry', dueAt: now, spend: false, reason: reasonOf(`denied_${outcome.by}`, outcome.detail) };
    case 'unavailable':
      return outcome.local ? decideDeferred('local', outcome.detail, context) : decideAway(outcome, context);
    case 'in_flight':
      return decideBusy(outcome.detail, context);
    case 'gated':
      return decideGate(outcome, context);
    case 'refused': {
      const reason = reasonOf('refused', outcome.detail);
      if (isUnreadable(context)) return leaveToPerson(reason);
      if (needsReadBack(context)) return readBackLater(reason, context);
      return outcome.mayExist ? mayExist(outcome.detail, context) : { kind: 'rejected', reason };
    }
    case 'ambiguous': {
      const reason = reasonOf(outcome.cause, outcome.detail);
      const isReadBack = unconfirmedPolicy(operation, profile) === 'read_back';
      const waitMs = isReadBack ? readBackDelayMs(outcome.cause, context) : resendDelayMs(outcome.cause, context);
      const askedMs = boundedWaitMs(outcome);
      return { kind: 'unconfirmed', nextLookAt: now + Math.max(waitMs, askedMs), spend: true, reason };
    }
  }
}

/**
 * The API did not look at the delivery. The delivery keeps the time since which the API could not take it, so that a delivery
 * that always fails still reaches its limit.
 */
function decideDeferred(
  code: 'throttled' | 'local',
  detail: OutcomeDetail,
  { now, awaySince }: AttemptContext,
): Decision {
  const since = awaySince === null ? {} : { since: awaySince };
  return { kind: 'retry', dueAt: now, spend: false, reason: { ...reasonOf(code, detail), ...since } };
}

/** No outage explains what the API has not been able to take for longer, while it takes others. */
const AWAY_MAX_MS = 25 * 3_600_000;
/** The bound of the waits for an API that is away may grow as high, once it has been away for long. */
const AWAY_WAIT_MAX_MS = 300_000;
/** For no longer is a delivery put off by a time that the API has named. */
const DEFER_MAX_MS = 3_600_000;

/** The wait that an answer asks for, as far as it is obeyed, in milliseconds. */
export function boundedWaitMs(outcome: Outcome): number {
  return Math.min(askedWaitMs(outcome) ?? 0, DEFER_MAX_MS);
}

/**
 * The API is away, or says so of this delivery. The longer it does, the less often it is asked. It costs no attempt, whatever
 * the time, unless others are taken: then it is the delivery that is at fault, and its own limit parks it.
 */
function decideAway(outcome: Outcome & { kind: 'unavailable' }, context: AttemptContext): Decision {
  const { now, profile, random, attempts } = context;
  const since = Math.min(context.awaySince ?? now, now);
  const reason: Reason = { ...reasonOf('unavailable', outcome.detail), since };
  const spend = now - since >= AWAY_MAX_MS && context.takesOthers;
  if (spend && attempts + 1 >= profile.retry.attemptsMax) return exhausted(reason, context);
  const { baseMs, capMs } = profile.retry.backoff;
  const capNowMs = Math.max(capMs, Math.min((now - since) / 10, AWAY_WAIT_MAX_MS));
  const waitMs = Math.floor(random * Math.min(capNowMs, Math.max(baseMs, now - since)));
  const askedMs = boundedWaitMs(outcome);
  return { kind: 'retry', dueAt: now + Math.max(waitMs, askedMs), spend, reason };
}

/** What was never taken had no effect, unless an earlier attempt of it had one. */
function exhausted(reason: Reason, context: AttemptContext): Decision {
  if (context.uncertain) return { kind: 'unconfirmed', nextLookAt: context.now, spend: true, reason };
  const message = `The API has not been able to take it for more than a day, while it took others. The last answer: ${reason.message}`;
  return { kind: 'parked', reason: { ...reason, code: 'exhausted', message } };
}

/** A request that the platform has been working on for longer than this is taken for lost there. */
const BUSY_MAX_MS = 600_000;

/**
 * The platform is at work on an earlier send of this very revision: asked again under the same key, it answers with what
 * came of that. The longer it takes, the less often it is asked. It costs no attempt for as long as it may be true.
 */
function decideBusy(detail: OutcomeDetail, context: AttemptContext): Decision {
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
  const isReadBack = unconfirmedPolicy(operation, profile) === 'read_back';
  const waitMs = isReadBack ? readBackDelayMs('timeout', context) : resendDelayMs('timeout', context);
  return { kind: 'unconfirmed', nextLookAt: now + waitMs, spend: true, reason };
}

/**
 * The scope was taken from others since it was refused to this delivery, so that is about its item. It may be granted by what
 * happens at the platform alone, so it is asked again like a gate.
 */
function decideForbidden(detail: OutcomeDetail, context: AttemptContext): Decision {
  const reason = reasonOf('forbidden', detail);
  if (isUnreadable(context)) return leaveToPerson(reason);
  if (!context.uncertain || isRepeatable(context)) return blockedByGate(reason, context);
  // I6: an earlier attempt may have arrived, and that is looked up first.
  return { kind: 'unconfirmed', nextLookAt: context.now + resendDelayMs('reset', context), spend: true, reason };
}

/** How a 409 may say that there is nothing left to do. It only ever leads to a look. */
const ALREADY = /\balready\b/i;

/** A passport that is where it was to go, by an earlier attempt or by hand, answers with the status of a gate. */
function decideGate({ detail, ...outcome }: Outcome & { kind: 'gated' }, context: AttemptContext): Decision {
  const { operation, now } = context;
  const reason = reasonOf('gate', detail);
  if (isUnreadable(context)) return leaveToPerson(reason);
  if (operation === 'passport.init') return decideInitConflict(detail, context);
  if (needsReadBack(context)) return readBackLater(reason, context);
  if (outcome.mayExist) return mayExist(detail, context);
  const isDone = ALREADY.test(detail.message) && showsInPublications(operation);
  return isDone ? { kind: 'unconfirmed', nextLookAt: now, spend: false, reason } : blockedByGate(reason, context);
}

/**
 * True where an earlier attempt may have taken effect and a listing tells. I6: a refusal of this attempt says nothing of
 * that one, and what follows it would make the item a second time, or leave a passport public that nobody knows of.
 */
function needsReadBack({ operation, uncertain }: AttemptContext): boolean {
  return uncertain && showsInListing(operation);
}

/** The earlier attempt may be on its way yet. */
function readBackLater(reason: Reason, { operation, profile, now }: AttemptContext): Decision {
  const nextLookAt = now + settlingDelayMs('timeout', profile);
  const again = showsInPublications(operation) ? {} : { lookAgain: true as const };
  return { kind: 'unconfirmed', nextLookAt, spend: false, reason: { ...reason, ...again } };
}

/**
 * A create whose refusal does not show whether the item exists. If an earlier attempt was lost, the item may be its result, and
 * a list that lags may have hidden it.
 */
function mayExist(detail: OutcomeDetail, context: AttemptContext): Decision {
  const again = context.attempts > 0 ? { lookAgain: true as const } : {};
  return readBackNow({ ...reasonOf('may_exist', detail), ...again }, context);
}

/** Marks an item that an earlier attempt may have created: it is ours. Any other existing item is adopted. */
function markOwn(reason: Reason, { uncertain }: AttemptContext): Reason {
  return uncertain ? { ...reason, afterDoubt: true } : reason;
}

/** The platform is asked for the item before a person is asked to correct the row. */
function readBackNow(reason: Reason, { now }: AttemptContext): Decision {
  return { kind: 'unconfirmed', nextLookAt: now, spend: false, reason };
}

/**
 * That a passport is initialised cannot be read, so a 409 counts as done only where it says so; and after an attempt that
 * may have done it, unless it plainly speaks of something else. To ask again is safe, to believe wrongly is not: it would be
 * shown as initialised for ever.
 */
function decideInitConflict(detail: OutcomeDetail, context: AttemptContext): Decision {
  const said = readInitConflict(detail.message);
  const isDone = said === 'exists' || (said === 'unclear' && context.uncertain);
  if (!isDone) return blockedByGate(reasonOf('gate', detail), context);
  return { kind: 'delivered', remoteId: null, contentKnown: true, by: 'answer' };
}

/** A gate may open by what happens at the platform alone, so it is asked again now and then. */
export function blockedByGate(reason: Reason, { profile, now, random }: DecideContext): Decision {
  const { recheckBlockedMs } = profile;
  if (recheckBlockedMs === 0) return { kind: 'blocked', reason };
  return { kind: 'blocked', recheckAt: now + Math.ceil(recheckBlockedMs * (0.8 + 0.4 * random)), reason };
}

/**
 * True where an earlier attempt may have taken effect and nothing but a person can tell. I6: a refusal of this attempt says
 * nothing of that one, and a replay would send it anew.
 */
function isUnreadable({ operation, uncertain }: AttemptContext): boolean {
  return uncertain && operation === 'bom_item.create';
}

function leaveToPerson(reason: Reason): Decision {
  const message = `${reason.message} An earlier attempt may have taken effect all the same, and the API cannot be asked.`;
  return { kind: 'unconfirmed', nextLookAt: null, spend: false, reason: { ...reason, message } };
}

/**
 * What becomes of a delivery in doubt that may be sent again. Once its retry limit is spent it is parked when it is
 * proven `absent`, or when writing it twice is writing it once, so that a replay or a change of its row may follow; otherwise
 * it stays in doubt for a person. With `refund` its last attempt does not count.
 */
export function decideResend(context: ResendContext, reason: Reason, absent: boolean): Decision {
  const { dueAt, refund } = context;
  const attempts = context.attempts - (refund ? 1 : 0);
  if (attempts < context.profile.retry.attemptsMax) return { kind: 'resend', dueAt, absent, refund, reason };
  const message = `${context.attempts} attempts were made and none had a clear answer. The last one: ${reason.message}`;
  const spent: Reason = { ...reason, code: 'exhausted', message };
  if (absent) return { kind: 'parked', reason: spent };
  // I3: by the time that it is looked at, what was lost can no longer land behind what follows.
  if (isRepeatable(context)) return { kind: 'parked', reason: spent, open: true };
  return { kind: 'unconfirmed', nextLookAt: null, spend: false, reason: spent };
}

/** An answer as the reason for where a delivery is. */
export function reasonOf(code: ReasonCode, detail: OutcomeDetail): Reason {
  return {
    code,
    message: detail.message,
    ...(detail.status === null ? {} : { status: detail.status }),
    ...(detail.fields ? { fields: detail.fields } : {}),
  };
}
