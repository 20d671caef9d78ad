// Decides what an answer to a bulk import of new products means for each of its members.
//
// A create is never repeated on a guess (I6). Only a refusal of the key or the rate, and a request that was not
// processed, leave the members due. After any other answer, each member that the answer does not settle is unconfirmed,
// and is sent again only when a complete list lacks it: in an import of half the size, and alone in the end. So a bad
// row stops no other row.

import type { MemberOutcome, Outcome, OutcomeDetail } from '../../domain/delivery/outcome.ts';
import type { Reason, ReasonCode } from '../../domain/delivery/stored-reason.ts';
import type { ClaimedDelivery, ClaimedRequest, Decision } from '../../domain/ports/deliveries.ts';
import { boundedWaitMs, decide } from './decide.ts';
import { readBackDelayMs, reasonOf, WEIGHED_BY_ROW } from './decide-context.ts';
import { type DecisionContext, type ImportDecision, notNamed } from './decide-import.ts';

type Members = readonly ClaimedDelivery[];

/** Decides the next state of each new product of an import after the only attempt of the import. Pure. */
export function decideCreates(
  outcome: Outcome,
  { members }: Pick<ClaimedRequest, 'members'>,
  context: DecisionContext,
): ImportDecision {
  switch (outcome.kind) {
    case 'accepted':
      return byMember(outcome.members, members, context);
    case 'refused':
      if (outcome.members) return byMember(outcome.members, members, context);
      return lookUp(members, wholeReason('import_refused', outcome.detail, members), context);
    case 'gated':
      return lookUp(members, wholeReason('import_refused', outcome.detail, members), context);
    case 'exists':
      return lookUp(members, wholeReason('import_exists', outcome.detail, members), context);
    case 'throttled':
    case 'unavailable':
      return unprocessed(outcome, members, context);
    case 'denied':
      if (!context.forbidden) return unprocessed(outcome, members, context);
      return lookUp(members, wholeReason('import_refused', outcome.detail, members), context);
    case 'in_flight':
      return lookUp(members, reasonOf('in_flight', outcome.detail), context, 'timeout');
    case 'ambiguous': {
      const { cause, detail } = outcome;
      const { decisions, ...group } = lookUp(members, reasonOf(cause, detail), context, cause);
      const askedAt = context.now + boundedWaitMs(outcome);
      return { ...group, decisions: decisions.map((decision) => notBefore(decision, askedAt)) };
    }
  }
}

const half = (members: Members): number => Math.ceil(members.length / 2);

/**
 * Leaves all members unconfirmed until a list was read. Members that are not in the list are sent again in smaller
 * imports.
 */
function lookUp(
  members: Members,
  reason: Reason,
  context: DecisionContext,
  cause: Parameters<typeof readBackDelayMs>[0] = 'reset',
): ImportDecision {
  const nextLookAt = context.now + readBackDelayMs(cause, { ...context, attempts: 0 });
  const since = context.now;
  const decision: Decision = { kind: 'unconfirmed', nextLookAt, spend: true, reason: { ...reason, since } };
  return { decisions: members.map(() => decision), keep: false, groupMax: half(members) };
}

/** The platform has not worked on the import, so its members are due again. */
function unprocessed(outcome: Outcome, members: Members, context: DecisionContext): ImportDecision {
  const decisions = members.map(({ attempts, awaySince }) =>
    decide(outcome, {
      operation: 'product.create',
      attempts,
      uncertain: false,
      busySince: null,
      awaySince,
      ...context,
      ...WEIGHED_BY_ROW,
      takesOthers: members.length === 1 && context.takesOthers,
    }),
  );
  // The API accepts other deliveries, so one of the members may be at fault.
  const isSplit = outcome.kind === 'unavailable' && !outcome.local && context.takesOthers && members.length > 1;
  return { decisions, keep: false, groupMax: isSplit ? half(members) : null };
}

/** Decides about each member from its result in the answer. A member that has to be sent again is then sent alone. */
function byMember(
  outcomes: readonly MemberOutcome[] | undefined,
  members: Members,
  context: DecisionContext,
): ImportDecision {
  const decisions = members.map((_, at) =>
    decideCreate(outcomes?.[at] ?? { kind: 'unknown' }, context, members.length === 1),
  );
  const isRefused = outcomes?.some(({ kind }) => kind === 'untouched') === true;
  return { decisions, keep: false, groupMax: isRefused ? half(members) : 1 };
}

function decideCreate(outcome: MemberOutcome, context: DecisionContext, isAlone: boolean): Decision {
  const { now } = context;
  switch (outcome.kind) {
    case 'accepted':
      if (outcome.effect === 'updated' || outcome.effect === 'mixed') {
        return look({ code: 'import_exists', message: OVERWRITTEN[outcome.effect] }, context);
      }
      if (context.isProof && isAlone) return look(PROOF, context);
      if (context.isProof) {
        // An answer came, so the list may be read at once. A product that it lacks is looked up later.
        const reason: Reason = outcome.remoteId === null ? { code: 'unclear', message: ID_NOT_NAMED } : PROOF;
        return { kind: 'unconfirmed', nextLookAt: context.now, spend: true, reason: { ...reason, since: context.now } };
      }
      if (outcome.remoteId === null) return look({ code: 'unclear', message: ID_NOT_NAMED }, context);
      return { kind: 'delivered', remoteId: outcome.remoteId, contentKnown: true, by: 'answer' };
    case 'refused':
      if (outcome.exists !== true && outcome.namesItem !== true) {
        return { kind: 'rejected', reason: reasonOf('refused', outcome.detail) };
      }
      return {
        kind: 'unconfirmed',
        nextLookAt: now,
        spend: true,
        reason: { ...reasonOf(outcome.exists === true ? 'exists' : 'may_exist', outcome.detail), lookAgain: true },
      };
    case 'untouched':
      return look({ code: 'import_refused', message: UNTOUCHED }, context);
    case 'unknown':
      if (context.isProof && isAlone && outcome.why === undefined) return look(PROOF, context);
      return look({ code: 'unclear', message: notNamed(outcome) }, context);
  }
}

function look(reason: Reason, context: DecisionContext): Decision {
  const nextLookAt = context.now + readBackDelayMs('reset', { ...context, attempts: 0 });
  return { kind: 'unconfirmed', nextLookAt, spend: true, reason: { ...reason, since: context.now } };
}

function notBefore(decision: Decision, at: number): Decision {
  if (decision.kind !== 'unconfirmed' || decision.nextLookAt === null) return decision;
  return { ...decision, nextLookAt: Math.max(decision.nextLookAt, at) };
}

const ID_NOT_NAMED = 'The import has stored this product, but its answer does not name the id.';
const UNTOUCHED = 'Other products in the same import were refused.';

const OVERWRITTEN = {
  updated: 'The import of new products has changed this product, which the platform had already.',
  mixed:
    'The import of new products has changed some of its products, which the platform had already. The answer does not say which.',
};
const PROOF: Reason = {
  code: 'import_proof',
  message:
    'No import of this size or with such an answer has shown yet that the platform makes each product once. The list of products has to show this product exactly once.',
};

function wholeReason(code: ReasonCode, detail: OutcomeDetail, members: Members): Reason {
  const what = members.length === 1 ? 'An import of this product' : `An import of ${members.length} new products`;
  return { ...reasonOf(code, detail), message: `${what} was refused as a whole: ${detail.message}` };
}
