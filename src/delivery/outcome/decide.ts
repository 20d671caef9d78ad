import type { DeliveryState } from '../../domain/delivery/delivery.ts';
import { askedWaitMs, type Outcome, type OutcomeDetail } from '../../domain/delivery/outcome.ts';
import type { Reason } from '../../domain/delivery/reason.ts';
import { unconfirmedPolicy } from '../../domain/delivery/unconfirmed-policy.ts';
import type { Decision } from '../../domain/ports/decision.ts';
import { decideAccepted } from './decide-accepted.ts';
import { type AttemptContext, readBackDelayMs, reasonOf, resendDelayMs } from './decide-context.ts';
import { decideBusinessRule, decideExists, decideForbidden, decideRefused } from './decide-refusal.ts';

/** The state of a delivery after each decision. */
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

/** Decides the next state of a delivery after an attempt. Pure. */
export function decide(outcome: Outcome, context: AttemptContext): Decision {
  switch (outcome.kind) {
    case 'accepted':
      return decideAccepted(outcome, context);
    case 'exists':
      return decideExists(outcome.detail, context);
    // These outcomes do not depend on the delivery, so they use no attempt.
    case 'throttled':
      return decideDeferred('throttled', outcome.detail, context);
    case 'denied':
      if (context.forbidden) return decideForbidden(outcome.detail, context);
      return {
        kind: 'retry',
        dueAt: context.now,
        spend: false,
        reason: reasonOf(`denied_${outcome.by}`, outcome.detail),
      };
    case 'unavailable':
      return outcome.local ? decideDeferred('local', outcome.detail, context) : decideAway(outcome, context);
    case 'in_flight':
      return decideBusy(outcome.detail, context);
    case 'gated':
      return decideBusinessRule(outcome, context);
    case 'refused':
      return decideRefused(outcome, context);
    case 'ambiguous':
      return decideUnconfirmed(outcome, context);
  }
}

/** No usable answer came. The write is read back, or sent again if that is safe. */
function decideUnconfirmed(outcome: Outcome & { kind: 'ambiguous' }, context: AttemptContext): Decision {
  const { operation, profile, now } = context;
  const reason = reasonOf(outcome.cause, outcome.detail);
  const isReadBack = unconfirmedPolicy(operation, profile) === 'read_back';
  const waitMs = isReadBack ? readBackDelayMs(outcome.cause, context) : resendDelayMs(outcome.cause, context);
  const askedMs = boundedWaitMs(outcome);
  return { kind: 'unconfirmed', nextLookAt: now + Math.max(waitMs, askedMs), spend: true, reason };
}

/**
 * Defers a delivery that the API did not look at. The delivery keeps the time since which the API could not accept it.
 * Otherwise a delivery that always fails would never reach its limit.
 */
function decideDeferred(
  code: 'throttled' | 'local',
  detail: OutcomeDetail,
  { now, awaySince }: AttemptContext,
): Decision {
  const since = awaySince === null ? {} : { since: awaySince };
  return { kind: 'retry', dueAt: now, spend: false, reason: { ...reasonOf(code, detail), ...since } };
}

/** If the API has not accepted a delivery for longer than this while it accepts others, an outage is not the cause. */
const AWAY_MAX_MS = 25 * 3_600_000;
/** The upper bound of the waits after the API has been away for long. */
const AWAY_WAIT_MAX_MS = 300_000;
/** The longest wait that an answer can ask for. */
const DEFER_MAX_MS = 3_600_000;

/** How long to wait because of an answer, in milliseconds, up to `DEFER_MAX_MS`. */
export function boundedWaitMs(outcome: Outcome): number {
  return Math.min(askedWaitMs(outcome) ?? 0, DEFER_MAX_MS);
}

/**
 * Handles an API that is away, or that says so about this delivery alone. The longer this lasts, the less often the
 * delivery is sent. If the API accepts other deliveries, this delivery is at fault: it uses attempts and is parked at its
 * own limit. Otherwise it uses no attempt.
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

/**
 * Ends the attempts of a delivery that the API was not able to accept. If an earlier attempt may have had an effect, the
 * delivery is unconfirmed. Otherwise its state is `parked`, and a person has to decide.
 */
function exhausted(reason: Reason, context: AttemptContext): Decision {
  if (context.uncertain) return { kind: 'unconfirmed', nextLookAt: context.now, spend: true, reason };
  const message = `The API was not able to accept this write for more than a day, while it accepted other writes. The last answer: ${reason.message}`;
  return { kind: 'parked', reason: { ...reason, code: 'exhausted', message } };
}

/** If the platform works on a request for longer than this, the request counts as lost there. */
const BUSY_MAX_MS = 600_000;

/**
 * The platform is still working on an earlier send of this revision. If the delivery is sent again under the same key,
 * the platform answers with the result of that send. The longer this takes, the less often the delivery is sent. The
 * delivery uses no attempt up to `BUSY_MAX_MS`.
 */
function decideBusy(detail: OutcomeDetail, context: AttemptContext): Decision {
  const { now, profile, random, operation } = context;
  const since = Math.min(context.busySince ?? now, now);
  const reason: Reason = { ...reasonOf('in_flight', detail), since };
  const { baseMs, capMs } = profile.retry.backoff;
  if (now - since < BUSY_MAX_MS) {
    const boundMs = Math.min(capMs, Math.max(baseMs, now - since));
    const dueAt = now + Math.max(1, Math.floor(random * boundMs));
    return { kind: 'retry', dueAt, spend: false, uncertain: true, reason };
  }
  const isReadBack = unconfirmedPolicy(operation, profile) === 'read_back';
  const waitMs = isReadBack ? readBackDelayMs('timeout', context) : resendDelayMs('timeout', context);
  return { kind: 'unconfirmed', nextLookAt: now + waitMs, spend: true, reason };
}
