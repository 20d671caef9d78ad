// Decides what an answer to a bulk import of changed products means for each of its members. `decide-import-creates.ts` decides about
// new products.
//
// A bad row stops no other row. If the answer names the members, each gets its own decision. If the API refuses an
// import as a whole, its members are sent again in halves until the member at fault is alone. The same happens after a
// 500, and when the same import has no usable answer for the second time. A delivery uses attempts only while it is
// alone in its import, because it is unknown which member of a larger import is at fault. The halving bounds how often a
// delivery is sent before that.

import type { MemberOutcome, Outcome, OutcomeDetail, UnconfirmedCause } from '../../domain/delivery/outcome.ts';
import type { Reason } from '../../domain/delivery/stored-reason.ts';
import type { ClaimedDelivery, ClaimedRequest, Decision } from '../../domain/ports/deliveries.ts';
import type { Profile } from '../../domain/profile.ts';
import { canonicalJson, type JsonValue } from '../../lib/json.ts';
import { boundedWaitMs, decide } from './decide.ts';
import {
  backoffMs,
  readBackDelayMs,
  reasonOf,
  resendDelayMs,
  settlingDelayMs,
  WEIGHED_BY_ROW,
} from './decide-context.ts';

const PROOF: Reason = {
  code: 'change_proof',
  message:
    'No import of this size or with such an answer has shown yet that the platform updates products. The list of products has to show this product exactly once.',
};

/** How many times the same import is sent before it is split. */
const SENDS_MAX = 2;

export interface DecisionContext {
  profile: Profile;
  now: number;
  /** Whether the API is well and has accepted other deliveries since it could not accept one of the members. */
  takesOthers: boolean;
  /** Whether the API refuses this import a scope that it grants to other deliveries. */
  forbidden: boolean;
  /** Whether a list has to show each product, whatever the answer says. */
  isProof: boolean;
  /** In [0, 1), for the jitter. */
  random: number;
}

interface ImportContext extends DecisionContext {
  /** Whether earlier answers were taken without proof, because no list could be read. */
  isTaken: boolean;
}

/** A decision for each member of an import, in the order of the members, and how the members are sent again. */
export interface ImportDecision {
  decisions: Decision[];
  /** Whether the import is sent again with the same members and bytes. */
  keep: boolean;
  /** How many members may share an import from now on; null if the limit does not change. */
  groupMax: number | null;
}

type Request = Pick<ClaimedRequest, 'members' | 'sends'>;

/** Decides the next state of the members of an import after an attempt. Pure. */
export function decideImport(outcome: Outcome, request: Request, context: ImportContext): ImportDecision {
  const { members } = request;
  const isRepeat = request.sends > 1;
  const isAlone = members.length === 1;
  switch (outcome.kind) {
    case 'accepted':
      return decideByAnswer(outcome.members, request, context);
    case 'refused':
      if (outcome.members) return decideByAnswer(outcome.members, request, context);
      if (outcome.endpoint) return each(members, () => ({ kind: 'blocked', reason: noImport(outcome.detail) }));
      return isAlone ? decideEach(outcome, request, context) : split(outcome.detail, request, context);
    case 'gated':
    case 'exists':
      return isAlone ? decideEach(outcome, request, context) : split(outcome.detail, request, context);
    case 'unavailable':
      if (isAlone || outcome.local || !context.takesOthers) {
        return { ...decideEach(outcome, request, context), keep: isRepeat };
      }
      // One of the members may be the one that the API cannot accept. Halving finds it, as after a refusal.
      return isRepeat
        ? { ...each(members, (member) => decideAway(outcome.detail, member, context)), groupMax: half(members) }
        : { ...decideEach(outcome, request, context), groupMax: half(members) };
    case 'throttled':
    case 'denied':
      if (context.forbidden && !isAlone) return split(outcome.detail, request, context);
      // An import without an effect may get other members. An earlier attempt may have had an effect, so a repeat is kept.
      return { ...decideEach(outcome, request, context), keep: isRepeat };
    case 'in_flight':
      return decideBusy(outcome.detail, request, context);
    case 'ambiguous':
      return decideUnconfirmed(outcome, request, context);
  }
}

