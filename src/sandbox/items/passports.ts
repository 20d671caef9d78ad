import { z } from 'zod';
import { err, ok, type Result } from '../../lib/errors.ts';
import { member, type OperationRequest, textMember } from '../api/operation.ts';
import { type Entity, type IdScheme, materialKey, type PassportCollections } from './collection.ts';

/** `none` stands for a product without a passport, and is never stored. */
export const PASSPORT_STATES = ['none', 'initialized', 'published', 'unpublished'] as const;
export type PassportState = (typeof PASSPORT_STATES)[number];

export const PASSPORT_ACTIONS = ['init', 'publish', 'unpublish'] as const;
export type PassportAction = (typeof PASSPORT_ACTIONS)[number];

/** none → initialized → published ⇄ unpublished. A text explains in the 409 why an action is not possible. */
const TRANSITIONS: Record<PassportState, Record<PassportAction, { to: PassportState } | string>> = {
  none: {
    init: { to: 'initialized' },
    publish: 'The product has no passport yet. Initialize it first.',
    unpublish: 'The product has no passport yet.',
  },
  initialized: {
    init: 'The passport is initialized already.',
    publish: { to: 'published' },
    unpublish: 'The passport is not published.',
  },
  published: {
    init: 'The passport is initialized already.',
    publish: 'The passport is published already.',
    unpublish: { to: 'unpublished' },
  },
  unpublished: {
    init: 'The passport is initialized already.',
    publish: { to: 'published' },
    unpublish: 'The passport is unpublished already.',
  },
};

/** The state after an action, or why the action is not possible. */
export function nextState(state: PassportState, action: PassportAction): Result<PassportState, string> {
  const transition = TRANSITIONS[state][action];
  return typeof transition === 'string' ? err(transition) : ok(transition.to);
}

/** The product that a path names, within the caller's organisation. */
export function productIn(
  { products }: PassportCollections,
  ids: IdScheme,
  { organizationId, params }: OperationRequest,
): Entity | undefined {
  const id = ids.fromPath(params['product_id'] ?? '');
  return id === null ? undefined : products.get(organizationId, id);
}

/** The state of a product's passport; `none` where it has none. */
export function stateOf(passport: Entity | undefined): PassportState {
  const status = textMember(passport?.fields, 'status');
  return PASSPORT_STATES.find((state) => state === status) ?? 'none';
}

const match = z
  .string()
  .min(1)
  .optional()
  .describe(
    'The SKUs for which the condition holds, such as `BIKE-*`; `*` stands for any text. Without this setting it holds for all.',
  );

const gate = (enabled: boolean) => ({
  enabled: z.boolean().default(enabled).describe('Whether publishing asks for this condition.'),
  match,
});

const fields = (known: readonly string[], assumed: readonly string[]) =>
  z
    .array(z.enum([...known]))
    .default([...assumed])
    .describe('The fields that must have a value.');

/** The conditions for publishing a passport. Every gate can be switched off, or limited to some products. */
export const Gates = z.strictObject({
  productComplete: z
    .strictObject({
      ...gate(true),
      fields: fields(['sku', 'name', 'country_of_origin', 'description', 'gtin'], ['sku', 'name', 'country_of_origin']),
    })
    .prefault({})
    .describe('The product has a value in each of these fields.'),
  bomPresent: z.strictObject(gate(true)).prefault({}).describe('The product has at least one BOM item.'),
  materialData: z
    .strictObject({
      ...gate(true),
      fields: fields(
        ['code', 'category', 'origin_country', 'recycled_mass_fraction', 'hazardous', 'composition'],
        ['origin_country'],
      ),
    })
    .prefault({})
    .describe('Every material on the product’s own BOM has a value in each of these fields.'),
  review: z
    .strictObject(gate(false))
    .prefault({})
    .describe('A person has approved the passport, by `dpp-sync sandbox approve SKU`.'),
});
export type Gates = z.infer<typeof Gates>;

/** The data that the gates check. */
interface GateSubject {
  product: Entity;
  bomItems: Entity[];
  /** The material with this row number. */
  materialOf(bomItem: Entity): Entity | undefined;
  reviewed: boolean;
}

/** At most this many things are named in a refusal, which is enough for a person to act. */
const MISSING_MAX = 100;

/**
 * The missing things for a publication; empty if nothing is missing. They are a product's field such as
 * `country_of_origin`, `bom_items`, a material's field such as `materials[ST-1].origin_country`, or `review`.
 */
export function missingFor(gates: Gates, subject: GateSubject): string[] {
  const { product, bomItems, reviewed } = subject;
  const sku = textMember(product.fields, 'sku') ?? '';
  const stands = (one: { enabled: boolean; match?: string | undefined }) =>
    one.enabled && (one.match === undefined || matches(one.match, sku));

  const missing = new Set<string>();
  if (stands(gates.productComplete)) {
    for (const field of gates.productComplete.fields) if (isUnknown(product, field)) missing.add(field);
  }
  if (stands(gates.bomPresent) && bomItems.length === 0) missing.add('bom_items');
  if (stands(gates.materialData)) {
    for (const bomItem of bomItems) {
      const material = subject.materialOf(bomItem);
      for (const field of material ? gates.materialData.fields : []) {
        if (material && isUnknown(material, field)) missing.add(`materials[${materialKey(material)}].${field}`);
      }
      if (missing.size > MISSING_MAX) break;
    }
  }
  if (stands(gates.review) && !reviewed) missing.add('review');
  return [...missing].slice(0, MISSING_MAX);
}

function isUnknown(entity: Entity, field: string): boolean {
  return (member(entity.fields, field) ?? null) === null;
}

/** True when the text is the pattern with each `*` replaced by some text. */
function matches(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
  let from = first.length;
  const end = text.length - last.length;
  for (const part of rest) {
    const at = text.slice(0, end).indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return from <= end;
}
