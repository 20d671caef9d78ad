import { type Document, NOT_FOUND, refusal } from '../api/answer.ts';
import { type Operation, textMember } from '../api/operation.ts';
import type { Entity } from '../items/collection.ts';
import { productIn } from '../items/passports.ts';
import { materialNamed, type PassportParts, publicUrlOf } from '../operations/passports.ts';
import { type BomLine, contentOf } from './passport-content.ts';
import { drawPassport } from './passport-page.ts';

/** GET /api/exports/passport/{product_id}.pdf: the passport as a document for people, in any state. */
export function createPassportExport(parts: PassportParts): Operation {
  const { collections, ids, publicBaseUrl } = parts;
  const { passports, bomItems, materials, products } = collections;

  const bomOf = (organizationId: number, product: Entity): BomLine[] => {
    // Each material or component is looked up only once, even if many items name it.
    const components = new Map<unknown, Entity | undefined>();
    const named = new Map<unknown, Entity | undefined>();
    return bomItems.all(organizationId, 'product_id', product.rowId).map((item): BomLine => {
      const { material = null, component = null } = item.fields;
      if (material !== null) {
        if (!named.has(material)) named.set(material, materialNamed(materials, organizationId, item.fields));
        return { item, part: named.get(material), kind: 'material' };
      }
      if ((typeof component === 'string' || typeof component === 'number') && !components.has(component)) {
        components.set(component, products.get(organizationId, component));
      }
      return { item, part: components.get(component), kind: 'product' };
    });
  };

  return {
    naturalKey: () => undefined,
    execute(request) {
      const { organizationId, now } = request;
      const product = productIn(collections, ids, request);
      if (!product) return NOT_FOUND;
      const passport = passports.find(organizationId, 'product_id', product.rowId);
      if (!passport) return refusal(404, 'The product has no passport.');
      // A published passport keeps its address, even if the product got a GTIN later.
      const link = textMember(passport.fields, 'public_url') ?? publicUrlOf(publicBaseUrl, product);
      const draw = async (): Promise<Document> => {
        const content = contentOf({ product, passport, link, bom: bomOf(organizationId, product) });
        return { type: 'application/pdf', bytes: await drawPassport(content, new Date(now)) };
      };
      return { status: 200, body: null, draw };
    },
  };
}
