import { normalizeDecimal } from '../../lib/decimal.ts';
import type { JsonObject } from '../../lib/json.ts';
import { member, textMember } from '../operation.ts';
import type { Entity } from '../resources/collection.ts';
import { materialKey } from '../resources/materials.ts';
import { stateOf } from '../resources/passports.ts';
import type { Fact, PassportContent, Section } from './passport-layout.ts';
import type { TableRow } from './pdf-table.ts';

/** What a BOM item names: a material, or a component, which is a product. */
export interface BomLine {
  item: Entity;
  part: Entity | undefined;
  kind: 'material' | 'product';
}

/** A passport as it is stored. */
export interface PassportSource {
  product: Entity;
  passport: Entity;
  /** Its public address: of its publication, or where it would be published. */
  link: string;
  bom: BomLine[];
}

/** Puts a passport into words. Facts without a value are left out. */
export function contentOf({ product, passport, link, bom }: PassportSource): PassportContent {
  const sku = textMember(product.fields, 'sku') ?? '';
  const gtin = textMember(product.fields, 'gtin');
  const state = stateOf(passport);
  return {
    title: `Digital product passport ${sku}`,
    name: textMember(product.fields, 'name') ?? sku,
    identity: gtin === undefined ? `SKU ${sku}` : `SKU ${sku} · GTIN ${gtin}`,
    state,
    link,
    linkNote: state === 'published' ? 'Scan to open the passport.' : 'Opens the passport once it is published.',
    groups: [
      { title: 'Passport', facts: passportFacts(passport, link) },
      { title: 'Product', facts: productFacts(product) },
    ],
    sections: [materialSection(bom), bomSection(bom)],
  };
}

function passportFacts(passport: Entity, link: string): Fact[] {
  const { fields } = passport;
  return stated([
    ['State', stateOf(passport)],
    ['Published', momentOf(fields, 'published_at')],
    ['Unpublished', momentOf(fields, 'unpublished_at')],
    ['Reviewed', momentOf(fields, 'reviewed_at')],
    ['Digital link', link],
  ]);
}

function productFacts({ fields }: Entity): Fact[] {
  return stated([
    ['SKU', textMember(fields, 'sku')],
    ['Name', textMember(fields, 'name')],
    ['GTIN', textMember(fields, 'gtin')],
    ['Status', textMember(fields, 'status')],
    ['Country of origin', countryOf(textMember(fields, 'country_of_origin'))],
    ['Description', textMember(fields, 'description')],
  ]);
}

/** Every material on the BOM once. */
function materialSection(bom: BomLine[]): Section {
  const used = new Map<number, Entity>();
  for (const { kind, part } of bom) if (kind === 'material' && part) used.set(part.rowId, part);
  return {
    title: 'Materials',
    count: used.size,
    columns: [
      { title: 'Code', width: 96 },
      { title: 'Name' },
      { title: 'Category', width: 84 },
      { title: 'Origin', width: 76 },
      { title: 'Recycled', width: 54, align: 'right' },
      { title: 'Hazardous', width: 60 },
    ],
    rows: map(used.values(), materialRow),
  };
}

function materialRow({ fields }: Entity): TableRow {
  const hazardous = member(fields, 'hazardous');
  const note = [textMember(fields, 'description'), compositionOf(fields)].filter(Boolean).join('\n');
  return {
    cells: [
      textMember(fields, 'code') ?? '',
      textMember(fields, 'name') ?? '',
      textMember(fields, 'category') ?? '',
      countryOf(textMember(fields, 'origin_country')) ?? '',
      percentOf(textMember(fields, 'recycled_mass_fraction')),
      typeof hazardous === 'boolean' ? (hazardous ? 'yes' : 'no') : '',
    ],
    note,
  };
}

function compositionOf(fields: JsonObject): string {
  const composition = member(fields, 'composition');
  if (!Array.isArray(composition) || composition.length === 0) return '';
  const substances = composition.map((substance) => {
    const cas = textMember(substance, 'cas');
    const share = percentOf(textMember(substance, 'mass_fraction'));
    return `${textMember(substance, 'name') ?? ''}${cas === undefined ? '' : ` (CAS ${cas})`} ${share}`;
  });
  return `Composition: ${substances.join(', ')}`;
}

function bomSection(bom: BomLine[]): Section {
  return {
    title: 'Bill of materials',
    count: bom.length,
    columns: [
      { title: 'Pos.', width: 46 },
      { title: 'Part', width: 110 },
      { title: 'Name' },
      { title: 'Kind', width: 56 },
      { title: 'Quantity', width: 90, align: 'right' },
    ],
    rows: map(bom, ({ item: { fields }, part, kind }) => ({
      cells: [
        textMember(fields, 'position') ?? '–',
        (kind === 'material' ? part && materialKey(part) : textMember(part?.fields, 'sku')) ?? '?',
        textMember(part?.fields, 'name') ?? '',
        kind,
        quantityOf(fields),
      ],
      note: [massOf(fields), validityOf(fields)].filter(Boolean).join(' · '),
    })),
  };
}

function quantityOf(fields: JsonObject): string {
  const per = textMember(fields, 'per_quantity');
  const amount = [textMember(fields, 'quantity'), textMember(fields, 'unit')].filter(Boolean).join(' ');
  return per === undefined ? amount : `${amount} per ${per}`;
}

function massOf(fields: JsonObject): string {
  const mass = member(fields, 'mass');
  const share = percentOf(textMember(fields, 'mass_fraction'));
  const facts = [
    [textMember(mass, 'value'), textMember(mass, 'unit')].filter(Boolean).join(' '),
    share && `${share} of the mass`,
  ].filter(Boolean);
  return facts.length === 0 ? '' : `Mass: ${facts.join(', ')}`;
}

function validityOf(fields: JsonObject): string {
  const from = textMember(fields, 'valid_from');
  const to = textMember(fields, 'valid_to');
  return [from && `Valid from ${from}`, to && (from ? `to ${to}` : `Valid to ${to}`)].filter(Boolean).join(' ');
}

/** A share from 0 to 1 in percent, digit by digit as it was given. */
function percentOf(share: string | undefined): string {
  const percent = share === undefined ? null : normalizeDecimal(`${share}e2`);
  return percent === null ? '' : `${percent} %`;
}

/** A country's English name with its code. */
function countryOf(code: string | undefined): string | undefined {
  return code && `${new Intl.DisplayNames('en', { type: 'region' }).of(code) ?? code} (${code})`;
}

/** A moment to the minute, which is what a person reads. */
function momentOf(fields: JsonObject, name: string): string | undefined {
  const moment = textMember(fields, name);
  return moment && `${moment.slice(0, 16).replace('T', ' ')} UTC`;
}

function stated(facts: [label: string, value: string | undefined][]): Fact[] {
  return facts.flatMap(([label, value]) => (value === undefined ? [] : [{ label, value }]));
}

function* map<T, U>(values: Iterable<T>, transform: (value: T) => U): Generator<U> {
  for (const value of values) yield transform(value);
}
