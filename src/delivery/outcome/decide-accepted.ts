// Decides about a delivery whose answer is a success. The write counts as done only if the evidence of the answer is
// strong enough. Otherwise a list of the platform has to show it. Where no list can show it, the profile decides.

import { type Evidence, provesAll, type UnprovenCause } from '../../domain/delivery/evidence.ts';
import { kindOf, type Operation } from '../../domain/delivery/operation.ts';
import type { Outcome } from '../../domain/delivery/outcome.ts';
import type { Reason } from '../../domain/delivery/reason.ts';
import { showsInPublications } from '../../domain/delivery/unconfirmed-policy.ts';
import type { Decision } from '../../domain/ports/decision.ts';
import type { Profile } from '../../domain/profile.ts';
import { remoteIdText } from '../../domain/remote-id.ts';
import { kindWord } from '../../domain/words/names.ts';
import type { AttemptContext, ProofContext } from './decide-context.ts';
import { REST_MAX_MS, resendDelayMs } from './decide-context.ts';

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
export function decideAccepted(outcome: Outcome & { kind: 'accepted' }, context: AttemptContext): Decision {
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
