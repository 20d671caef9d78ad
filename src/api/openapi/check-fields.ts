import { z } from 'zod';
import { kindOf } from '../../domain/delivery/operation.ts';
import { ITEM_FIELDS, type ItemKind, REF_ROLES } from '../../domain/item.ts';
import { allowedFieldsOf, type Profile } from '../../domain/profile.ts';
import type { JsonValue } from '../../lib/json.ts';
import { suggest } from '../../lib/text/suggest.ts';
import { DECIMAL_PATHS, templateOf, wireNameOf } from '../encode.ts';
import { ENDPOINTS } from '../endpoints.ts';
import { schemaAt } from './check-answers.ts';
import { type ApiDocument, requestBodyOf } from './document.ts';
import { listed, type Matches, type Report, reportUnread } from './match.ts';
import type { SchemaReader, SchemaView } from './schema.ts';

/** A canonical field, and the setting for its name in requests. */
interface SentField {
  name: string;
  wire: string;
  setting: string;
  /** Whether every item of the kind has the field. */
  always: boolean;
}

const ALWAYS: Record<ItemKind, readonly string[]> = {
  product: ['sku', 'name'],
  material: ['name'],
  bom_item: ['quantity'],
};

/** Names of the canonical fields in other systems. Similar spellings are found without this table. */
const ALIASES: Record<string, readonly string[]> = {
  sku: ['article_number', 'item_number', 'product_code', 'code', 'external_id'],
  name: ['title', 'label', 'product_name', 'material_name'],
  country_of_origin: ['origin_country', 'origin', 'country'],
  origin_country: ['country_of_origin', 'origin', 'country'],
  gtin: ['ean', 'barcode', 'gtin14'],
  code: ['material_code', 'sku', 'number', 'external_id'],
  quantity: ['amount', 'qty'],
  unit: ['uom', 'unit_of_measure', 'quantity_unit'],
  product: ['product_id', 'parent', 'parent_id', 'parent_product'],
  material: ['material_id'],
  component: ['component_id', 'child', 'child_id', 'component_product', 'component_product_id'],
};

/** Compares the fields of a create with the fields that a schema accepts. */
export function checkFields(
  operation: 'product.create' | 'product.import' | 'material.create' | 'material.update' | 'bom_item.create',
  schema: JsonValue | undefined,
  { profile, schemas, report }: { profile: Profile; schemas: SchemaReader; report: Report },
): void {
  const kind = kindOf(operation);
  const view = schemas.view(schema);
  // A schema without properties shows nothing about the fields.
  if (view.properties.size === 0) return;
  const sent = sentFieldsOf(kind, profile);
  const writable = [...view.properties]
    .filter(([, property]) => !schemas.view(property).readOnly)
    .map(([name]) => name);
  const free = new Set(writable.filter((name) => !sent.some(({ wire }) => wire === name)));

  for (const field of sent) {
    if (writable.includes(field.wire)) continue;
    const likely = likelyName(field, free);
    if (likely !== undefined) free.delete(likely);
    report({
      path: '',
      what: 'request field',
      found: likely === undefined ? listed(writable) : `"${likely}"`,
      expected: `"${field.wire}"`,
      weight: field.always || (likely !== undefined && view.required.has(likely)) ? 'breaks' : 'note',
      setting: field.setting,
      ...(likely !== undefined && { value: likely }),
    });
  }
  if (operation !== 'material.update') reportExtras(free, { kind, view, profile, report });
  checkDecimals(kind, view, { profile, schemas, report });
  checkValues(kind, view, { profile, schemas, report });
}

function sentFieldsOf(kind: ItemKind, profile: Profile): SentField[] {
  const fields = allowedFieldsOf(profile, kind).map((name) => ({
    name,
    wire: wireNameOf(profile, kind, name),
    setting: `wireNames.${kind}.${name}`,
    always: ALWAYS[kind].includes(name),
  }));
  if (kind !== 'bom_item') return fields;
  // A ref with a place of its own in the body is not among the fields.
  const placed = templateOf(profile, kind)?.places;
  const refs = REF_ROLES.filter((role) => placed?.has(role) !== true).map((role) => ({
    name: role,
    wire: profile.refNames[role],
    setting: `refNames.${role}`,
    always: true,
  }));
  return [...refs, ...fields];
}

/** The most likely name for a field, among the names that are not sent. */
function likelyName({ name, wire }: SentField, free: ReadonlySet<string>): string | undefined {
  const plain = (text: string): string => text.replaceAll(/[_-]/g, '').toLowerCase();
  const same = [...free].find((candidate) => plain(candidate) === plain(wire) || plain(candidate) === plain(name));
  if (same !== undefined) return same;
  const alias = (ALIASES[name] ?? []).map(plain);
  const known = [...free].find((candidate) => alias.includes(plain(candidate)));
  return known ?? suggest(wire, free);
}

/** Fields that the API accepts and that are not sent: the required ones, then the others. */
function reportExtras(
  free: ReadonlySet<string>,
  { kind, view, profile, report }: { kind: ItemKind; view: SchemaView; profile: Profile; report: Report },
): void {
  const own = profile.extraFields[kind];
  const required = [...free].filter((name) => view.required.has(name));
  const further = [...free].filter((name) => !view.required.has(name));
  const extra = (what: string, names: string[], weight: 'breaks' | 'note', value: string[]): void => {
    if (names.length === 0) return;
    const expected = own.length === 0 ? 'fields of the API document' : `fields of the API document and ${listed(own)}`;
    const settable = value.every((name) => /^[a-z][a-z0-9_]*$/.test(name));
    const setting = `extraFields.${kind}`;
    report({ path: '', what, found: listed(names), expected, weight, setting, ...(settable && { value }) });
  };
  extra('required request fields', required, 'breaks', [...own, ...required]);
  extra('further request fields', further, 'note', [...own, ...required, ...further]);
}