function each(members: readonly ClaimedDelivery[], decisionOf: (member: ClaimedDelivery) => Decision): ImportDecision {
  return { decisions: members.map(decisionOf), keep: false, groupMax: null };
}

const half = (members: readonly ClaimedDelivery[]): number => Math.ceil(members.length / 2);

/** Decides about each member as about a delivery that was sent alone. */
function decideEach(outcome: Outcome, { members, sends }: Request, context: ImportContext): ImportDecision {
  return each(members, ({ attempts, awaySince }) =>
    decide(outcome, {
      operation: 'product.import',
      attempts,
      uncertain: sends > 1,
      busySince: null,
      awaySince,
      ...context,
      ...WEIGHED_BY_ROW,
      takesOthers: members.length === 1 && context.takesOthers,
    }),
  );
}

/** Decides about each member from its result in the answer. */
function decideByAnswer(
  outcomes: readonly MemberOutcome[] = [],
  { members }: Request,
  context: ImportContext,
): ImportDecision {
  const decisions = members.map((member, index): Decision => {
    const decision = decideMember(outcomes[index] ?? { kind: 'unknown' }, member, context);
    if (decision.kind !== 'delivered') return decision;
    if (context.isProof) return lookUp(PROOF, 'reset', context);
    return context.isTaken ? { ...decision, unproven: 'accepted' } : decision;
  });
  return { decisions, keep: false, groupMax: null };
}

/** Sends the members of a refused import again in halves. */
function split(detail: OutcomeDetail, { members }: Request, { now }: ImportContext): ImportDecision {
  const message = `An import of ${members.length} products was refused as a whole: ${detail.message} The products are sent again in smaller imports to find the product that the platform refuses.`;
  const reason: Reason = { ...reasonOf('refused', detail), message };
  return { ...each(members, () => ({ kind: 'retry', dueAt: now, spend: false, reason })), groupMax: half(members) };
}

/**
 * The platform is still working on this import, so the import may have arrived. Each further answer of this kind makes
 * the next attempt later. After as many of these answers as a delivery has attempts, each further one uses an attempt,
 * so that the import ends.
 */
function decideBusy(detail: OutcomeDetail, { members, sends }: Request, context: ImportContext): ImportDecision {
  const spend = sends > context.profile.retry.attemptsMax;
  const settlingMs = spend ? settlingDelayMs('timeout', context.profile) : 1;
  const nextLookAt = context.now + Math.max(backoffMs({ attempts: sends, ...context }), settlingMs);
  const reason = reasonOf('in_flight', detail);
  return { ...each(members, () => ({ kind: 'unconfirmed', nextLookAt, spend, reason })), keep: true };
}

function decideUnconfirmed(
  outcome: Outcome & { kind: 'ambiguous' },
  { members, sends }: Request,
  context: ImportContext,
): ImportDecision {
  const isAlone = members.length === 1;
  // Until imports of this size are known to update, another import could make a second product.
  if (context.isProof) {
    const message = `${outcome.detail.message} The list of products shows whether the change arrived.`;
    return each(members, () => lookUp({ ...reasonOf('unclear', outcome.detail), message }, outcome.cause, context));
  }
  const keep = isAlone || (sends < SENDS_MAX && !isRowFault(outcome.detail, context));
  const attempts = Math.max(0, ...members.map((member) => member.attempts));
  const waitMs = resendDelayMs(outcome.cause, { ...context, attempts });
  const nextLookAt = context.now + Math.max(waitMs, boundedWaitMs(outcome));
  const reason = reasonOf(outcome.cause, outcome.detail);
  const { decisions } = each(members, () => ({ kind: 'unconfirmed', nextLookAt, spend: isAlone, reason }));
  return { decisions, keep, groupMax: keep ? null : half(members) };
}

/** Leaves a product unconfirmed until a list was read. */
function lookUp(reason: Reason, cause: UnconfirmedCause, context: ImportContext): Decision {
  const nextLookAt = context.now + readBackDelayMs(cause, { ...context, attempts: 0 });
  return { kind: 'unconfirmed', nextLookAt, spend: true, reason: { ...reason, since: context.now } };
}

