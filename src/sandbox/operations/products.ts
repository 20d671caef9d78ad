import { z } from 'zod';
import type { JsonObject } from '../../lib/json.ts';
import { type Answer, type Operation, textMember } from '../api/operation.ts';
import { type Collection, present } from '../items/collection.ts';
import { choice, country, gtin, text } from '../items/fields.ts';
import { type Duplicates, duplicate, validate } from '../items/validation.ts';

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
