import { z } from 'zod';
import { normalizeDecimal } from '../../lib/decimal.ts';
import type { JsonObject } from '../../lib/json.ts';
import { type Answer, invalid, member, NOT_FOUND, type Operation, textMember } from '../api/operation.ts';
import {
  COLUMNS,
  type Collection,
  type Columns,
  type Entity,
  type IdScheme,
  materialKey,
  present,
  type ResourceId,
} from '../items/collection.ts';
import {
  cas,
  choice,
  country,
  type Duplicates,
  day,
  decimal,
  duplicate,
  flag,
  fraction,
  group,
  gtin,
  list,
  text,
  validate,
} from '../items/fields.ts';

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

const UNSET_BOM_ITEM = {
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
      const fields = { ...UNSET_BOM_ITEM, ...given } as JsonObject;
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

/** The schema of a product in a create, and of each row of an import. */
export const ProductCreation = z.strictObject({
  sku: text(255),
  name: text(500),
  status: choice(['DRAFT', 'ACTIVE', 'ARCHIVED']).optional(),
  country_of_origin: country().nullish(),
  description: text(10_000).nullish(),
  gtin: gtin().nullish(),
});

/** The default values of a new product. */
export const UNSET_PRODUCT = { status: 'DRAFT', country_of_origin: null, description: null, gtin: null };

/** POST /api/products/. A SKU is unique within its organisation, unless the settings allow duplicates. */
export function createProductCreation(products: Collection, duplicates: Duplicates): Operation {
  return {
    accepts: ProductCreation,
    naturalKey: ({ body }) => textMember(body, 'sku'),
    execute({ organizationId, body, now }): Answer {
      const parsed = validate(ProductCreation, body);
      if (!parsed.ok) return parsed.error;
      const { sku } = parsed.value;
      if (!duplicates.taken && products.find(organizationId, 'sku', sku)) {
        return duplicate('product', 'sku', duplicates);
      }
      const fields = { ...UNSET_PRODUCT, ...parsed.value } as JsonObject;
      const product = products.insert(organizationId, { columns: { sku }, fields, now });
      return { status: 201, body: present(product) };
    },
  };
}

const Substance = group({ name: text(500), cas: cas().nullable().default(null), mass_fraction: fraction() });

const MaterialCreation = z.strictObject({
  code: text(255).nullish(),
  name: text(500),
  description: text(10_000).nullish(),
  category: text(255).nullish(),
  origin_country: country().nullish(),
  recycled_mass_fraction: fraction().nullish(),
  hazardous: flag().nullish(),
  composition: list(Substance, 200).nullish(),
});

/** Every field may be left out, and null clears a field; only the name cannot be cleared. */
const MaterialPatch = MaterialCreation.partial();

const UNSET_MATERIAL = {
  code: null,
  description: null,
  category: null,
  origin_country: null,
  recycled_mass_fraction: null,
  hazardous: null,
  composition: null,
};

/**
 * POST /api/materials/. A code is unique within its organisation; among materials without a code, the name is unique.
 */
export function createMaterialCreation(materials: Collection, duplicates: Duplicates): Operation {
  return {
    accepts: MaterialCreation,
    naturalKey: ({ body }) => textMember(body, 'code') ?? textMember(body, 'name'),
    execute({ organizationId, body, now }): Answer {
      const parsed = validate(MaterialCreation, body);
      if (!parsed.ok) return parsed.error;
      const fields = { ...UNSET_MATERIAL, ...parsed.value } as JsonObject;
      const columns = columnsOf(fields);
      const clash = duplicates.taken ? undefined : clashOf({ materials, duplicates }, organizationId, columns);
      if (clash) return clash;
      return { status: 201, body: present(materials.insert(organizationId, { columns, fields, now })) };
    },
  };
}

/** PATCH /api/materials/{id}/. Fields that the body does not name keep their values. */
export function createMaterialUpdate(materials: Collection, ids: IdScheme, duplicates: Duplicates): Operation {
  const find = (organizationId: number, idText: string | undefined): Entity | undefined => {
    const id = ids.fromPath(idText ?? '');
    return id === null ? undefined : materials.get(organizationId, id);
  };
  return {
    accepts: MaterialPatch,
    naturalKey({ organizationId, params }) {
      const material = find(organizationId, params.id);
      return material && materialKey(material);
    },
    execute({ organizationId, params, body, now }): Answer {
      const material = find(organizationId, params.id);
      if (!material) return NOT_FOUND;
      const parsed = validate(MaterialPatch, body);
      if (!parsed.ok) return parsed.error;
      const fields = { ...material.fields, ...parsed.value } as JsonObject;
      const columns = columnsOf(fields);
      const clash = clashOf({ materials, duplicates }, organizationId, columns, material);
      if (clash) return clash;
      return { status: 200, body: present(materials.update(material, { columns, fields, now })) };
    },
  };
}

function columnsOf(fields: JsonObject): Columns {
  const code = textMember(fields, 'code') ?? null;
  return { code, uncoded_name: code === null ? (textMember(fields, 'name') ?? null) : null };
}

function clashOf(
  { materials, duplicates }: { materials: Collection; duplicates: Duplicates },
  organizationId: number,
  columns: Columns,
  itself?: Entity,
): Answer | undefined {
  for (const column of COLUMNS.material) {
    const value = columns[column];
    const other = typeof value === 'string' ? materials.find(organizationId, column, value) : undefined;
    if (!other || other.rowId === itself?.rowId) continue;
    return duplicate('material', column === 'code' ? 'code' : 'name', duplicates);
  }
  return undefined;
}