function checkDecimals(
  kind: ItemKind,
  view: SchemaView,
  { profile, schemas, report }: { profile: Profile; schemas: SchemaReader; report: Report },
): void {
  const names = [...DECIMAL_PATHS[kind]].filter((path) => !path.includes('.'));
  const types = names.flatMap((name) => {
    const property = view.properties.get(wireNameOf(profile, kind, name));
    return property === undefined ? [] : [schemas.view(property).types];
  });
  const other = profile.decimals === 'string' ? 'number' : 'string';
  const isOnly = (own: ReadonlySet<string>, type: 'string' | 'number'): boolean =>
    own.size > 0 && [...own].every((one) => one === type || (type === 'number' && one === 'integer'));
  if (!types.some((own) => isOnly(own, other)) || types.some((own) => isOnly(own, profile.decimals))) return;
  const word = { string: 'text', number: 'numbers' };
  report({
    path: '',
    what: 'form of decimals',
    found: word[other],
    expected: word[profile.decimals],
    weight: 'breaks',
    setting: 'decimals',
    value: other,
  });
}

/** The only status in the API document. */
const DOCUMENTED_STATUS = 'DRAFT';

/** Fields that are sent in one form only, with a value in that form. */
const FORMS: Readonly<Record<string, string>> = {
  country_of_origin: 'DE',
  origin_country: 'DE',
  gtin: '00012345678905',
  unit: 'KGM',
};

/** Compares the values that a schema accepts with the values that can be sent: closed lists of values, and lengths of texts. */
function checkValues(
  kind: ItemKind,
  { properties }: SchemaView,
  { profile, schemas, report }: { profile: Profile; schemas: SchemaReader; report: Report },
): void {
  for (const [name, field] of Object.entries<z.ZodType>(ITEM_FIELDS[kind])) {
    const wire = wireNameOf(profile, kind, name);
    const { values, maxLength, readOnly } = schemas.view(properties.get(wire));
    if (readOnly) continue;
    const form = FORMS[name];
    const takes =
      name === 'status' ? values?.includes(DOCUMENTED_STATUS) : values?.some((value) => isSent(field, value));
    if (values !== null && !takes) {
      const example = name === 'status' ? DOCUMENTED_STATUS : form;
      report({
        path: '',
        what: `values of "${wire}"`,
        found: listed(values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))),
        expected: example === undefined ? 'values that mappings can make' : `"${example}" or its like`,
        weight: 'breaks',
      });
    }
    const longest = form?.length ?? lengthMaxOf(field);
    if (maxLength === null || longest === null || maxLength >= longest) continue;
    report({
      path: '',
      what: `length of "${wire}"`,
      found: `at most ${maxLength}`,
      expected: form === undefined ? `up to ${longest}` : `${longest}`,
      weight: form === undefined ? 'note' : 'breaks',
    });
  }
}

function isSent(field: z.ZodType, value: unknown): boolean {
  return field.safeParse(value).success;
}

/** The longest text that an item may have in a field; null if the field is no text or has no limit. */
function lengthMaxOf(field: z.ZodType): number | null {
  const inner = field instanceof z.ZodOptional ? field.unwrap() : field;
  return inner instanceof z.ZodString ? inner.maxLength : null;
}

/** Checks the body of the bulk import: a plain list or a list under a name, and the longest list. */
export function checkImport(
  document: ApiDocument,
  matches: Matches,
  { profile, schemas: reader, report }: { profile: Profile; schemas: SchemaReader; report: Report },
): void {
  const operation = matches.get('product.import');
  if (operation === undefined) return;
  const { method, path } = ENDPOINTS['product.import'];
  const at: Report = (difference) => report({ ...difference, path: `${method} ${path}` });
  const schemas = reader.reporting((why) => reportUnread(at, { what: 'request body', why }));
  const { schema } = requestBodyOf(operation, document);
  const body = schemas.view(schema);
  const lists = [...body.properties].filter(([, property]) => schemas.view(property).types.has('array'));
  const names = lists.map(([name]) => name);
  const isBare = body.types.has('array') || body.items !== null;
  if (!isBare && names.length === 0) return;

  const { bodyMember, membersMax } = profile.imports;
  const fits = bodyMember === null ? isBare : names.includes(bodyMember);
  const [first] = names;
  const member = fits ? bodyMember : isBare ? null : (first ?? null);
  if (!fits) {
    const found = isBare ? 'a bare list' : listed(names);
    const expected = bodyMember === null ? 'a bare list' : `"${bodyMember}"`;
    const what = 'member with the products';
    at({ path: '', what, found, expected, weight: 'breaks', setting: 'imports.bodyMember', value: member });
  }
  const list = member === null ? body : schemas.view(body.properties.get(member));
  if (list.maxItems !== null && list.maxItems < membersMax) {
    const setting = 'imports.membersMax';
    const what = 'products in one import';
    const limit = Math.max(list.maxItems, 1);
    at({
      path: '',
      what,
      found: `${list.maxItems}`,
      expected: `${membersMax}`,
      weight: 'breaks',
      setting,
      value: limit,
    });
  }
  if (list.items === null) return;
  const row = templateOf(profile, 'productRow')?.places.get('fields') ?? '';
  checkFields('product.import', schemaAt(list.items, row, schemas), { profile, schemas, report: at });
}
