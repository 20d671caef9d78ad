import { canonicalJson } from '../lib/json.ts';
import type { Operation } from './delivery/operation.ts';
import type { Reason } from './delivery/stored-reason.ts';
import { fault } from './faults.ts';
import { fieldNamesOf } from './item.ts';
import { PASSPORTS } from './words/states.ts';

/**
 * The state of a passport: the last one that the API has acknowledged, or why it does not change. `incomplete`: the
 * policy wants it, and its product is not complete. `unpublished`: it was withdrawn, or a person has withdrawn it before
 * it was published. `none`: the passport is not wanted, or its first write is not
 * acknowledged yet. `blocked`: the passport needs a person.
 */
export type PassportState = keyof typeof PASSPORTS;
export const PASSPORT_STATES = Object.keys(PASSPORTS) as PassportState[];

export type PassportCounts = Partial<Record<PassportState, number>>;

/** The state of a passport at the API after its last acknowledged write. */
export const PASSPORT_STATUSES = ['initialized', 'published', 'unpublished'] as const;
export type PassportStatus = (typeof PASSPORT_STATUSES)[number];

/**
 * The wanted state of a passport, and who wants it. The request of a person stays in force. In all other cases the
 * policy decides.
 */
export interface PassportDesire {
  /** `none`: neither the policy nor a person wants a passport, and none was initialised. */
  status: PassportStatus | 'none';
  /** `missing`: the source no longer has the product. */
  because: 'policy' | 'person' | 'missing';
  /**
   * For a missing product whose passport a person had published: the passport is published again when the product is
   * back.
   */
  restore?: true;
  /** The passport had this state when its product was adopted, so no policy changes it. */
  found?: true;
}

/** What the policy does with passports that no person has decided about. */
interface PassportPolicy {
  init: 'when-complete' | 'manual';
  publish: 'manual' | 'auto';
}

/** The settings by which passports are evaluated and their states are explained. */
export interface PassportRules extends PassportPolicy {
  /** False if the config has no `passports` section, so that the policy is the default. */
  isConfigured: boolean;
  /** All sources of the config: no passport waits for rows of other sources. */
  sources: readonly string[];
  /**
   * Sources that map BOM items or materials: no product is complete before each of these sources was read and mapped
   * completely.
   */
  partSources: readonly string[];
  /** Those of `partSources` that map BOM items. */
  bomSources: readonly string[];
  /** Sources whose missing products have their passports withdrawn. */
  withdrawMissingOf: readonly string[];
  /**
   * The fields that the mappings give products, by stream. Streams with a module are left out, because a module may
   * give any fields.
   */
  mappedFields: readonly MappedFields[];
}

/** A person's request for a passport, by the key or natural key of its product, and its result. */
export interface PassportAnswer {
  asked: string;
  /** The product's key; null if the ledger has no such product. */
  key: string | null;
  naturalKey: string | null;
  /**
   * `staged`: the write is staged. `settled`: the passport already has this state. `busy`: an earlier write has to end
   * first; then the requested write is staged. `incomplete`: the product is not complete. `unknown`: there is no such
   * product.
   */
  result: 'staged' | 'settled' | 'busy' | 'incomplete' | 'unknown';
  /** Why the passport has to wait, in sentences. */
  blockers: string[];
}

/** Some products whose passports are not published. */
export interface UnpublishedPage {
  /** Keys of products that are complete. */
  complete: string[];
  /** Products that are not complete, each with its blockers. */
  incomplete: { key: string; naturalKey: string | null; blockers: string[] }[];
  /** Products whose passports a person has withdrawn. */
  withdrawn: number;
  lastKey: string | null;
}

/** The next write that brings a passport from the acknowledged state to the desired one. */
interface PassportStep {
  operation: Extract<Operation, `passport.${string}`>;
  /** The state of the passport after this write. */
  status: PassportStatus;
}

/**
 * The next step; null if none is needed. A passport that is not public need not be withdrawn.
 *
 * @param from null before the API has acknowledged an initialisation
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
 * The status of a passport after a write.
 *
 * @throws Fault `internal` for an operation that is about no passport
 */
export function statusAfter(operation: Operation | null): PassportStatus {
  const status = operation === null ? undefined : STATUS_AFTER[operation];
  if (status === undefined) throw fault('internal', `The operation ${operation} is about no passport.`);
  return status;
}

/** A status as the content of a passport, in the canonical form. */
export function statusText(status: PassportStatus): string {
  return canonicalJson({ status });
}

/** The status that the policy wants for the passport of a complete product; null if it wants no passport. */
export function wantedByPolicy({ init, publish }: PassportPolicy): PassportStatus | null {
  if (init === 'manual') return null;
  return publish === 'auto' ? 'published' : 'initialized';
}

/** The facts about a product and its passport that the policy needs. */
interface PassportStanding {
  desire: PassportDesire | null;
  acknowledged: PassportStatus | null;
  /** Whether the source no longer has the product, or no record makes it any more. */
  gone: boolean;
}

/**
 * The new desire of a passport; null if the desire does not change. If the policy now wants fewer steps, a step that the
 * API has not acknowledged is taken back. A public passport stays public until a person withdraws it.
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
  // If a passport was withdrawn because its product was missing, only the policy publishes it again.
  const status = acknowledged === 'unpublished' && wanted !== 'published' ? 'unpublished' : wish;
  if (desire === null) return status === 'none' ? null : { status, because: 'policy' };
  return desire.status === status ? null : { status, because: 'policy' };
}

/** The fields that the mappings of a stream give its products. */
export interface MappedFields {
  source: string;
  stream: string;
  /** The place of the first of these mappings in the config, such as `sources[0].mappings[1]`. */
  path: string;
  fields: readonly string[];
}

/** The stream that a product comes from. */
type FromStream = Pick<MappedFields, 'source' | 'stream'>;

/**
 * The advice about fields of a product that a business rule names in a refusal and that no mapping of the product's
 * stream gives. In full sentences; null if there are no such fields.
 *
 * @param mappedFields of all streams whose fields are known
 */
export function unmappedCure(
  reason: Reason,
  product: FromStream | null,
  mappedFields: readonly MappedFields[],
): string | null {
  const mapped = mappedFields.find(({ source, stream }) => source === product?.source && stream === product.stream);
  if (reason.code !== 'gate' || mapped === undefined) return null;
  const words = wordsOf(reason);
  const [first, ...others] = fieldNamesOf('product').filter((name) => words.has(name) && !mapped.fields.includes(name));
  if (first === undefined) return null;
  const names = [first, ...others].join(', ');
  return `No mapping gives ${names} to the product. Add ${others.length === 0 ? 'it' : 'them'} to \`fields\` of ${mapped.path} in the config.`;
}

/** The words of a refusal, without the marks around them: the platform may name a field in a sentence, as a key or in a list. */
function wordsOf({ message, fields = {} }: Reason): ReadonlySet<string> {
  const texts = [message, ...Object.entries(fields).flat()];
  return new Set(texts.flatMap((text) => text.split(/[\s,;:]+/)).map((word) => word.replace(/^\W+|\W+$/g, '')));
}
