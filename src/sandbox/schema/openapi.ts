import { z } from 'zod';
import type { JsonObject } from '../../lib/json.ts';
import { ENDPOINTS, type Endpoint, OPERATION_NAMES, type OperationName } from '../api/endpoints.ts';
import type { Operation, QueryParameter } from '../api/operation.ts';
import { PAGINGS } from '../lists/paging.ts';
import { closed, createStyle, formedSchema } from '../server/style.ts';
import type { SandboxSettings } from '../settings/settings.ts';
import { honoursKeys } from '../storage/idempotency.ts';
import { refusalsOf, type SuccessShape, successShapes } from './answers.ts';

/**
 * Describes the sandbox with its settings in OpenAPI 3.1. Request bodies are described by the same schemas that
 * validate them, so that the description is never out of date. Checks that JSON Schema cannot express are described in
 * words. A header or parameter without a meaning under the settings is accepted but not listed.
 */
export function describeApi(operations: Record<OperationName, Operation>, settings: SandboxSettings): JsonObject {
  const shapes = successShapes(settings);
  const style = createStyle(settings);
  const paths: Record<string, JsonObject> = {};
  for (const name of OPERATION_NAMES) {
    const endpoint: Endpoint = ENDPOINTS[name];
    const shape = shapes[name];
    const { status } = style({ status: shape.status, body: null }, name);
    const scope = name === 'report.create' ? settings.reportCreateScope : endpoint.scope;
    const { accepts, query } = operations[name];
    const parameters = parametersOf(endpoint, query ?? [], settings);
    paths[endpoint.path] = {
      ...paths[endpoint.path],
      [endpoint.method.toLowerCase()]: {
        operationId: name,
        summary: endpoint.title,
        description: scope === 'administrator' ? 'Needs a session instead of a key.' : `Needs the scope \`${scope}\`.`,
        'x-required-scope': scope,
        security: [scope === 'administrator' ? { session: [] } : { apiKey: [] }],
        ...(parameters.length > 0 && { parameters }),
        ...(accepts && { requestBody: bodyOf(accepts) }),
        responses: {
          [String(status)]: { description: 'Success.', content: contentOf(name, shape, settings) },
          ...describeRefusals(name, settings),
        },
      },
    };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Enterprise Passport Integration API, sandbox',
      version: '1',
      description:
        'The API that this sandbox serves with its present settings. Headers and query parameters that are not listed are ignored.',
    },
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        session: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      },
      schemas: { Error: errorShapes(settings.import)[settings.errors] },
    },
  };
}

/** The JSON Schema of a zod schema, without the line that names the dialect. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
  const { $schema: _dialect, ...described } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: nameElements,
  });
  return described as JsonObject;
}

/** Lists check their length before their elements, in two steps; the description has both. */
function nameElements({ zodSchema, jsonSchema: described }: { zodSchema: z.core.$ZodTypes; jsonSchema: object }): void {
  const { def } = zodSchema._zod;
  if (def.type !== 'pipe' || !(def.in instanceof z.ZodArray) || !(def.out instanceof z.ZodArray)) return;
  Object.assign(described, { items: jsonSchema(def.out.element as z.ZodType, 'input') });
}

/** An empty body means an empty object. Not every operation accepts that. */
function bodyOf(accepts: z.ZodType): JsonObject {
  const content = { 'application/json': { schema: jsonSchema(accepts, 'input') } };
  return { required: !accepts.safeParse({}).success, content };
}

/** The JSON Schema of an id in a path. */
const ID_SCHEMAS: Record<SandboxSettings['ids'], JsonObject> = {
  numeric: { type: 'integer', minimum: 1 },
  uuid: { type: 'string', format: 'uuid' },
  text: { type: 'string' },
};

function parametersOf(
  { path, idempotencyKey }: Endpoint,
  read: readonly QueryParameter[],
  settings: SandboxSettings,
): JsonObject[] {
  const id = ID_SCHEMAS[settings.ids];
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    return { name, in: 'path', required: true, schema: id };
  });
  const inQuery = read.map((parameter) => ({ in: 'query', required: false, ...parameter }));
  const key = {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: 'The same key with the same request gets the first answer again.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  };
  return [...inPath, ...inQuery, ...(honoursKeys(settings.idempotency, { idempotencyKey }) ? [key] : [])];
}

function contentOf(name: OperationName, shape: SuccessShape, settings: SandboxSettings): JsonObject {
  if (shape.kind === 'pdf') return { 'application/pdf': {} };
  const plain = jsonSchema(shape.schema, 'output');
  const schema = formedSchema(plain, settings, name);
  if (shape.kind === 'list') return { 'application/json': { schema: pageOf(schema, settings) } };
  const isItem = 'id' in (plain['properties'] as JsonObject);
  return { 'application/json': { schema: settings.idAt === 'data.id' && isItem ? closed({ data: schema }) : schema } };
}

function pageOf(entry: JsonObject, settings: SandboxSettings): JsonObject {
  const entries = { type: 'array', items: entry };
  return PAGINGS[settings.paging].page?.(entries, settings) ?? entries;
}

function describeRefusals(name: OperationName, settings: SandboxSettings): JsonObject {
  const type = settings.errors === 'problem' ? 'application/problem+json' : 'application/json';
  const content = { [type]: { schema: { $ref: '#/components/schemas/Error' } } };
  const refusals = [...refusalsOf(name, settings)];
  return Object.fromEntries(refusals.map(([status, description]) => [String(status), { description, content }]));
}

const MISSING = {
  type: 'array',
  items: { type: 'string' },
  description: 'What the passport still needs for this step.',
};

/**
 * The schemas of errors in the forms of `createStyle`. An import that names its bad rows has messages by field for each
 * of them.
 */
function errorShapes({ badRow }: SandboxSettings['import']): Record<SandboxSettings['errors'], JsonObject> {
  const type = badRow === 'refuses-all-named' ? ['object', 'array'] : 'object';
  const byField = { type, description: 'Messages by field.' };
  return {
    drf: {
      type,
      description: 'Either what is wrong in words, or messages by field.',
      properties: { detail: { type: 'string' }, missing: MISSING },
      additionalProperties: true,
    },
    problem: {
      type: 'object',
      properties: {
        type: { type: 'string' },
        title: { type: 'string' },
        status: { type: 'integer' },
        detail: { type: 'string' },
        missing: MISSING,
        errors: byField,
      },
      required: ['type', 'title', 'status', 'detail'],
    },
    message: {
      type: 'object',
      properties: { message: { type: 'string' }, missing: MISSING, errors: byField },
      required: ['message'],
    },
  };
}
