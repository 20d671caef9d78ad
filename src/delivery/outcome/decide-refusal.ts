// Decides about a delivery that the API has refused: by a business rule (409), for its data, for its scope, or because
// its item exists. A refused create whose item may exist is looked up, and decided by the list:
// `delivery/unconfirmed/unconfirmed-decisions.ts`.

import { isRepeatable, showsInListing, showsInPublications } from '../../domain/delivery/operation.ts';
import type { Outcome, OutcomeDetail } from '../../domain/delivery/outcome.ts';
import type { Reason } from '../../domain/delivery/stored-reason.ts';
import type { Decision } from '../../domain/ports/deliveries.ts';
import {
  type AttemptContext,
  type DecideContext,
  REST_MAX_MS,
  reasonOf,
  resendDelayMs,
  settlingDelayMs,
} from './decide-context.ts';

/** The data is wrong, or the refusal only hides that the item exists. */
export function decideRefused(outcome: Outcome & { kind: 'refused' }, context: AttemptContext): Decision {
  const reason = reasonOf('refused', outcome.detail);
  if (isUnreadable(context)) return leaveToPerson(reason);
  if (needsReadBack(context)) return readBackLater(reason, context);
  return outcome.mayExist ? mayExist(outcome, context) : { kind: 'rejected', reason };
}

/**
 * Handles a 403 that is about the item: the API has granted the scope to other deliveries since it refused this one. Only a change
 * at the platform can help, so the delivery is sent again now and then, as after a business rule.
 */
export function decideForbidden(detail: OutcomeDetail, context: AttemptContext): Decision {
  const reason = reasonOf('forbidden', detail);
  if (isUnreadable(context)) return leaveToPerson(reason);
  if (!context.uncertain || isRepeatable(context)) return blockedByRule(reason, context);
  // I6: an earlier attempt may have arrived. The delivery is read back first.
  return { kind: 'unconfirmed', nextLookAt: context.now + resendDelayMs('reset', context), spend: true, reason };
}

/**
 * Handles a 409. The API also answers 409 if an earlier attempt or a person has already brought the passport into the
 * wanted state, in any words. So the publications decide, unless the words name what has to happen first.
 */
export function decideBusinessRule(
  { detail, ...outcome }: Outcome & { kind: 'gated' },
  context: AttemptContext,
): Decision {
  const { operation } = context;
  const reason = reasonOf('gate', detail);
  if (isUnreadable(context)) return leaveToPerson(reason);
  if (operation === 'passport.init') return decideInitConflict(detail, context);
  if (needsReadBack(context)) return readBackLater(reason, context);
  if (outcome.mayExist) return mayExist({ detail }, context);
  const mayBeDone =
    showsInPublications(operation) && context.readable === 'yes' && readConflict(detail.message) !== 'business_rule';
  return mayBeDone ? readAtRest(reasonOf('conflict', detail), context) : blockedByRule(reason, context);
}

/** A create met an item with its natural key. The list shows the id. */
export function decideExists(detail: OutcomeDetail, context: AttemptContext): Decision {
  const reason: Reason = { ...reasonOf('exists', detail), lookAgain: true };
  return readBackNow(markOwn(reason, context), context);
}

/**
 * True if an earlier attempt may have taken effect and a listing can show it. I6: the refusal of this attempt proves
 * nothing about the earlier attempt. Without a read-back the next write would create the item a second time, or leave
 * an unknown passport public.
 */
function needsReadBack({ operation, uncertain }: AttemptContext): boolean {
  return uncertain && showsInListing(operation);
}

/** Reads back after the settling delay, because the earlier attempt may still be on its way. */
function readBackLater(reason: Reason, { operation, profile, now }: AttemptContext): Decision {
  const nextLookAt = now + settlingDelayMs('timeout', profile);
  const again = showsInPublications(operation) ? {} : { lookAgain: true as const };
  return { kind: 'unconfirmed', nextLookAt, spend: false, reason: { ...reason, ...again } };
}

/**
 * Handles a create whose refusal does not show whether the item exists. If an earlier attempt was lost, or the refusal names
 * the item, the item may be the result of a request, and a list that lags may have hidden it.
 */
function mayExist(
  { detail, namesItem }: { detail: OutcomeDetail; namesItem?: true },
  context: AttemptContext,
): Decision {
  const again = context.attempts > 0 || namesItem === true ? { lookAgain: true as const } : {};
  return readBackNow({ ...reasonOf('may_exist', detail), ...again }, context);
}

/**
 * Marks an item that an earlier attempt may have created: it belongs to this ledger. Any other existing item is
 * adopted.
 */
function markOwn(reason: Reason, { uncertain }: AttemptContext): Reason {
  return uncertain ? { ...reason, afterDoubt: true } : reason;
}

/** Looks for the item at the platform before a person has to correct the row. */
function readBackNow(reason: Reason, { now }: AttemptContext): Decision {
  return { kind: 'unconfirmed', nextLookAt: now, spend: false, reason };
}

const CONFLICT = 409;

/**
 * Handles a 409 to the initialising of a passport. The words may say that the passport exists, or what has to happen
 * first. Any other words are unclear: if the publications show the passport, it exists. If they do not, the passport is
 * initialised once more, which does no harm, and a second conflict means that it exists.
 */
function decideInitConflict(detail: OutcomeDetail, context: AttemptContext): Decision {
  const conflict = readConflict(detail.message);
  // A refusal in the body of a success is no conflict, whatever its words.
  const isConflict = detail.status === CONFLICT && conflict !== 'business_rule';
  if (conflict !== 'exists' && !isConflict) return blockedByRule(reasonOf('gate', detail), context);
  if (conflict === 'exists' || context.uncertain) {
    return { kind: 'delivered', remoteId: null, contentKnown: true, by: 'answer' };
  }
  const reason = reasonOf('conflict', detail);
  if (context.readable === 'yes') return readAtRest(reason, context);
  return { kind: 'retry', dueAt: context.now + resendDelayMs('reset', context), spend: true, uncertain: true, reason };
}

