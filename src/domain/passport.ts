import type { Operation } from './delivery.ts';

/** How far a passport has come at the API: what its last acknowledged write left behind. */
export const PASSPORT_STATUSES = ['initialized', 'published', 'unpublished'] as const;
export type PassportStatus = (typeof PASSPORT_STATUSES)[number];

/** What is wanted of a passport, and by whom. A person's word stands; the policy raises everything else. */
export interface PassportDesire {
  status: PassportStatus;
  /** `missing`: the source no longer has the product. */
  because: 'policy' | 'person' | 'missing';
}

/** What happens to passports by itself. */
export interface PassportPolicy {
  init: 'when-complete' | 'manual';
  publish: 'manual' | 'auto';
}

/** All that the judgement of passports depends on besides the ledger. */
export interface PassportRules extends PassportPolicy {
  /** Sources that map BOM items or materials: nothing is complete before each of them was read and mapped as a whole. */
  partSources: readonly string[];
  /** Those of them that map BOM items. */
  bomSources: readonly string[];
  /** Sources whose missing products have their passports withdrawn. */
  withdrawMissingOf: readonly string[];
}

/** What a person asked for a passport, by the key or natural key of its product, and what came of it. */
export interface PassportAnswer {
  asked: string;
  /** The product's key; null where the ledger has no such product. */
  key: string | null;
  naturalKey: string | null;
  /**
   * `staged`: a write is on its way now. `settled`: the API has acknowledged just this already. `busy`: an earlier write
   * has to come to its end first, and this follows it. `held`: the product is not complete. `unknown`: no such product.
   */
  result: 'staged' | 'settled' | 'busy' | 'held' | 'unknown';
  /** Why it is held. */
  holds: string[];
}

/** The next write on the way from what the API acknowledged to what is desired. */
export interface PassportStep {
  operation: Extract<Operation, `passport.${string}`>;
  /** Where it leads. */
  status: PassportStatus;
}

/**
 * The next step, or null where nothing has to be done: a passport that is not public need not be withdrawn.
 *
 * @param from null until the API has acknowledged an initialisation
 */
export function nextStep(from: PassportStatus | null, to: PassportStatus): PassportStep | null {
  if (to === 'unpublished') return from === 'published' ? { operation: 'passport.unpublish', status: to } : null;
  if (from === null) return { operation: 'passport.init', status: 'initialized' };
  if (to === 'published' && from !== 'published') return { operation: 'passport.publish', status: to };
  return null;
}

/** What the policy wants of the passport of a complete product; null where it wants none. */
export function wantedByPolicy({ init, publish }: PassportPolicy): PassportStatus | null {
  if (init === 'manual') return null;
  return publish === 'auto' ? 'published' : 'initialized';
}
