import { NOT_FOUND, refusal } from './answer.ts';
import type { Entity } from './collection.ts';
import { materialKey } from './materials.ts';
import { member, type Operation, textMember } from './operation.ts';
import { materialNamed, type PassportParts, productIn, publicUrlOf, stateOf } from './passports.ts';
import { type Paragraph, renderPdf } from './pdf.ts';

/** A document shows at most this many BOM items, and says how many it leaves out. */
const BOM_ITEMS_MAX = 5000;

/** GET /api/exports/passport/{product_id}.pdf: the passport as a person reads it, in whatever state it is. */
export function createPassportExport(parts: PassportParts): Operation {
  const { collections, ids, publicBaseUrl } = parts;
  const { passports, bomItems, materials, products } = collections;

  /** One line for each BOM item, and each material on the BOM once. */
  const describeBom = (organizationId: number, items: Entity[]): { lines: string[]; used: Entity[] } => {
    const used = new Map<number, Entity>();
    const lines = items.slice(0, BOM_ITEMS_MAX).map(({ fields }) => {
      const material = materialNamed(materials, organizationId, fields);
      if (material) used.set(material.rowId, material);
      const id = fields['component'];
      const component = typeof id === 'string' || typeof id === 'number' ? products.get(organizationId, id) : undefined;
      const part = material ? materialKey(material) : textMember(component?.fields, 'sku');
      const name = textMember((material ?? component)?.fields, 'name');
      const amount = [textMember(fields, 'quantity'), textMember(fields, 'unit')].filter(Boolean).join(' ');
      return `${textMember(fields, 'position') ?? '–'}  ${part ?? '?'}  ${name ?? ''}  ${amount}`;
    });
    if (items.length > lines.length) lines.push(`and ${items.length - lines.length} more`);
    return { lines, used: [...used.values()] };
  };

  return {
    naturalKey: () => undefined,
    execute(request) {
      const { organizationId, now } = request;
      const product = productIn(collections, ids, request);
      if (!product) return NOT_FOUND;
      const passport = passports.find(organizationId, 'product_id', product.rowId);
      if (!passport) return refusal(404, 'The product has no passport.');
      const bom = describeBom(organizationId, bomItems.all(organizationId, 'product_id', product.rowId));
      const link = publicUrlOf(publicBaseUrl, product);
      const title = `Digital product passport ${textMember(product.fields, 'sku') ?? ''}`;
      const paragraphs: Paragraph[] = [
        { style: 'title', text: title },
        { style: 'text', text: `Status: ${stateOf(passport)}` },
        { style: 'text', text: `Digital link: ${link}`, link },
        { style: 'heading', text: 'Product' },
        ...fieldLines(product, ['sku', 'name', 'gtin', 'country_of_origin', 'description']),
        { style: 'heading', text: `Bill of materials (${bom.lines.length})` },
        ...bom.lines.map((text): Paragraph => ({ style: 'text', text })),
        { style: 'heading', text: `Materials (${bom.used.length})` },
        ...bom.used.flatMap((material) => fieldLines(material, MATERIAL_FIELDS)),
      ];
      const bytes = renderPdf({ title, paragraphs, at: new Date(now) });
      return { status: 200, body: null, document: { type: 'application/pdf', bytes } };
    },
  };
}

const MATERIAL_FIELDS = ['code', 'name', 'category', 'origin_country', 'recycled_mass_fraction', 'hazardous'];

/** A line for each field that has a value. */
function fieldLines({ fields }: Entity, names: string[]): Paragraph[] {
  return names.flatMap((name) => {
    const value = member(fields, name) ?? null;
    if (value === null) return [];
    return [{ style: 'text' as const, text: `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}` }];
  });
}
