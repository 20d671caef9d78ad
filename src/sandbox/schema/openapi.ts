import { z } from 'zod';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { ENDPOINTS, type Endpoint, OPERATION_NAMES, type OperationName } from '../api/endpoints.ts';
import type { Document, Operation, QueryParameter } from '../api/operation.ts';
import { closed, PAGINGS } from '../lists/paging.ts';
import { createStyle, formedSchema } from '../server/style.ts';
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

/**
 * The pages that describe the API, by path. They show the settings of the sandbox and no stored data. They are written
 * when the first of them is asked for, because most sandboxes are never asked.
 */
export function createSchemaPages(
  operations: Record<OperationName, Operation>,
  settings: SandboxSettings,
): Record<string, () => Document> {
  let written: { json: Document; html: Document } | null = null;
  function pages(): { json: Document; html: Document } {
    const description = describeApi(operations, settings);
    const json = `${JSON.stringify(description, null, 2)}\n`;
    return {
      json: { type: 'application/json', bytes: Buffer.from(json) },
      html: { type: 'text/html; charset=utf-8', bytes: Buffer.from(readablePage(description)) },
    };
  }
  return {
    '/api/schema/': () => (written ??= pages()).json,
    '/api/docs/': () => (written ??= pages()).html,
  };
}

const STYLE = `
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1c1e21; }
  h2 { margin-top: 2.5rem; border-top: 1px solid #d5d9de; padding-top: 1rem; font-size: 1.2rem; }
  code, pre { font: 13px/1.45 ui-monospace, monospace; background: #f2f4f7; border-radius: 4px; }
  code { padding: 0.1rem 0.3rem; }
  pre { padding: 0.8rem; overflow-x: auto; }
  summary { cursor: pointer; }
  @media (prefers-color-scheme: dark) {
    body { background: #16181c; color: #e4e6ea; } code, pre { background: #23262c; } h2 { border-color: #3a3f47; } a { color: #8ab4f8; }
  }`;

/** One page without scripts and without anything from another server. */
function readablePage(description: JsonObject): string {
  const info = objectAt(description, 'info');
  const operations = Object.entries(objectAt(description, 'paths')).flatMap(([path, methods]) =>
    isJsonObject(methods)
      ? Object.entries(methods).map(([method, operation]) => ({ path, method, operation: operation as JsonObject }))
      : [],
  );
  const title = textAt(info, 'title');
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escape(title)}</title>
<style>${STYLE}
</style>
<h1>${escape(title)}</h1>
<p>${escape(textAt(info, 'description'))} The same for machines: <a href="/api/schema/">OpenAPI 3.1</a>.</p>
<ul>
${operations.map(({ operation }) => `<li><a href="#${anchorOf(operation)}">${escape(textAt(operation, 'summary'))}</a>`).join('\n')}
</ul>
${operations.map(section).join('\n')}
</html>
`;
}

function section({ path, method, operation }: { path: string; method: string; operation: JsonObject }): string {
  const body = objectAt(objectAt(objectAt(operation, 'requestBody'), 'content'), 'application/json')['schema'];
  const responses = Object.entries(objectAt(operation, 'responses')).map(([status, response]) => {
    const content = isJsonObject(response) ? Object.entries(objectAt(response, 'content')) : [];
    const [type = '', media] = content[0] ?? [];
    const schema = isJsonObject(media) ? media['schema'] : undefined;
    return status.startsWith('2') && schema !== undefined
      ? detail(`Answer ${status}, ${type}`, schema)
      : `<p>Answer ${escape(status)}${status.startsWith('2') ? `, ${escape(type)}` : ''}: ${escape(textAt(response, 'description'))}</p>`;
  });
  const { parameters } = operation;
  return `<section id="${anchorOf(operation)}">
<h2>${escape(textAt(operation, 'summary'))}</h2>
<p><code>${escape(method.toUpperCase())} ${escape(path)}</code></p>
<p>${escape(textAt(operation, 'description'))}</p>
${parameters === undefined ? '' : detail('Parameters', parameters)}
${body === undefined ? '' : detail('Request body', body)}
${responses.join('\n')}
</section>`;
}

function detail(title: string, schema: JsonValue): string {
  return `<details><summary>${escape(title)}</summary><pre>${escape(JSON.stringify(schema, null, 2))}</pre></details>`;
}

function anchorOf(operation: JsonObject): string {
  return escape(textAt(operation, 'operationId'));
}

function objectAt(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return value !== undefined && isJsonObject(value) ? value : {};
}

function textAt(object: JsonValue, name: string): string {
  const value = isJsonObject(object) ? object[name] : undefined;
  return typeof value === 'string' ? value : '';
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
