import pLimit from 'p-limit';
import { type Operation, textMember } from '../operation.ts';
import type { Entity } from '../resources/collection.ts';
import { materialNamed, type PassportParts, productIn, publicUrlOf } from '../resources/passports.ts';
import { type Document, NOT_FOUND, refusal } from '../server/answer.ts';
import { type BomLine, contentOf } from './passport-content.ts';
import { drawPassport } from './passport-layout.ts';
import { loadPdfFonts, type PdfFonts } from './pdf-fonts.ts';

/** GET /api/exports/passport/{product_id}.pdf: the passport as a person reads it, in whatever state it is. */
export function createPassportExport(parts: PassportParts): Operation {
  const { collections, ids, publicBaseUrl } = parts;
  const { passports, bomItems, materials, products } = collections;
  // One at a time: drawing is all work for the processor, and the memory for two would be gained by nothing.
  const oneAtATime = pLimit(1);
  let fonts: Promise<PdfFonts> | undefined;

  const bomOf = (organizationId: number, product: Entity): BomLine[] => {
    // A material or component is looked up once, however many items name it.
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
      // What it was published at stays true when the product has got a GTIN since.
      const link = textMember(passport.fields, 'public_url') ?? publicUrlOf(publicBaseUrl, product);
      const draw = async (signal: AbortSignal): Promise<Document> => {
        signal.throwIfAborted();
        const loaded = await (fonts ??= loadPdfFonts());
        // The BOM is read when its turn has come, so that those who wait hold next to nothing.
        const content = contentOf({ product, passport, link, bom: bomOf(organizationId, product) });
        const bytes = await drawPassport(loaded, content, { at: new Date(now), signal });
        return { type: 'application/pdf', bytes };
      };
      return { status: 200, body: null, draw: (signal) => oneAtATime(draw, signal) };
    },
  };
}
