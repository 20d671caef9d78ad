import { kindOf } from '../domain/delivery/operation.ts';
import type { WireForm, WireForms } from '../domain/delivery/wire-form.ts';
import { fault } from '../domain/faults.ts';
import { type ITEM_FIELDS, ITEM_KINDS, type ItemKind, REF_ROLES, type RefRole } from '../domain/item.ts';
import type { EncodedImport, EncodedWrite, Write } from '../domain/ports/target.ts';
import { allowedFieldsOf, type Profile } from '../domain/profile.ts';
import {
  type Placeholder,
  parseTemplate,
  type RequestTemplate,
  renderTemplate,
  TEMPLATES,
} from '../domain/request-template.ts';
import { normalizeDecimal } from '../lib/decimal.ts';
import { sha256Url } from '../lib/hash.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../lib/json.ts';
import { ENDPOINTS, type Endpoint, isSupported, pathOf, takesId } from './endpoints.ts';

/** Canonical fields that hold decimals as text; `*` stands for every entry of a list. */
export const DECIMAL_PATHS: Record<ItemKind, ReadonlySet<string>> = {
  product: new Set(),
  material: new Set(['recycled_mass_fraction', 'composition.*.mass_fraction']),
  bom_item: new Set(['quantity', 'per_quantity', 'mass.value', 'mass_fraction']),
};

/** Encodes writes under one profile. */
export function createEncoder(profile: Profile) {
  const layouts = Object.fromEntries(ITEM_KINDS.map((kind) => [kind, layoutOf(kind, profile)])) as Record<
    ItemKind,
    Layout
  >;
  const row: Layout = { ...layouts.product, template: templateOf(profile, 'productRow') };
  return {
    /**
     * Encodes a write as path and body. The fields have a fixed order: refs, canonical fields, extra fields, and further fields of a
     * payload from an older profile. Decimals that are sent as numbers stay text until then and keep their digits.
     *
     * @throws Fault `internal` for an operation without an endpoint or with several members, and for an operation on one
     *   item without a usable remote id
     */
    encode(write: Write): EncodedWrite {
      const { operation, remoteId } = write;
      if (!isSupported(operation)) throw fault('internal', `The API has no endpoint for ${operation}.`);
      if (operation === 'product.import') throw fault('internal', 'An import is encoded from its members.');
      const endpoint: Endpoint = ENDPOINTS[operation];
      const body = endpoint.body === 'none' ? null : bodyText(layouts[kindOf(operation)], write);
      if (!takesId(endpoint)) return { path: endpoint.path, body };
      if (typeof remoteId !== 'string' && typeof remoteId !== 'number') {
        throw fault('internal', `${operation} was to be encoded without the item's remote id.`);
      }
      return { path: pathOf(endpoint, remoteId), body };
    },

    /**
     * Encodes payloads of products as the body of a bulk import. The profile decides whether the body is a list, or an object with
     * the list in its only field.
     *
     * @throws Fault `internal` if there is no member
     */
    encodeImport(members: readonly JsonObject[]): EncodedImport {
      const { bodyMember, membersMax, bytesMax } = profile.imports;
      const [open, end] = bodyMember === null ? ['[', ']'] : [`{${JSON.stringify(bodyMember)}:[`, ']}'];
      const texts: string[] = [];
      let bytes = Buffer.byteLength(open + end);
      for (const payload of members.slice(0, membersMax)) {
        const text = bodyText(row, { payload, refs: {}, remoteId: null });
        bytes += Buffer.byteLength(text) + 1;
        // A product that is too large by itself is sent alone, and the API refuses it.
        if (texts.length > 0 && bytes > bytesMax) break;
        texts.push(text);
      }
      if (texts.length === 0) throw fault('internal', 'An import without members was to be encoded.');
      return { path: ENDPOINTS['product.import'].path, body: open + texts.join(',') + end, memberCount: texts.length };
    },
  };
}

/** The name of a field in requests. */
export function wireNameOf(profile: Profile, kind: ItemKind, name: string): string {
  const names = profile.wireNames[kind];
  return Object.hasOwn(names, name) ? (names[name] ?? name) : name;
}

/** The form of the bodies of a kind; null if the fields are the body. The profile has been checked. */
export function templateOf(profile: Profile, name: keyof typeof TEMPLATES): RequestTemplate | null {
  const text = profile.requests[name];
  if (text === null) return null;
  const parsed = parseTemplate(text, TEMPLATES[name]);
  if (!parsed.ok) throw fault('internal', `The profile has an unchecked template: ${parsed.error}`);
  return parsed.value;
}

/** The form in which the items of one kind are sent. */
interface Layout {
  refs: readonly (Field & { role: RefRole })[];
  /** The canonical and extra fields, in their order. */
  fields: readonly Field[];
  /** The names of these fields. */
  names: ReadonlySet<string>;
  /** The paths of the decimals that are written as numbers. */
  decimals: ReadonlySet<string>;
  wireName: (name: string) => string;
  /** The form of the body; null if the fields are the body. */
  template: RequestTemplate | null;
}

interface Field {
  name: string;
  wireName: string;
}

function layoutOf(kind: ItemKind, profile: Profile): Layout {
  const names = new Set(allowedFieldsOf(profile, kind));
  const wireName = (name: string): string => wireNameOf(profile, kind, name);
  const template = templateOf(profile, kind);
  return {
    // A ref with a place of its own is not among the fields.
    refs: REF_ROLES.filter((role) => !template?.places.has(role)).map((role) => ({
      role,
      name: role,
      wireName: profile.refNames[role],
    })),
    fields: [...names].map((name) => ({ name, wireName: wireName(name) })),
    names,
    decimals: profile.decimals === 'number' ? DECIMAL_PATHS[kind] : NO_PATHS,
    wireName,
    template,
  };
}

