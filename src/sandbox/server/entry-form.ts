import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import type { OperationName } from '../api/endpoints.ts';
import type { SandboxSettings } from '../settings/settings.ts';

export type EntryForm = Pick<SandboxSettings, 'idAt' | 'entries'>;

/** The kind of the items in the answer of each operation, and the path of such an item. */
const RESOURCES: Record<OperationName, { type: string; path: string }> = {
  'product.list': { type: 'product', path: '/api/products/' },
  'product.create': { type: 'product', path: '/api/products/' },
  'product.import': { type: 'product', path: '/api/products/' },
  'bom_item.create': { type: 'bom_item', path: '/api/bom-items/' },
  'material.list': { type: 'material', path: '/api/materials/' },
  'material.create': { type: 'material', path: '/api/materials/' },
  'material.update': { type: 'material', path: '/api/materials/' },
  'passport.init': { type: 'passport', path: '/api/dpp/' },
  'passport.publish': { type: 'passport', path: '/api/dpp/' },
  'passport.unpublish': { type: 'passport', path: '/api/dpp/' },
  'publication.list': { type: 'publication', path: '/api/dpp/publications/' },
  'passport.pdf': { type: 'passport', path: '/api/dpp/' },
  'report.list': { type: 'report', path: '/api/reports/' },
  'report.create': { type: 'report', path: '/api/reports/' },
  'api_key.revoke': { type: 'api_key', path: '/api/api-keys/' },
};

/** The address of an item, as a path; null without an id. The sandbox does not serve it. */
export function addressOf(operation: OperationName, id: JsonValue): string | null {
  return typeof id === 'string' || typeof id === 'number' ? `${RESOURCES[operation].path}${id}/` : null;
}

/** Gives the form of the settings to a body: to an object with an id, and to the entries of its lists. */
export function formed(body: JsonValue, form: EntryForm, operation: OperationName): JsonValue {
  const { idAt, entries } = form;
  if ((idAt === 'id' || idAt === 'data.id') && entries === 'flat') return nested(body, idAt);
  const entryOf = (entry: JsonValue): JsonValue => {
    if (!isJsonObject(entry)) return entry;
    // In the style of Relay the entry is in the edge.
    return isJsonObject(entry['node']) ? { ...entry, node: placed(entry['node']) } : placed(entry);
  };
  const placed = (entry: JsonObject): JsonObject => {
    if (!('id' in entry)) return entry;
    const { id = null, ...rest } = entry;
    const place = placeOf(idAt, id, operation);
    // The rows of an import are results and no items.
    if (entries === 'flat' || operation === 'product.import') return { ...place, ...rest };
    return { ...place, type: RESOURCES[operation].type, attributes: rest };
  };
  if (Array.isArray(body)) return body.map(entryOf);
  if (!isJsonObject(body)) return body;
  if ('id' in body) return nested(placed(body), idAt, true);
  return Object.fromEntries(
    Object.entries(body).map(([member, value]) => [member, Array.isArray(value) ? value.map(entryOf) : value]),
  );
}

function placeOf(idAt: EntryForm['idAt'], id: JsonValue, operation: OperationName): JsonObject {
  switch (idAt) {
    case 'id':
    case 'data.id':
      return { id };
    case 'uuid':
    case 'pk':
      return { [idAt]: id };
    case 'url':
      return { url: addressOf(operation, id) };
    case '_links.self.href':
      return { _links: { self: { href: addressOf(operation, id) } } };
  }
}

function nested(body: JsonValue, idAt: EntryForm['idAt'], isItem = isJsonObject(body) && 'id' in body): JsonValue {
  return idAt === 'data.id' && isItem ? { data: body } : body;
}

/** The JSON Schema of `formed`, from the schema of a plain body. */
export function formedSchema(schema: JsonObject, form: EntryForm, operation: OperationName): JsonObject {
  const { idAt, entries } = form;
  const properties = (schema['properties'] ?? {}) as JsonObject;
  if (!('id' in properties)) {
    const within = Object.entries(properties).map(([name, value]): [string, JsonValue] => {
      const { items } = value as JsonObject;
      if (!isJsonObject(items ?? null)) return [name, value];
      return [name, { ...(value as JsonObject), items: formedSchema(items as JsonObject, form, operation) }];
    });
    return { ...schema, properties: Object.fromEntries(within) };
  }
  const { id = {}, ...rest } = properties;
  const place = placeSchema(idAt, id as JsonObject);
  const flat = (members: JsonObject): JsonObject => ({
    ...schema,
    properties: members,
    required: ((schema['required'] ?? []) as string[]).flatMap((name) =>
      name === 'id' ? Object.keys(place).filter((one) => one in members) : [name],
    ),
  });
  if (entries === 'flat' || operation === 'product.import') return flat({ ...place, ...rest });
  return closed({ ...place, type: { const: RESOURCES[operation].type }, attributes: flat(rest) });
}

function placeSchema(idAt: EntryForm['idAt'], id: JsonObject): JsonObject {
  const text = { type: ['string', 'null'] };
  switch (idAt) {
    case 'id':
    case 'data.id':
      return { id };
    case 'uuid':
    case 'pk':
      return { [idAt]: id };
    case 'url':
      return { url: text };
    case '_links.self.href':
      return { _links: closed({ self: closed({ href: text }) }) };
  }
}

export function closed(properties: JsonObject): JsonObject {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}
