// What an answer to a bulk import means for each of its members.
//
// A bad row costs only itself. Where the answer tells the members apart, each gets its own decision. Where an import is
// refused as a whole its members go out again in ever smaller company, until the one at fault is alone; so they do after a
// 500, or the second time that nobody knows what became of the same import. A delivery uses up attempts only while it is alone, since
// in company nobody knows whose fault it was; the halving bounds how often it goes out before that.

import type { MemberOutcome, Outcome, OutcomeDetail } from '../../domain/outcome.ts';
import type { ClaimedDelivery, ClaimedRequest } from '../../domain/ports/claim.ts';
import type { Decision } from '../../domain/ports/decision.ts';
import type { RemoteItem } from '../../domain/ports/target.ts';
import type { SentProduct, UnconfirmedDelivery } from '../../domain/ports/unconfirmed.ts';
import type { Profile } from '../../domain/profile.ts';
import type { Reason } from '../../domain/reason.ts';
import { canonicalJson } from '../../lib/canonical-json.ts';
import type { JsonValue } from '../../lib/json.ts';
import type { ListingMatch } from '../unconfirmed/listing-match.ts';
import { unprovenReason, withSentence } from '../unconfirmed/unconfirmed-reasons.ts';
import { boundedWaitMs, decide, decideResend, type ResendContext, reasonOf } from './decide.ts';
import { backoffMs, resendDelayMs } from './waits.ts';

/** How often the same import goes out before it is taken apart. */
const SENDS_MAX = 2;

export interface ImportContext {
  profile: Profile;
  now: number;
  /** Whether the API is well and has taken others since it could not take one of the members. */
  takesOthers: boolean;
  /** Whether the API refuses this import the scope that it takes from others. */
  forbidden: boolean;
  /** In [0, 1), for the jitter. */
  random: number;
}

/** What becomes of an import: a decision for each member in their order, and the company they may keep. */
export interface ImportDecision {
  decisions: Decision[];
  /** Whether the import goes out again as it is. */
  keep: boolean;
  /** How many may go together from now on; null for as many as before. */
  groupMax: number | null;
}

/** What becomes of the members of an import after an attempt. Pure. */
export function decideImport(
  outcome: Outcome,
  { members, sends }: Pick<ClaimedRequest, 'members' | 'sends'>,
  context: ImportContext,
): ImportDecision {
  const again = sends > 1;
  const alone = members.length === 1;
  const half = Math.ceil(members.length / 2);
  const each = (
    decisionOf: (member: ClaimedDelivery, index: number) => Decision,
    company: Partial<Omit<ImportDecision, 'decisions'>> = {},
  ): ImportDecision => ({ decisions: members.map(decisionOf), keep: false, groupMax: null, ...company });
  const single = (member: ClaimedDelivery): Decision =>
    decide(outcome, {
      operation: 'product.import',
      attempts: member.attempts,
      uncertain: again,
      busySince: null,
      awaySince: member.awaySince,
      ...context,
      takesOthers: alone && context.takesOthers,
    });
  const eachByAnswer = (outcomes: readonly MemberOutcome[] = []): ImportDecision =>
    each((member, index) => decideMember(outcomes[index] ?? { kind: 'unknown' }, member, context));

  switch (outcome.kind) {
    case 'accepted':
      return eachByAnswer(outcome.members);
    case 'refused':
      if (outcome.members) return eachByAnswer(outcome.members);
      if (outcome.endpoint) return each(() => blocked(noImport(outcome.detail)));
      return alone ? each(single) : each(() => splitAgain(outcome.detail, members.length, context), { groupMax: half });
    case 'gated':
    case 'exists':
      return alone ? each(single) : each(() => splitAgain(outcome.detail, members.length, context), { groupMax: half });
    case 'unavailable':
      // One of them may be what the API cannot take: that is found out as after a refusal.
      if (alone || outcome.local || !context.takesOthers) return each(single, { keep: again });
      return each(again ? (member) => decideAway(outcome.detail, member, context) : single, { groupMax: half });
    case 'throttled':
    case 'denied':
      if (context.forbidden && !alone) {
        return each(() => splitAgain(outcome.detail, members.length, context), { groupMax: half });
      }
      // Without an effect the import may be taken apart, unless an earlier attempt of it may have had one.
      return each(single, { keep: again });
    case 'in_flight': {
      // The platform is at work on this very import, so it may have arrived. Each time it says so the next question comes
      // later, and after as many times as there are attempts each costs one: it is not asked for ever.
      const nextLookAt = context.now + Math.max(backoffMs({ attempts: sends, ...context }), 1);
      const reason = reasonOf('in_flight', outcome.detail);
      const spend = sends > context.profile.retry.attemptsMax;
      return each(() => ({ kind: 'unconfirmed', nextLookAt, spend, reason }), { keep: true });
    }
    case 'ambiguous': {
      const keep = alone || (sends < SENDS_MAX && !isRowFault(outcome.detail, context));
      const waitMs = resendDelayMs(outcome.cause, { ...context, attempts: attemptsOf(members) });
      const nextLookAt = context.now + Math.max(waitMs, boundedWaitMs(outcome));
      const reason = reasonOf(outcome.cause, outcome.detail);
      return each(() => ({ kind: 'unconfirmed', nextLookAt, spend: alone, reason }), {
        keep,
        groupMax: keep ? null : half,
      });
    }
  }
}

