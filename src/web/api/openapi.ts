import { z } from 'zod';
import type { JsonObject } from '../../lib/json.ts';
import { shareDefinitions } from '../../lib/json-schema.ts';
import { TAGS, type Tag } from '../../operations/operation.ts';
import { Problem } from '../server/answers.ts';
import type { ApiOperation } from './operation.ts';

const TAG_TEXTS: Record<Tag, string> = {
  ledger: 'What the ledger can show.',
  attention: 'What needs a person, and what a person can do about it.',
  work: 'Runs, replays and passports: work that goes on after the answer.',
  platform: 'What is read from the platform at each request.',
  daemon: 'The daemon itself.',
};

const ROLE_TEXTS = {
  viewer: 'Any role may use it.',
  editor: 'For editors and operators.',
  operator: 'For operators.',
} as const;

/** The OpenAPI 3.1 document of the admin API, made from the schemas that check its requests. */
export function openApiDocument(operations: readonly ApiOperation[], version: string): JsonObject {
  const schemas: JsonObject = {};
  const jsonSchema = jsonSchemasInto(schemas);
  schemas['Problem'] = jsonSchema(Problem, 'output');
  const paths: Record<string, Record<string, JsonObject>> = {};
  for (const operation of operations) {
    const path = `/api/v1${operation.path.replace(/:(\w+)/g, '{$1}')}`;
    const methods = paths[path] ?? {};
    methods[operation.method.toLowerCase()] = describe(operation, jsonSchema);
    paths[path] = methods;
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Admin API of dpp-sync',
      version,
      description:
        'Everything that the ledger can show, and every action of a person. The token of `web.token` goes into the header `Authorization: Bearer …`. Errors are problem documents (RFC 9457).',
    },
    tags: TAGS.map((name) => ({ name, description: TAG_TEXTS[name] })),
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas,
    },
  };
}

function describe(
  { id, summary, tag, role, params, query, body, answer }: ApiOperation,
  jsonSchema: JsonSchemaOf,
): JsonObject {
  return {
    operationId: id,
    summary,
    description: ROLE_TEXTS[role],
    tags: [tag],
    parameters: [
      ...parametersOf(jsonSchema(params, 'input'), 'path'),
      ...parametersOf(jsonSchema(query, 'input'), 'query'),
    ],
    ...(body === null
      ? {}
      : {
          requestBody: { required: true, content: { 'application/json': { schema: jsonSchema(body, 'input') } } },
        }),
    responses: {
      [String(answer.status)]: {
        description:
          answer.status === 202 ? 'The work was started. `Location` has the address of its state.' : 'Success.',
        content:
          'schema' in answer
            ? { 'application/json': { schema: jsonSchema(answer.schema, 'input') } }
            : { [answer.contentType]: {} },
      },
      default: {
        description: 'An error.',
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    },
  };
}

function parametersOf(schema: JsonObject, where: 'path' | 'query'): JsonObject[] {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, JsonObject>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...described }]) => ({
    name,
    in: where,
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema: described,
  }));
}

/** The JSON Schema of a zod schema, without the line that names the dialect. */
type JsonSchemaOf = (schema: z.ZodType, io: 'input' | 'output') => JsonObject;

/** The schemas that have a name are in `components` once, because several answers have them, or they contain themselves. */
function jsonSchemasInto(components: JsonObject): JsonSchemaOf {
  return (schema, io) => {
    const { $schema: _dialect, ...described } = z.toJSONSchema(schema, {
      io,
      unrepresentable: 'any',
      reused: 'inline',
    });
    return shareDefinitions(described as JsonObject, '#/components/schemas', components);
  };
}