/** A 500 comes from the API itself, which most likely cannot process one of the rows. Sending halves loses nothing. */
function isRowFault({ status }: OutcomeDetail, { profile }: ImportContext): boolean {
  return status === 500 && profile.productUpdate === 'import';
}

/** If an earlier attempt may have arrived, the members are unconfirmed until the import is split. */
function decideAway(detail: OutcomeDetail, { awaySince }: ClaimedDelivery, context: ImportContext): Decision {
  const nextLookAt = context.now + resendDelayMs('reset', { ...context, attempts: 0 });
  const reason: Reason = { ...reasonOf('unavailable', detail), since: awaySince ?? context.now };
  return { kind: 'unconfirmed', nextLookAt, spend: false, reason };
}

function noImport(detail: OutcomeDetail): Reason {
  const message = `The API does not accept bulk imports: ${detail.message} Set \`productUpdate: none\` in the profile, or fix the problem that the answer names and run \`dpp-sync replay\`.`;
  return { ...reasonOf('unsupported', detail), message };
}

interface MemberContext {
  profile: Profile;
  now: number;
}

/** Decides about one member of an import by what the answer says about it. */
function decideMember(outcome: MemberOutcome, member: ClaimedDelivery, context: MemberContext): Decision {
  switch (outcome.kind) {
    case 'accepted': {
      const { effect, remoteId } = outcome;
      const isOther = remoteId !== null && member.remoteId !== null && !isSameId(remoteId, member.remoteId);
      if (effect === 'created' && isOther) {
        return { kind: 'blocked', reason: notUpserted(member.remoteId, remoteId) };
      }
      // An update was expected. A product that was created under an unknown id, or stored under another id, is read back.
      const mayBeNew = effect === 'mixed' || (effect === 'created' && remoteId === null);
      if (mayBeNew || (effect === null && isOther)) {
        return unclear(STRANGE, member, context);
      }
      return { kind: 'delivered', remoteId: member.remoteId ?? remoteId, contentKnown: true, by: 'answer' };
    }
    case 'refused':
      return { kind: 'rejected', reason: reasonOf('refused', outcome.detail) };
    case 'untouched':
      return { kind: 'retry', dueAt: context.now, spend: false, reason: { code: 'untouched', message: UNTOUCHED } };
    case 'unknown':
      return unclear(notNamed(outcome), member, context);
  }
}

const UNTOUCHED = 'Other products in the same import were refused, so this product was not stored either.';
/** @param outcome the platform's own words are shown */
export function notNamed({ why }: MemberOutcome & { kind: 'unknown' }): string {
  const message = 'The answer to the import does not say whether this product was stored.';
  return why === undefined ? message : `${message} ${why}`;
}
const STRANGE = 'The answer to the import does not say whether this product was updated or created a second time.';

/** Reads the list back. The platform may still work on the import, so the wait doubles with each read that finds nothing. */
function unclear(message: string, { attempts }: ClaimedDelivery, { profile, now }: MemberContext): Decision {
  const waitMs = Math.max(profile.settlingDelayMs.reset, 1) * 2 ** Math.min(attempts, 16);
  const nextLookAt = now + Math.min(waitMs, Math.max(profile.retry.backoff.capMs, profile.settlingDelayMs.reset));
  return { kind: 'unconfirmed', nextLookAt, spend: true, reason: { code: 'unclear', message } };
}

/** The reason of a product that an import has created a second time. Waiting does not fix this, so a person has to. */
export function notUpserted(known: JsonValue, second: JsonValue): Reason {
  const message = `The import did not update the product ${show(known)}. The platform created a second product, ${show(second)}. Remove the second product at the platform. Set \`productUpdate: none\` in the profile, unless the platform can be set to update products by SKU.`;
  return { code: 'not_upserted', message };
}

export function isSameId(a: JsonValue, b: JsonValue): boolean {
  return show(a) === show(b);
}

function show(id: JsonValue): string {
  return typeof id === 'string' ? id : canonicalJson(id);
}
