/**
 * The meaning of a 409 to a step of a passport: the passport exists, a business rule needs something else first, or the
 * message is unclear. The API document defines no codes for these cases, so the words of the message decide.
 */
export type Conflict = 'exists' | 'business_rule' | 'unclear';

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
