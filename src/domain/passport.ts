import type { Operation } from './delivery.ts';
import { fault } from './faults.ts';

/** How far a passport has come at the API: what its last acknowledged write left behind. */
export const PASSPORT_STATUSES = ['initialized', 'published', 'unpublished'] as const;
export type PassportStatus = (typeof PASSPORT_STATUSES)[number];

/** What is wanted of a passport, and by whom. A person's word stands; the policy decides everything else. */
export interface PassportDesire {
  /** `none`: nobody wants one any more, and none has been initialised. */
  status: PassportStatus | 'none';
  /** `missing`: the source no longer has the product. */
  because: 'policy' | 'person' | 'missing';
  /** For a missing product whose passport a person had published: it is published again when the product is back. */
  restore?: true;
  /** It was so at the platform when its product was adopted: no policy changes it. */
  found?: true;
}

/** What happens to passports by itself. */
export interface PassportPolicy {
  init: 'when-complete' | 'manual';
  publish: 'manual' | 'auto';
}

/** All that the judgement of passports depends on besides the ledger. */
export interface PassportRules extends PassportPolicy {
  /** All sources of the config: rows of others hold nothing. */
  sources: readonly string[];
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

/** Some products whose passports are not published. */
export interface UnpublishedPage {
  /** Keys of products that are complete. */
  complete: string[];
  /** Products that are not complete, with what is missing. */
  incomplete: { key: string; naturalKey: string | null; holds: string[] }[];
  /** Products whose passports a person has withdrawn. */
  withdrawn: number;
  lastKey: string | null;
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
export function nextStep(from: PassportStatus | null, to: PassportDesire['status']): PassportStep | null {
  if (to === 'none') return null;
  if (to === 'unpublished') return from === 'published' ? { operation: 'passport.unpublish', status: to } : null;
  if (from === null) return { operation: 'passport.init', status: 'initialized' };
  if (to === 'published' && from !== 'published') return { operation: 'passport.publish', status: to };
  return null;
}

const STATUS_AFTER: Partial<Record<Operation, PassportStatus>> = {
  'passport.init': 'initialized',
  'passport.publish': 'published',
  'passport.unpublish': 'unpublished',
};

/**
 * Where a passport's write leads.
 *
 * @throws Fault `internal` for an operation that is about no passport
 */
export function statusAfter(operation: Operation | null): PassportStatus {
  const status = operation === null ? undefined : STATUS_AFTER[operation];
  if (status === undefined) throw fault('internal', `The operation ${operation} is about no passport.`);
  return status;
}

/** What the policy wants of the passport of a complete product; null where it wants none. */
export function wantedByPolicy({ init, publish }: PassportPolicy): PassportStatus | null {
  if (init === 'manual') return null;
  return publish === 'auto' ? 'published' : 'initialized';
}

/** Where a product and its passport stand, for the policy. */
export interface PassportStanding {
  desire: PassportDesire | null;
  acknowledged: PassportStatus | null;
  /** Whether the source no longer has the product, or no record makes it any more. */
  gone: boolean;
}

/**
 * What is to be desired in place of what is, or null where that stays as it is. A policy that wants less than before takes
 * back what the API has not acknowledged, and nothing else: what is public stays so until somebody withdraws it.
 */
export function revisedDesire(
  { desire, acknowledged, gone }: PassportStanding,
  { withdraws, ...policy }: PassportPolicy & { withdraws: boolean },
): PassportDesire | null {
  if (desire?.found) return null;
  if (gone) {
    if (!withdraws || desire?.status !== 'published') return null;
    const restore = desire.because === 'person' ? { restore: true as const } : {};
    return { status: 'unpublished', because: 'missing', ...restore };
  }
  if (desire?.because === 'person') return null;
  if (desire?.restore) return { status: 'published', because: 'person' };
  const wanted = wantedByPolicy(policy);
  const wish =
    acknowledged === 'published' || wanted === 'published' ? 'published' : (wanted ?? acknowledged ?? 'none');
  // What was withdrawn as its product was missing is published again by the policy alone.
  const status = acknowledged === 'unpublished' && wanted !== 'published' ? 'unpublished' : wish;
  if (desire === null) return status === 'none' ? null : { status, because: 'policy' };
  return desire.status === status ? null : { status, because: 'policy' };
}
