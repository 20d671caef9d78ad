import type { DeliveryState } from '../../domain/delivery/delivery.ts';
import { kindOf, type Operation, showsInPublications, unconfirmedPolicy } from '../../domain/delivery/operation.ts';
import {
  askedWaitMs,
  type Evidence,
  type Outcome,
  type OutcomeDetail,
  provesAll,
  type UnprovenCause,
} from '../../domain/delivery/outcome.ts';
import { hasTrait, type Reason } from '../../domain/delivery/stored-reason.ts';
import { remoteIdText } from '../../domain/item.ts';
import type { Decision, NamedDelivery, RequestSettlement } from '../../domain/ports/deliveries.ts';
import type { ListableKind } from '../../domain/ports/target.ts';
import type { Profile } from '../../domain/profile.ts';
import { kindWord } from '../../domain/words/states.ts';
import type { JsonValue } from '../../lib/json.ts';
import {
  type AttemptContext,
  type ProofContext,
  REST_MAX_MS,
  readBackDelayMs,
  reasonOf,
  resendDelayMs,
} from './decide-context.ts';
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

// Decides about a delivery whose answer is a success. The write counts as done only if the evidence of the answer is
// strong enough. Otherwise a list of the platform has to show it. Where no list can show it, the profile decides.

/** What happens to a delivery whose answer proves too little. */
type Weighed =
  | { kind: 'done' }
  /** A list is read. */
  | { kind: 'look_up' }
  /** The write is sent once more, which does no harm. */
  | { kind: 'send_again' }
  /** The answer is taken without proof. */
  | { kind: 'take'; unproven: UnprovenCause }
  /** A person decides. */
  | { kind: 'hold' };

/** Weighs an answer. Pure; a table of tests has every case. */
export function weigh(
  operation: Operation,
  evidence: Evidence,
  context: ProofContext & { withoutProof: Profile['answers']['withoutProof']; isRepeat: boolean },
): Weighed {
  const { echoedBefore, readable, isRepeat } = context;
  if (provesAll(operation, evidence, { echoedBefore })) return { kind: 'done' };
  switch (operation) {
    case 'product.create':
    case 'material.create':
    case 'material.update':
    case 'passport.publish':
    case 'passport.unpublish':
      return readable === 'yes' ? { kind: 'look_up' } : withoutList(operation, evidence, context);
    case 'bom_item.create':
      return withoutList(operation, evidence, context);
    case 'passport.init':
      // No list shows a passport that is initialised. If it is not, its publication will fail.
      return isRepeat ? { kind: 'done' } : { kind: 'send_again' };
    // The rows of an import are weighed one by one.
    case 'product.import':
    case 'product.update':
    case 'bom_item.update':
      return { kind: 'done' };
  }
}

/** Weighs an answer that no list can confirm. */
export function withoutList(
  operation: Operation,
  evidence: Evidence,
  { echoedBefore, readable, withoutProof }: ProofContext & { withoutProof: Profile['answers']['withoutProof'] },
): Weighed {
  // An unknown word means unclear, never done.
  if (evidence === 'unknown_word') return { kind: 'hold' };
  const isNewItem = operation === 'product.create' || operation === 'material.create';
  if (isNewItem && !echoedBefore) {
    return { kind: 'take', unproven: readable === 'assumed_empty' ? 'assumed_empty' : 'unlisted' };
  }
  return withoutProof === 'hold' ? { kind: 'hold' } : { kind: 'take', unproven: 'accepted' };
}

/** Decides the next state of a delivery after an answer with a 2xx. Pure. */
function decideAccepted(outcome: Outcome & { kind: 'accepted' }, context: AttemptContext): Decision {
  const { operation, profile, now, uncertain } = context;
  const { evidence, remoteId, shownAs } = outcome;
  const delivered: Decision = {
    kind: 'delivered',
    remoteId,
    contentKnown: true,
    by: 'answer',
    ...(shownAs !== undefined && { shownAs }),
  };
  const weighed = weigh(operation, evidence, {
    ...context,
    withoutProof: profile.answers.withoutProof,
    isRepeat: uncertain,
  });
  const reason = weakReason(operation, outcome);
  switch (weighed.kind) {
    case 'done':
      return delivered;
    case 'take':
      return { ...delivered, unproven: weighed.unproven };
    case 'look_up':
      return {
        kind: 'unconfirmed',
        nextLookAt: now + REST_MAX_MS,
        spend: true,
        reason: { ...reason, since: now, atRest: true },
      };
    case 'send_again':
      return { kind: 'retry', dueAt: now + resendDelayMs('reset', context), spend: true, uncertain: true, reason };
    case 'hold':
      return { kind: 'unconfirmed', nextLookAt: null, spend: true, reason: heldReason(operation, reason) };
  }
}