/** A 500 comes from the API itself, which has most likely met a row that it cannot digest; nothing is lost by asking in halves. */
function isRowFault({ status }: OutcomeDetail, { profile }: ImportContext): boolean {
  return status === 500 && profile.productUpdate === 'import';
}

/** An import that may have arrived with an earlier attempt is looked at anew before it is taken apart. */
function decideAway(detail: OutcomeDetail, { awaySince }: ClaimedDelivery, context: ImportContext): Decision {
  const nextLookAt = context.now + resendDelayMs('reset', { ...context, attempts: 0 });
  const reason: Reason = { ...reasonOf('unavailable', detail), since: awaySince ?? context.now };
  return { kind: 'unconfirmed', nextLookAt, spend: false, reason };
}

/** What the answer's word on one member means for it. */
function decideMember(outcome: MemberOutcome, member: ClaimedDelivery, context: ImportContext): Decision {
  const { now } = context;
  switch (outcome.kind) {
    case 'accepted': {
      const { effect, remoteId } = outcome;
      const other = remoteId !== null && member.remoteId !== null && !isSameId(remoteId, member.remoteId);
      if (effect === 'created' && other && remoteId !== null) {
        return blocked(notUpserted(member.remoteId, remoteId));
      }
      // An update was expected: what was created under an unknown id, or stored under another one, is to be looked at.
      if ((effect === 'created' && remoteId === null) || (effect === null && other)) {
        return unclear(STRANGE, member, context);
      }
      return { kind: 'delivered', remoteId: member.remoteId ?? remoteId, contentKnown: true, by: 'answer' };
    }
    case 'refused':
      return { kind: 'rejected', reason: reasonOf('refused', outcome.detail) };
    case 'untouched':
      return { kind: 'retry', dueAt: now, spend: false, reason: { code: 'untouched', message: UNTOUCHED } };
    case 'unknown':
      return unclear(UNTOLD, member, context);
  }
}

const UNTOUCHED = 'Others in the same import were refused, so that it was not stored either.';
const UNTOLD = 'The answer to the import does not say what became of this product.';
const STRANGE = 'The answer to the import does not say whether this product was updated or made a second time.';

/** The platform may work on what it has accepted for a while yet: each look that finds nothing makes the next one later. */
function unclear(message: string, { attempts }: ClaimedDelivery, { profile, now }: ImportContext): Decision {
  const lookMs = Math.max(profile.settlingDelayMs.reset, 1) * 2 ** Math.min(attempts, 16);
  const nextLookAt = now + Math.min(lookMs, Math.max(profile.retry.backoff.capMs, profile.settlingDelayMs.reset));
  return { kind: 'unconfirmed', nextLookAt, spend: true, reason: { code: 'unclear', message } };
}

function splitAgain(detail: OutcomeDetail, count: number, { now }: ImportContext): Decision {
  const message = `An import of ${count} products was refused as a whole: ${detail.message} They go out again in smaller imports, to find what is at fault.`;
  return { kind: 'retry', dueAt: now, spend: false, reason: { ...reasonOf('refused', detail), message } };
}