const NO_PATHS: ReadonlySet<string> = new Set();

/** The body of a write of one item. */
function bodyText(layout: Layout, write: Pick<Write, 'payload' | 'refs' | 'remoteId'>): string {
  const fields = itemText(layout, write);
  if (layout.template === null) return fields;
  const { refs, remoteId } = write;
  const values: Partial<Record<Placeholder, string>> = { fields };
  if (remoteId !== null) values.id = JSON.stringify(remoteId);
  for (const role of REF_ROLES) if (refs[role] !== undefined) values[role] = JSON.stringify(refs[role]);
  return renderTemplate(layout.template, values);
}

/** An item as a JSON object. Of two fields that are written under one name, the first is written. */
function itemText(layout: Layout, { payload, refs }: Pick<Write, 'payload' | 'refs'>): string {
  const written = new Set<string>();
  let members = '';
  const add = (wireName: string, text: string): void => {
    if (written.has(wireName)) return;
    written.add(wireName);
    members += `${members === '' ? '' : ','}${JSON.stringify(wireName)}:${text}`;
  };
  for (const { role, wireName } of layout.refs) {
    const id = refs[role];
    if (id !== undefined) add(wireName, JSON.stringify(id));
  }
  for (const { name, wireName } of layout.fields) {
    const value = Object.hasOwn(payload, name) ? payload[name] : undefined;
    if (value !== undefined) add(wireName, textOf(value, name, layout.decimals));
  }
  const further = Object.keys(payload).filter((name) => !layout.names.has(name));
  for (const name of further.sort()) {
    const value = payload[name];
    if (value !== undefined) add(layout.wireName(name), textOf(value, name, layout.decimals));
  }
  return `{${members}}`;
}

/** The JSON text of a value with decimals at the given paths. */
function textOf(value: JsonValue, path: string, decimals: ReadonlySet<string>): string {
  if (decimals.size === 0) return plainText(value);
  if (Array.isArray(value)) return `[${value.map((entry) => textOf(entry, `${path}.*`, decimals)).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.keys(value).sort();
    const texts = members.flatMap((name) => {
      const member = value[name];
      return member === undefined ? [] : [`${JSON.stringify(name)}:${textOf(member, `${path}.${name}`, decimals)}`];
    });
    return `{${texts.join(',')}}`;
  }
  // The normal form of a decimal is already a JSON number.
  if (typeof value === 'string' && decimals.has(path)) return normalizeDecimal(value) ?? JSON.stringify(value);
  return plainText(value);
}

/** Sorts nested fields by name, so that equal payloads give equal bytes. */
function plainText(value: JsonValue): string {
  return typeof value === 'object' && value !== null ? canonicalJson(value) : JSON.stringify(value);
}

/** A value of each canonical field, of the type that the field has. Lists and objects have all their members. */
const SAMPLES: { readonly [Kind in ItemKind]: Readonly<Record<keyof (typeof ITEM_FIELDS)[Kind], JsonValue>> } = {
  product: {
    sku: 'S-1',
    name: 'name',
    status: 'DRAFT',
    country_of_origin: 'DE',
    description: 'text',
    gtin: '04012345678901',
  },
  material: {
    code: 'M-1',
    name: 'name',
    description: 'text',
    category: 'text',
    origin_country: 'DE',
    recycled_mass_fraction: '0.5',
    hazardous: true,
    composition: [{ name: 'name', cas: '7440-50-8', mass_fraction: '0.5' }],
  },
  bom_item: {
    quantity: '1.5',
    unit: 'KGM',
    per_quantity: '1.5',
    position: '10',
    mass: { value: '1.5', unit: 'KGM' },
    mass_fraction: '0.5',
    valid_from: '2027-01-15',
    valid_to: '2027-12-31',
  },
};

/** The value of an extra field, which is sent as it is. */
const EXTRA = 'text';
const ID = 1;

/**
 * The forms in which this profile sends items. The encoder itself encodes a sample of each field, so each setting that
 * changes bytes takes part. A path is not part of the form, because it does not change what the platform stores.
 */
export function wireFormsOf(profile: Profile): WireForms {
  const encoder = createEncoder(profile);
  const bytesOf = (write: Write): object => partOf(encoder.encode(write));

  /** Everything that is sent for one payload, in each operation that sends items of its kind. */
  function sentFor(kind: ItemKind, payload: JsonObject): object[] {
    const create = (refs: Write['refs']): object =>
      bytesOf({ operation: `${kind}.create`, payload, refs, remoteId: null });
    switch (kind) {
      case 'product':
        return [create({}), partOf(encoder.encodeImport([payload]))];
      case 'material':
        return [create({}), bytesOf({ operation: 'material.update', payload, refs: {}, remoteId: ID })];
      case 'bom_item':
        return [create({ product: ID, material: ID }), create({ product: ID, component: ID })];
    }
  }

  function formOf(kind: ItemKind): WireForm {
    const samples: Readonly<Record<string, JsonValue>> = SAMPLES[kind];
    const form: Record<string, string> = {};
    for (const field of allowedFieldsOf(profile, kind)) {
      const value = Object.hasOwn(samples, field) ? (samples[field] ?? EXTRA) : EXTRA;
      const sent = [...sentFor(kind, { [field]: value }), ...sentFor(kind, { [field]: null })];
      form[field] = sha256Url(JSON.stringify(sent));
    }
    return form;
  }

  return Object.fromEntries(ITEM_KINDS.map((kind) => [kind, formOf(kind)])) as unknown as WireForms;
}

/** Everything that the encoder gives for a request, except its path. */
function partOf(encoded: EncodedWrite): object {
  return { ...encoded, path: null };
}
