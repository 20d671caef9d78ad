import { z } from 'zod';
import { normalizeDecimal } from '../../lib/decimal.ts';
import type { JsonObject } from '../../lib/json.ts';
import { type Answer, invalid, member, type Operation, textMember } from '../api/operation.ts';
import { type Collection, type Entity, materialKey, present } from '../items/collection.ts';
import { day, decimal, fraction, group, text } from '../items/fields.ts';
import type { IdScheme, ResourceId } from '../items/ids.ts';
import { validate } from '../items/validation.ts';

function bomItemCreation(ids: IdScheme) {
  return z
    .strictObject({
      product: ids.reference,
      material: ids.reference.nullish(),
      component: ids.reference.nullish(),
      quantity: decimal({ above: '0' }),
      unit: text(20).nullish(),
      per_quantity: decimal({ above: '0' }).nullish(),
      position: text(64).nullish(),
      mass: group({ value: decimal({ min: '0' }), unit: text(20) }).nullish(),
      mass_fraction: fraction().nullish(),
      valid_from: day().nullish(),
      valid_to: day().nullish(),
    })
    .refine(({ material, component }) => (material ?? null) === null || (component ?? null) === null, EXACTLY_ONE)
    .refine(({ material, component }) => (material ?? component ?? null) !== null, EXACTLY_ONE)
    .refine(({ valid_from: from, valid_to: to }) => !from || !to || from <= to, {
      path: ['valid_to'],
      error: 'Ensure this date is not before valid_from.',
    });
}

const EXACTLY_ONE = 'Exactly one of material and component is required.';

const UNSET = {
  material: null,
  component: null,
  unit: null,
  per_quantity: null,
  position: null,
  mass: null,
  mass_fraction: null,
  valid_from: null,
  valid_to: null,
};

/** The collections that the operations on BOM items use. */
interface BomCollections {
  products: Collection;
  materials: Collection;
  bomItems: Collection;
}

/**
 * POST /api/bom-items/. BOM items have no unique field: if the same body is sent twice, there are two items, like on a
 * platform without a natural key for them. So a test notices a client that sends one twice.
 */
export function createBomItemCreation(collections: BomCollections, ids: IdScheme): Operation {
  const { products, materials, bomItems } = collections;
  const schema = bomItemCreation(ids);
  return {
    accepts: schema,
    naturalKey: ({ organizationId, body }) => naturalKeyOf(collections, organizationId, body),
    execute({ organizationId, body, now }): Answer {
      const parsed = validate(schema, body);
      if (!parsed.ok) return parsed.error;
      const given = parsed.value;
      const errors: JsonObject = {};
      const resolve = (collection: Collection, name: string, id: ResourceId | null | undefined): Entity | undefined => {
        const entity = lookUp(collection, organizationId, id);
        if (id !== null && id !== undefined && !entity) {
          errors[name] = [`Invalid pk "${String(id).slice(0, 80)}" - object does not exist.`];
        }
        return entity;
      };
      const product = resolve(products, 'product', given.product);
      const material = resolve(materials, 'material', given.material);
      const component = resolve(products, 'component', given.component);
      if (product && component?.rowId === product.rowId) {
        errors.component = ['A product cannot be a component of itself.'];
      }
      if (!product || Object.keys(errors).length > 0) return invalid(errors);
      const columns = {
        product_id: product.rowId,
        material_id: material?.rowId ?? null,
        component_id: component?.rowId ?? null,
      };
      const fields = { ...UNSET, ...given } as JsonObject;
      const naturalKey = keyOf(
        { product, material, component },
        {
          position: given.position,
          quantity: given.quantity,
          unit: given.unit,
          valid_from: given.valid_from,
        },
      );
      return { status: 201, body: present(bomItems.insert(organizationId, { columns, fields, now })), naturalKey };
    },
  };
}

function lookUp(collection: Collection, organizationId: number, id: unknown): Entity | undefined {
  return typeof id === 'string' || typeof id === 'number' ? collection.get(organizationId, id) : undefined;
}

/** The natural key of a BOM item in an unchecked body; undefined if its product or part does not exist. */
function naturalKeyOf(
  { products, materials }: BomCollections,
  organizationId: number,
  body: unknown,
): string | undefined {
  const product = lookUp(products, organizationId, member(body, 'product'));
  const material = lookUp(materials, organizationId, member(body, 'material'));
  const component = lookUp(products, organizationId, member(body, 'component'));
  if (!product || (!material && !component)) return undefined;
  const given = {
    position: textMember(body, 'position'),
    quantity: normalizeDecimal(String(member(body, 'quantity')).slice(0, 100)),
    unit: textMember(body, 'unit'),
    valid_from: textMember(body, 'valid_from'),
  };
  return keyOf({ product, material, component }, given);
}

type Given = string | null | undefined;

/**
 * A JSON array of SKU, kind of part, part, position, quantity, unit and first day, with SKUs and codes in place of ids.
 *
 * @param given the quantity in its normal form
 */
function keyOf(
  { product, material, component }: { product: Entity; material: Entity | undefined; component: Entity | undefined },
  { position, quantity, unit, valid_from: from }: Record<'position' | 'quantity' | 'unit' | 'valid_from', Given>,
): string {
  return JSON.stringify([
    textMember(product.fields, 'sku'),
    material ? 'material' : 'component',
    material ? materialKey(material) : textMember(component?.fields, 'sku'),
    position ?? null,
    quantity ?? null,
    unit ?? null,
    from ?? null,
  ]);
}
