import { DECIMAL_PATHS, wireNameOf } from '../../../src/api/encode.ts';
import { ENDPOINT_NAMES, ENDPOINTS, type Endpoint, type EndpointName } from '../../../src/api/endpoints.ts';
import { ITEM_KINDS, type ItemKind, REF_ROLES } from '../../../src/domain/item.ts';
import { allowedFieldsOf, type Profile } from '../../../src/domain/profile.ts';
import type { JsonObject, JsonValue } from '../../../src/lib/json.ts';

/** An OpenAPI document, as data that tests can change. */
export interface OpenApi extends JsonObject {
  paths: Record<string, Record<string, JsonObject>>;
  components: { schemas: Record<string, JsonObject>; securitySchemes: Record<string, JsonObject> };
}

/** The OpenAPI document of a platform that fits the profile exactly, in the style of drf-spectacular. */
export function openApiOf(profile: Profile): OpenApi {
  const paths: OpenApi['paths'] = {};
  for (const name of ENDPOINT_NAMES) {
    const { method, path } = ENDPOINTS[name];
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(name, profile) };
  }
  const schemas = Object.fromEntries(ITEM_KINDS.map((kind) => [kind, itemSchema(kind, profile)]));
  return {
    openapi: '3.1.0',
    info: { title: 'DPP', version: '1' },
    paths,
    components: { schemas, securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-API-Key' } } },
  };
}

const text = { type: 'string' } as const;

function itemSchema(kind: ItemKind, profile: Profile): JsonObject {
  const decimals = DECIMAL_PATHS[kind];
  const fields = allowedFieldsOf(profile, kind).map((name): [string, JsonValue] => [
    wireNameOf(profile, kind, name),
    { type: decimals.has(name) ? profile.decimals : 'string' },
  ]);
  const refs = kind === 'bom_item' ? REF_ROLES.map((role): [string, JsonValue] => [profile.refNames[role], text]) : [];
  const id = kind === 'bom_item' ? 'id' : (profile.idPaths[kind][0] ?? 'id');
  return {
    type: 'object',
    properties: { [id]: { type: 'integer', readOnly: true }, ...Object.fromEntries([...refs, ...fields]) },
    required: [id],
  };
}

function json(schema: JsonValue): JsonObject {
  return { content: { 'application/json': { schema } } };
}

const ref = (kind: ItemKind): JsonObject => ({ $ref: `#/components/schemas/${kind}` });

function listOf(items: JsonValue, profile: Profile): JsonObject {
  const list = { type: 'array', items };
  return {
    type: 'object',
    properties: { count: { type: 'integer' }, next: text, [profile.list.itemsAt[0] ?? '']: list },
  };
}

const publication = {
  type: 'object',
  properties: { id: text, product_id: text, status: text, published_at: text, url: text },
};

function operationOf(name: EndpointName, profile: Profile): JsonObject {
  const endpoint: Endpoint = ENDPOINTS[name];
  const done = (body: JsonObject, status = '200'): JsonObject => ({ responses: { [status]: body } });
  switch (name) {
    case 'product.list':
    case 'material.list':
      return done(json(listOf(ref(name === 'product.list' ? 'product' : 'material'), profile)));
    case 'product.create':
    case 'material.create':
    case 'bom_item.create':
    case 'material.update': {
      const kind = name === 'product.create' ? 'product' : name === 'bom_item.create' ? 'bom_item' : 'material';
      return { requestBody: { required: true, ...json(ref(kind)) }, ...done(json(ref(kind)), '201') };
    }
    case 'product.import': {
      const list = { type: 'array', items: ref('product') };
      const { bodyMember } = profile.imports;
      const body = bodyMember === null ? list : { type: 'object', properties: { [bodyMember]: list } };
      return { requestBody: json(body), ...done({ description: 'ok' }) };
    }
    case 'publication.list':
      return done(json(listOf(publication, profile)));
    case 'report.list':
      return done(json(listOf({ type: 'object', properties: { id: text } }, profile)));
    case 'passport.pdf':
      return done({ content: { 'application/pdf': {} } });
    case 'passport.publish':
      return { parameters: [{ name: 'Idempotency-Key', in: 'header', schema: text }], ...done({}) };
    case 'passport.init':
    case 'passport.unpublish':
    case 'report.create':
    case 'api_key.revoke':
      return { 'x-title': endpoint.title, ...done({}) };
  }
}
