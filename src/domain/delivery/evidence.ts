// How much a success of the API proves. A 2xx alone proves little: the platform may have queued the request, or a
// server in front of the platform may have answered. Each effect of a write therefore names the evidence that it needs.
// An answer with weaker evidence leaves the write unconfirmed until a list of the platform shows its effect.
//
// An answer that contradicts the request has no strength: its outcome is `ambiguous` with the cause `crossed`.

import type { Operation } from './operation.ts';

/** The strengths of evidence, the weakest first. */
export const EVIDENCE = [
  /** The answer states a result in a word that no list of the profile has, or states that the work is not done yet. */
  'unknown_word',
  /** A 2xx whose body says nothing about the request. */
  'bare',
  /** The answer has an id, and contradicts nothing that was sent. */
  'id',
  /** The answer repeats the values that identify the request, and the result in a known word where one is needed. */
  'echo',
] as const;
export type Evidence = (typeof EVIDENCE)[number];

/** The facts that the ledger takes from an answer. */
export const EFFECTS = [
  /** The write took effect: the ledger stores what was sent as the baseline. */
  'baseline',
  /** The id belongs to this item: BOM items and passports use it. */
  'id',
  /** The passport is public, or is not public any more. */
  'published',
] as const;
type Effect = (typeof EFFECTS)[number];

type Needs = Readonly<Record<Effect, Evidence | null>>;

const NOTHING: Needs = { baseline: null, id: null, published: null };
const NEW_ITEM: Needs = { ...NOTHING, baseline: 'id', id: 'echo' };
const PUBLICATION: Needs = { ...NOTHING, published: 'echo' };

/**
 * The evidence that each effect of a write needs; null where the write has no such effect. For an import this is the
 * evidence about one row.
 */
export const NEEDED_EVIDENCE: Readonly<Record<Operation, Needs>> = {
  'product.create': NEW_ITEM,
  'product.update': NOTHING,
  'product.import': NEW_ITEM,
  'material.create': NEW_ITEM,
  // The API's document shows no bodies of answers, so a platform may answer these writes with a bare 2xx.
  'material.update': { ...NOTHING, baseline: 'bare' },
  'bom_item.create': { ...NOTHING, baseline: 'bare' },
  'bom_item.update': NOTHING,
  'passport.init': { ...NOTHING, baseline: 'bare' },
  'passport.publish': PUBLICATION,
  'passport.unpublish': PUBLICATION,
};

/**
 * Why a weak answer was taken although no list has confirmed it: `assumed_empty` and `unlisted` for the id of a new
 * item, where nothing is listed or where the list cannot be read; `accepted` where the profile says so
 * (`answers.withoutProof`).
 */
const UNPROVEN_CAUSES = ['assumed_empty', 'unlisted', 'accepted'] as const;
export type UnprovenCause = (typeof UNPROVEN_CAUSES)[number];

/** True if the evidence is as strong as needed. */
export function isEnough(evidence: Evidence, needed: Evidence): boolean {
  return EVIDENCE.indexOf(evidence) >= EVIDENCE.indexOf(needed);
}

/**
 * True if an answer with this evidence proves all effects of the write.
 *
 * @param echoedBefore whether this platform has repeated earlier requests of this operation. An answer that repeats
 *   nothing is then unusual, and proves nothing.
 */
export function provesAll(
  operation: Operation,
  evidence: Evidence,
  { echoedBefore }: { echoedBefore: boolean },
): boolean {
  return EFFECTS.every((effect) => {
    const needed = NEEDED_EVIDENCE[operation][effect];
    return needed === null || isEnough(evidence, echoedBefore ? 'echo' : needed);
  });
}
