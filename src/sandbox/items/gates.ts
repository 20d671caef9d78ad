import { z } from 'zod';
import { member, textMember } from '../api/operation.ts';
import { type Entity, materialKey } from './collection.ts';

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