/** The reason of a write whose answer proves too little. */
function weakReason(operation: Operation, { remoteId, words }: Outcome & { kind: 'accepted' }): Reason {
  if (showsInPublications(operation)) {
    const done = operation === 'passport.publish' ? 'public' : 'withdrawn';
    if (words === undefined)
      return { code: 'pending', message: `The answer does not say that the passport is ${done}.` };
    const message = `The platform answered ${JSON.stringify(words)}, which does not say that the passport is ${done}.`;
    return { code: 'pending', message, words };
  }
  const id = remoteId === null ? '' : ` names the id ${JSON.stringify(remoteIdText(remoteId))} and`;
  const answered = remoteId !== null && { answeredId: remoteId };
  if (words !== undefined) {
    const named = remoteId === null ? ' repeats what was sent and' : id;
    return {
      code: 'unechoed',
      message: `The answer is a success that${named} states a problem: ${words}`,
      words,
      ...answered,
    };
  }
  return { code: 'unechoed', message: `The answer${id} does not repeat what was sent.`, ...answered };
}

function whyHeld(operation: Operation, { words }: Reason): string {
  if (showsInPublications(operation)) return 'The publications cannot be read.';
  if (operation === 'product.import')
    return 'The list of products cannot be read, so no further change is imported. A later run of the source reads the list again.';
  const earlier = words === undefined ? 'Earlier answers of this platform did, and no list' : 'No list';
  return `${earlier} can show the ${kindWord(kindOf(operation))}.`;
}

/** The reason of a write that no list can confirm. A person has to look at the platform. */
export function heldReason(operation: Operation, reason: Reason): Reason {
  const settle = 'Look at the platform, and record what is there with `dpp-sync settle`.';
  const accept = 'If a 2xx of this platform is enough, set `answers.withoutProof: accept` in the profile.';
  const cause = whyHeld(operation, reason);
  const sentences = [cause, settle, ...(reason.words === undefined ? [accept] : [])].join(' ');
  return reason.message.endsWith(sentences) ? reason : { ...reason, message: `${reason.message} ${sentences}` };
}

/** A manual resolution: what a person found at the platform. */
export type ManualResolution = { said: 'delivered'; remoteId: JsonValue } | { said: 'rejected' } | { said: 'ignored' };

/**
 * Decides the next state of a delivery after a manual resolution. A write that did not arrive is rejected, so that
 * nothing is sent without the person's knowledge. A change of the row, or a replay, sends it as a new revision.
 */
export function manualDecision(
  { kind, reason }: Pick<NamedDelivery, 'kind' | 'reason'>,
  resolution: ManualResolution,
): Decision {
  if (resolution.said === 'rejected') return { kind: 'rejected', reason: NOT_ARRIVED, absent: true };
  if (resolution.said === 'ignored') return { kind: 'ignored', reason: ignoredReason(reason) };
  // An item that existed before this write, or that was written since the backup, may have other content at the
  // platform. A BOM item has no content that could be written again.
  const mayDiffer = (kind === 'product' || kind === 'material') && hasTrait(reason, 'content_unknown');
  return { kind: 'delivered', remoteId: resolution.remoteId, contentKnown: !mayDiffer, by: 'person' };
}

/** The settlement of a delivery by a manual resolution. `delivery` has the values that the person saw. */
export function manualSettlement(delivery: NamedDelivery, resolution: ManualResolution): RequestSettlement {
  const { id, revision } = delivery;
  const decision = manualDecision(delivery, resolution);
  return { claim: null, settlements: [{ id, revision, decision, seen: delivery }], keep: false, groupMax: null };
}

/**
 * The kind of item whose id the ledger needs after a create, because other items refer to it; null for other writes.
 */
export function kindToBind(operation: Operation): ListableKind | null {
  if (operation === 'product.create') return 'product';
  return operation === 'material.create' ? 'material' : null;
}

const NOT_ARRIVED: Reason = {
  code: 'person',
  message:
    'A person has reported that the write did not arrive. The item is sent again when its row changes, or by a replay.',
};

function ignoredReason({ message }: Reason): Reason {
  const before = message === '' ? '' : ` Before that: ${message}`;
  return {
    code: 'ignored',
    message: `A person has decided to leave the platform as it is. The write is sent again when its row changes, or by a replay that names it.${before}`,
  };
}
