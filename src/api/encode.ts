import { kindOf } from '../domain/delivery.ts';
import { fault } from '../domain/faults.ts';
import { type ItemKind, REF_ROLES } from '../domain/item.ts';
import type { EncodedImport, EncodedWrite, Write } from '../domain/ports/target.ts';
import { allowedFieldsOf, type Profile } from '../domain/profile.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import { normalizeDecimal } from '../lib/decimal.ts';
import type { JsonObject, JsonValue } from '../lib/json.ts';
import { ENDPOINTS, type Endpoint, isSupported, pathOf, takesId } from './endpoints.ts';

/** Canonical fields that hold decimals as text; `*` stands for every entry of a list. */
export const DECIMAL_PATHS: Record<ItemKind, ReadonlySet<string>> = {
  product: new Set(),
  material: new Set(['recycled_mass_fraction', 'composition.*.mass_fraction']),
  bom_item: new Set(['quantity', 'per_quantity', 'mass.value', 'mass_fraction']),
};

/**
 * Encodes a write as path and body under the profile. The fields have a fixed order: refs, canonical fields, extra fields, and
 * further fields of a payload from an older profile. Decimals that are sent as numbers stay text until then and keep their digits.
 *
 * @throws Fault `internal` for an operation without an endpoint or with several members, and for an operation on one thing
 *   without a usable remote id
 */
export function encodeWrite(write: Write, profile: Profile): EncodedWrite {
  const { operation, remoteId } = write;
  if (!isSupported(operation)) throw fault('internal', `The API has no endpoint for ${operation}.`);
  if (operation === 'product.import') throw fault('internal', 'An import is encoded from its members.');
  const endpoint: Endpoint = ENDPOINTS[operation];
  const body = endpoint.body === 'none' ? null : itemText(kindOf(operation), write, profile);
  if (!takesId(endpoint)) return { path: endpoint.path, body };
  if (typeof remoteId !== 'string' && typeof remoteId !== 'number') {
    throw fault('internal', `${operation} was to be encoded without the item's remote id.`);
  }
  return { path: pathOf(endpoint, remoteId), body };
}

/**
 * Encodes payloads of products as the body of a bulk import. The profile decides whether the body is a list, or an object with the
 * list in its only field.
 *
 * @throws Fault `internal` if there is no member
 */
export function encodeImport(members: readonly JsonObject[], profile: Profile): EncodedImport {
  const { bodyMember, membersMax, bytesMax } = profile.imports;
  const [open, end] = bodyMember === null ? ['[', ']'] : [`{${JSON.stringify(bodyMember)}:[`, ']}'];
  const texts: string[] = [];
  let bytes = Buffer.byteLength(open + end);
  for (const payload of members.slice(0, membersMax)) {
    const text = itemText('product', { payload, refs: {} }, profile);
    bytes += Buffer.byteLength(text) + 1;
    // A product that is too large by itself is sent alone, and the API refuses it.
    if (texts.length > 0 && bytes > bytesMax) break;
    texts.push(text);
  }
  if (texts.length === 0) throw fault('internal', 'An import without members was to be encoded.');
  return { path: ENDPOINTS['product.import'].path, body: open + texts.join(',') + end, memberCount: texts.length };
}

/** The name of a field in requests. */
export function wireNameOf(profile: Profile, kind: ItemKind, name: string): string {
  const names = profile.wireNames[kind];
  return Object.hasOwn(names, name) ? (names[name] ?? name) : name;
}

/** An item as a JSON object. */
function itemText(kind: ItemKind, { payload, refs }: Pick<Write, 'payload' | 'refs'>, profile: Profile): string {
  const members = new Map<string, string>();
  const add = (wireName: string, text: string): void => {
    if (!members.has(wireName)) members.set(wireName, text);
  };
  for (const role of REF_ROLES) {
    const id = refs[role];
    if (id !== undefined) add(profile.refNames[role], JSON.stringify(id));
  }
  const decimals = profile.decimals === 'number' ? DECIMAL_PATHS[kind] : NONE;
  const rest = Object.keys(payload).sort();
  for (const name of new Set([...allowedFieldsOf(profile, kind), ...rest])) {
    const value = Object.hasOwn(payload, name) ? payload[name] : undefined;
    if (value !== undefined) add(wireNameOf(profile, kind, name), textOf(value, name, decimals));
  }
  return `{${[...members].map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

const NONE: ReadonlySet<string> = new Set();

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
