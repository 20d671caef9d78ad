import { normalizeDecimal } from '../../lib/decimal.ts';
import type { JsonObject } from '../../lib/json.ts';
import { type Document, member, NOT_FOUND, type Operation, refusal, textMember } from '../api/operation.ts';
import { type Entity, materialKey } from '../items/collection.ts';
import { productIn, stateOf } from '../items/passports.ts';
import { materialNamed, type PassportParts, publicUrlOf } from '../operations/passports.ts';
import { drawPassport, type PassportContent } from './passport-page.ts';

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

/** A BOM item with its part: a material, or a component, which is a product. */
interface BomLine {
  item: Entity;
  part: Entity | undefined;
  kind: 'material' | 'product';
}

/** A stored passport. */
interface PassportSource {
  product: Entity;
  passport: Entity;
  /** The public address of the passport: that of its publication, or the address at which it would be published. */
  link: string;
  bom: BomLine[];
}

/** Makes the text of a passport. Facts without a value are left out. */
function contentOf({ product, passport, link, bom }: PassportSource): PassportContent {
  const { fields } = product;
  const materials = new Map<number, Entity>();
  for (const { kind, part } of bom) if (kind === 'material' && part) materials.set(part.rowId, part);
  const sku = textMember(fields, 'sku');
  return {
    title: `Digital product passport ${sku ?? ''}`,
    name: textMember(fields, 'name') ?? sku ?? '',
    link,
    lines: stated([
      ['SKU', sku],
      ['GTIN', textMember(fields, 'gtin')],
      ['Name', textMember(fields, 'name')],
      ['Product status', textMember(fields, 'status')],
      ['Country of origin', countryOf(textMember(fields, 'country_of_origin'))],
      ['Description', textMember(fields, 'description')],
      ['Passport', stateOf(passport)],
      ['Published', momentOf(passport.fields, 'published_at')],
      ['Unpublished', momentOf(passport.fields, 'unpublished_at')],
      ['Reviewed', momentOf(passport.fields, 'reviewed_at')],
      ['Address', link],
    ]),
    sections: [
      { title: `Materials (${materials.size})`, lines: [...materials.values()].map(materialLine) },
      { title: `Bill of materials (${bom.length})`, lines: bom.map(bomLine) },
    ],
  };
}

function materialLine({ fields }: Entity): string {
  const recycled = percentOf(textMember(fields, 'recycled_mass_fraction'));
  const hazardous = member(fields, 'hazardous');
  const composition = member(fields, 'composition');
  return joined([
    ...codeAndName(textMember(fields, 'code'), textMember(fields, 'name')),
    textMember(fields, 'category'),
    countryOf(textMember(fields, 'origin_country')),
    recycled && `${recycled} recycled`,
    typeof hazardous === 'boolean' ? (hazardous ? 'hazardous' : 'not hazardous') : undefined,
    ...(Array.isArray(composition) ? composition.map(substanceText) : []),
  ]);
}

function substanceText(substance: unknown): string {
  return `${textMember(substance, 'name') ?? ''} ${percentOf(textMember(substance, 'mass_fraction')) ?? ''}`.trim();
}

function bomLine({ item: { fields }, part, kind }: BomLine): string {
  const per = textMember(fields, 'per_quantity');
  const amount = [textMember(fields, 'quantity'), textMember(fields, 'unit')].filter(Boolean).join(' ');
  const mass = member(fields, 'mass');
  return joined([
    textMember(fields, 'position'),
    ...codeAndName(
      (kind === 'material' ? part && materialKey(part) : textMember(part?.fields, 'sku')) ?? '?',
      textMember(part?.fields, 'name'),
    ),
    per === undefined ? amount : `${amount} per ${per}`,
    [textMember(mass, 'value'), textMember(mass, 'unit')].filter(Boolean).join(' '),
  ]);
}

/** Returns a text once if the code and the name are the same, as in exports without codes. */
function codeAndName(code: string | undefined, name: string | undefined): (string | undefined)[] {
  return code === name ? [name] : [code, name];
}

/** A share from 0 to 1 in percent, with the same digits. */
function percentOf(share: string | undefined): string | undefined {
  const percent = share === undefined ? null : normalizeDecimal(`${share}e2`);
  return percent === null ? undefined : `${percent} %`;
}

/** A country's English name with its code. */
function countryOf(code: string | undefined): string | undefined {
  return code && `${new Intl.DisplayNames('en', { type: 'region' }).of(code) ?? code} (${code})`;
}

/** A time, exact to the minute. */
function momentOf(fields: JsonObject, name: string): string | undefined {
  const moment = textMember(fields, name);
  return moment && `${moment.slice(0, 16).replace('T', ' ')} UTC`;
}

function stated(facts: [label: string, value: string | undefined][]): string[] {
  return facts.flatMap(([label, value]) => (value === undefined ? [] : [`${label}: ${value}`]));
}

function joined(parts: readonly (string | undefined)[]): string {
  return parts.filter(Boolean).join(' · ');
}