/**
 * Reads the publications when the other writes of the run are done: one list serves many conflicts.
 */
function readAtRest(reason: Reason, { now }: AttemptContext): Decision {
  const again: Reason = { ...reason, since: now, atRest: true };
  return { kind: 'unconfirmed', nextLookAt: now + REST_MAX_MS, spend: false, reason: again };
}

/** Blocks a delivery for a time. Only a change at the platform can help, so the delivery is sent again now and then. */
export function blockedByRule(reason: Reason, { profile, now, random }: DecideContext): Decision {
  const { recheckBlockedMs } = profile;
  if (recheckBlockedMs === 0) return { kind: 'blocked', reason };
  return { kind: 'blocked', recheckAt: now + Math.ceil(recheckBlockedMs * (0.8 + 0.4 * random)), reason };
}

/**
 * True if an earlier attempt may have taken effect and no read-back can show it. I6: the refusal of this attempt proves
 * nothing about the earlier attempt, and a replay would send the write a second time.
 */
function isUnreadable({ operation, uncertain }: AttemptContext): boolean {
  return uncertain && operation === 'bom_item.create';
}

function leaveToPerson(reason: Reason): Decision {
  const message = `${reason.message} An earlier attempt may have taken effect, and the API cannot show whether it did.`;
  return { kind: 'unconfirmed', nextLookAt: null, spend: false, reason: { ...reason, message } };
}

/**
 * The meaning of a 409 to a step of a passport: the passport exists, a business rule needs something else first, or the
 * message is unclear. The API document defines no codes for these cases, so the words of the message decide.
 */
type Conflict = 'exists' | 'business_rule' | 'unclear';

const AUXILIARY = String.raw`(?:\s+(?:is|was|are|has|had|have|been))*`;
const DONE = String.raw`(?:initiali[sz]ed|created|published|unpublished|generated|existing|present|there)`;
/** "exists already", "already exists", "is already initialised", "has already been created", "was initialized already". */
const IS_DONE = String.raw`${AUXILIARY}\s+(?:(?:already${AUXILIARY}\s+(?:exists?|${DONE}))|(?:(?:exists?|${DONE})\s+already))\b`;
/**
 * Matches a name of this product's passport. A review of the passport, or the passport of another product, does not
 * match.
 */
const PASSPORT = String.raw`(?:(?:an?|the|this|that|its|digital|product|active)\s+)*(?:passport|dpp)`;
const OF_PRODUCT = String.raw`(?:\s+(?:for|of|with|on)\s+(?:(?:this|the|that|same|given)\s+)*(?:product|item|sku|id)(?:[_ ]id)?\b(?!['’])[^,]*?)?`;

const EXISTS: readonly RegExp[] = [
  new RegExp(`^ ${PASSPORT}${OF_PRODUCT}${IS_DONE}`, 'i'),
  // The message names no object, or only the product that was initialised.
  new RegExp(`^(?: (?:it|this|the|object|resource|entry|record)\\b)*${IS_DONE}`, 'i'),
  new RegExp(
    String.raw`^ (?:(?:this|the)\s+)?product\b[^,]*?${AUXILIARY}\s+(?:already\s+(?:been\s+)?initiali[sz]ed|initiali[sz]ed\s+already)\b`,
    'i',
  ),
  /\bproduct\b[^,]*?\s(?:already has|has already) (?:an? |its )?(?:[\w-]+ ){0,3}(?:passport|dpp)\b(?!\s+[a-z])/i,
  /^ (?:duplicate|existing) (?:digital product )?(?:passport|dpp)\b(?!\s+[a-z])/i,
];
/** The message of Django for a second row of the same product. */
const UNIQUE_SET = /\bfields? [\w, ]*\bproduct\b[\w, ]* must make a unique set\b/i;
/** Words that negate a clause about an existing passport, or make it a clause about something else. */
const NEGATED =
  /\b(?:not|no|never|nor|cannot|unless|until|before|without|if|once|when|only|another|other|different|being)\b|n['’]t\b/i;

/** Words for something that has to exist or to happen first. */
const FIRST =
  /\b(?:missing|lacks?|incomplete|requires?|required|needs?|mandatory|must (?:first|have)|prerequisites?|gates?|pending|unless|until|before|reviews?|reviewers?|approv\w+|archived|locked|suspended|not (?:yet )?(?:complete|ready|approved|released|active)|bom|bill of materials|materials?|suppliers?|documents?|certificates?|quota|limit)\b/i;
/** Words that may describe an existing passport in another way. */
const MAY_EXIST =
  /\b(?:twice|again|more than once|re-?initiali[sz]\w*|second time|duplicate|unique|exists?)\b|\b(?:status|state|transition)\b|\balready (?:been )?(?:initiali[sz]ed|processed|done|handled|created)\b|\b(?:is|was|been) initiali[sz]ed\b/i;

/** Reads the message of a 409. Pure. */
export function readConflict(message: string): Conflict {
  // Each clause is a separate statement: "cannot be initialised: a passport for this product already exists".
  const clauses = message
    .split(/[.:;!?\n–—]+(?=\s|$)|,\s|\b(?:because|since|as|but)\b/i)
    .map((clause) => ` ${clause.trim()}`);
  if (UNIQUE_SET.test(message)) return 'exists';
  if (clauses.some((clause) => !NEGATED.test(clause) && EXISTS.some((form) => form.test(clause)))) return 'exists';
  return FIRST.test(message) && !MAY_EXIST.test(message) ? 'business_rule' : 'unclear';
}