function attemptsOf(members: readonly ClaimedDelivery[]): number {
  return Math.max(0, ...members.map(({ attempts }) => attempts));
}

/** For good, until a person or a change of the item asks again: no time mends it. */
function blocked(reason: Reason): Decision {
  return { kind: 'blocked', reason };
}

function noImport(detail: OutcomeDetail): Reason {
  const message = `The API does not take bulk imports: ${detail.message} Set \`productUpdate: none\` in the profile, or fix what the answer names and run \`dpp-sync replay\`.`;
  return { ...reasonOf('unsupported', detail), message };
}

function notUpserted(known: JsonValue, other: JsonValue): Reason {
  const message = `The import did not update the product ${show(known)}: the platform has it a second time now, as ${show(other)}. Remove the second one there, and set \`productUpdate: none\` in the profile unless the platform can be made to update by SKU.`;
  return { code: 'not_upserted', message };
}

/**
 * What becomes of a member of which the answer said nothing, after a complete listing.
 *
 * Only fields that the listing shows are compared. That they are equal proves the write where one of them was to change,
 * or where all that was sent is shown; a field that differs disproves it, and so does a product that is not there. Sending
 * it again is safe then: an import that updates may be written twice. So it is where the listing neither shows the product nor
 * rules it out, but then nothing is proven, and what it wrote may be there.
 *
 * @param sighting what is listed under its natural key
 */
export function decideReadBack(
  delivery: UnconfirmedDelivery & { sent: SentProduct },
  { found, unclear }: ListingMatch,
  context: ResendContext,
): Decision {
  const { sent, reason } = delivery;
  if (unclear !== null && found.length === 0) {
    if (context.profile.productUpdate === 'import') return decideResend(context, withSentence(reason, unclear), false);
    return { kind: 'unconfirmed', nextLookAt: null, spend: false, reason: unprovenReason(reason, unclear) };
  }
  const own = found.find(({ remoteId }) => sent.remoteId === null || isSameId(remoteId, sent.remoteId));
  const standing = own === undefined ? 'differs' : compare(sent, own);
  if (standing === 'equal') {
    return { kind: 'delivered', remoteId: sent.remoteId ?? own?.remoteId ?? null, contentKnown: true, by: 'read_back' };
  }
  if (standing === 'hidden') {
    return { kind: 'unconfirmed', nextLookAt: null, spend: false, reason: withSentence(reason, HIDDEN) };
  }
  const double = found.find((one) => one !== own && compare(sent, one) === 'equal');
  if (double) return blocked(notUpserted(sent.remoteId, double.remoteId));
  const words = withSentence(reason, own === undefined ? ABSENT : DIFFERS);
  // It is known to have had no effect. Settling it stages what is desired by now, by whatever way the profile leaves open.
  if (context.profile.productUpdate === 'none') return { kind: 'parked', reason: words };
  return decideResend(context, words, true);
}

const ABSENT = 'The list of products does not show it.';
const DIFFERS = 'The list of products shows it as it was before.';
const HIDDEN = 'The list of products does not show the fields that changed, so nobody but a person can tell.';

function compare({ payload, changed }: SentProduct, { fields }: RemoteItem): 'equal' | 'differs' | 'hidden' {
  const names = Object.keys(payload);
  const shown = names.filter((name) => Object.hasOwn(fields, name));
  if (shown.some((name) => !isSameValue(payload[name] ?? null, fields[name] ?? null))) return 'differs';
  const proven = changed?.some((name) => shown.includes(name)) || shown.length === names.length;
  return proven ? 'equal' : 'hidden';
}

/** A cleared field may be shown as an empty text, and a number as the text of its digits. */
function isSameValue(sent: JsonValue, shown: JsonValue): boolean {
  if (sent === null) return shown === null || shown === '';
  if (typeof sent === 'object' || typeof shown === 'object') return canonicalJson(sent) === canonicalJson(shown);
  return String(sent) === String(shown);
}

function isSameId(a: JsonValue, b: JsonValue): boolean {
  return show(a) === show(b);
}

function show(id: JsonValue): string {
  return typeof id === 'string' ? id : canonicalJson(id);
}
