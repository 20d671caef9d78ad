import type { WireForm, WireForms } from '../domain/delivery/wire-form.ts';
import { type ITEM_FIELDS, ITEM_KINDS, type ItemKind } from '../domain/item.ts';
import type { EncodedWrite, Write } from '../domain/ports/target.ts';
import { allowedFieldsOf, type Profile } from '../domain/profile.ts';
import { sha256Url } from '../lib/hash.ts';
import type { JsonObject, JsonValue } from '../lib/json.ts';
import { createEncoder } from './encode.ts';

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
