import { parseDocument } from 'yaml';
import { err, ok, type Result } from '../../lib/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { percentDecoded } from '../../lib/text/percent.ts';

/** One operation of an OpenAPI document. */
export interface ApiOperation {
  method: string;
  /** The path, with the path of the first server before it. */
  path: string;
  /** The operation object. */
  raw: JsonObject;
  /** The parameters of the path and of the operation. References are resolved. */
  parameters: ApiParameter[];
  /** Why certain parameters cannot be read. */
  unreadParameters: string[];
}

interface ApiParameter {
  name: string;
  in: string;
  required: boolean;
}

export interface ApiDocument {
  operations: ApiOperation[];
  /** The security schemes by name. References are resolved. */
  securitySchemes: ReadonlyMap<string, JsonObject>;
  /** Whether the document defines security schemes. */
  hasSecuritySchemes: boolean;
  /** The security of operations that state none. */
  security: JsonValue | undefined;
  /** The object that a `$ref` in the document refers to, or the object itself; null if there is none. */
  resolve(value: JsonValue | undefined): JsonObject | null;
  /** Why a `$ref` cannot be resolved, in a few words; null if it can, and for a value that is not a `$ref`. */
  whyUnread(value: JsonValue | undefined): string | null;
}

export const OPENAPI_BYTES_MAX = 8_388_608;
const PATHS_MAX = 2_000;
const REFS_MAX = 32;
const ALIASES_MAX = 100;
const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/**
 * Reads OpenAPI 3.x as JSON or YAML. References are resolved only within the document. Nothing is fetched.
 *
 * @returns the document, or a sentence that says why it cannot be read
 */
export function readOpenApi(text: string): Result<ApiDocument, string> {
  if (Buffer.byteLength(text) > OPENAPI_BYTES_MAX) {
    return err(`The OpenAPI document is longer than ${OPENAPI_BYTES_MAX} bytes.`);
  }
  const root = parse(text);
  if (root === null) return err('The OpenAPI document is neither JSON nor YAML with an object at its top.');
  const version = root['openapi'];
  if (typeof version !== 'string' || !/^3\.\d/.test(version)) {
    const found = root['swagger'] === undefined ? 'no "openapi: 3.x"' : 'Swagger 2';
    return err(`The document has ${found}; export it as OpenAPI 3.`);
  }
  const paths = root['paths'];
  if (!isJsonObject(paths)) return err('The OpenAPI document has no paths.');
  const references = referencesIn(root);
  const { resolve } = references;
  const components = isJsonObject(root['components']) ? root['components'] : {};
  const given = components['securitySchemes'];
  const schemes = isJsonObject(given) ? Object.entries(given) : [];
  return ok({
    operations: operationsIn(paths, basePathOf(root['servers']), references),
    securitySchemes: new Map(
      schemes.flatMap(([name, scheme]) => {
        const resolved = resolve(scheme);
        return resolved === null ? [] : [[name, resolved] as const];
      }),
    ),
    hasSecuritySchemes: schemes.length > 0,
    security: root['security'],
    ...references,
  });
}

function parse(text: string): JsonObject | null {
  try {
    const value: unknown = /^\s*\{/.test(text) ? JSON.parse(text) : fromYaml(text);
    return isJsonObject(value) ? value : null;
  } catch (error) {
    // The parsers throw on bad text. A text that is nested too deeply overflows the stack.
    if (error instanceof SyntaxError || error instanceof RangeError || error instanceof ReferenceError) return null;
    throw error;
  }
}

function fromYaml(text: string): unknown {
  const document = parseDocument(text, { logLevel: 'silent', prettyErrors: false });
  return document.errors.length > 0 ? null : document.toJS({ maxAliasCount: ALIASES_MAX });
}

type References = Pick<ApiDocument, 'resolve' | 'whyUnread'>;

function referencesIn(root: JsonObject): References {
  const follow = (value: JsonValue | undefined): Result<JsonObject | null, string> => {
    let at = value;
    for (let hops = 0; hops < REFS_MAX; hops += 1) {
      if (at === undefined || !isJsonObject(at)) return ok(null);
      const ref: JsonValue | undefined = Object.hasOwn(at, '$ref') ? at['$ref'] : undefined;
      if (typeof ref !== 'string') return ok(at);
      if (!ref.startsWith('#/')) return err(`a reference out of the document, "${ref}"`);
      at = pointedTo(root, ref);
      if (at === undefined) return err(`a reference to a part that does not exist, "${ref}"`);
    }
    return err('references that go round in a circle');
  };
  return {
    resolve(value) {
      const followed = follow(value);
      return followed.ok ? followed.value : null;
    },
    whyUnread(value) {
      const followed = follow(value);
      return followed.ok ? null : followed.error;
    },
  };
}

/** RFC 6901, in the fragment of a URI. */
function pointedTo(root: JsonObject, ref: string): JsonValue | undefined {
  let at: JsonValue | undefined = root;
  for (const part of ref.slice(2).split('/')) {
    const name = percentDecoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as JsonObject)[name];
  }
  return at;
}

/** The path of the first server, without a slash at its end. */
function basePathOf(servers: JsonValue | undefined): string {
  const first = Array.isArray(servers) ? servers[0] : undefined;
  const url = first !== undefined && isJsonObject(first) ? first['url'] : undefined;
  if (typeof url !== 'string') return '';
  const path = URL.parse(url.replace(/\{[^{}]*\}/g, 'x'), 'https://server')?.pathname ?? '';
  return path.replace(/\/+$/, '');
}

function operationsIn(paths: JsonObject, basePath: string, { resolve, whyUnread }: References): ApiOperation[] {
  return Object.entries(paths)
    .slice(0, PATHS_MAX)
    .flatMap(([path, given]) => {
      const item = resolve(given);
      if (item === null) return [];
      return METHODS.flatMap((method) => {
        const raw = Object.hasOwn(item, method) ? item[method] : undefined;
        if (raw === undefined || !isJsonObject(raw)) return [];
        const given = [item['parameters'], raw['parameters']].flatMap((list) => (Array.isArray(list) ? list : []));
        const parameters = given.flatMap((entry) => parameterAt(resolve(entry)));
        const unreadParameters = given.flatMap((entry) => whyUnread(entry) ?? []);
        return [{ method: method.toUpperCase(), path: basePath + path, raw, parameters, unreadParameters }];
      });
    });
}

function parameterAt(parameter: JsonObject | null): ApiParameter[] {
  if (parameter === null || typeof parameter['name'] !== 'string' || typeof parameter['in'] !== 'string') return [];
  const { name, in: place } = parameter as { name: string; in: string };
  return [{ name, in: place, required: parameter['required'] === true && parameter['schema'] !== false }];
}

// Bodies of requests and answers in an OpenAPI operation.

/** The body of a request or an answer. */
interface ApiContent {
  /** The media types; empty if there is no body. */
  types: string[];
  /** The schema of the JSON body. */
  schema: JsonValue | undefined;
  /** Why the schema cannot be read; null if it can. */
  unread: string | null;
}

interface ApiRequestBody extends ApiContent {
  required: boolean;
}

export function requestBodyOf({ raw }: ApiOperation, references: References): ApiRequestBody {
  const body = raw['requestBody'];
  return { ...contentOf(body, references), required: references.resolve(body)?.['required'] === true };
}

/** The successful answers, by their status in the document (`201`, `2XX`). */
export function successesOf({ raw }: ApiOperation, references: References): Map<string, ApiContent> {
  const responses = references.resolve(raw['responses']) ?? {};
  const statuses = Object.keys(responses).filter((status) => /^2(?:\d\d|XX)$/i.test(status));
  return new Map(statuses.map((status) => [status, contentOf(responses[status], references)]));
}

/** The first JSON schema among the successful answers. */
export function successSchemaOf(operation: ApiOperation, document: References): JsonValue | undefined {
  return [...successesOf(operation, document).values()].find(({ schema }) => schema !== undefined)?.schema;
}

/** True if a 201 has the header `Location`, which may have the new id. */
export function answersLocation({ raw }: ApiOperation, { resolve }: References): boolean {
  const created = resolve(resolve(raw['responses'])?.['201']);
  return Object.keys(resolve(created?.['headers']) ?? {}).some((name) => name.toLowerCase() === 'location');
}

/** True for media types of JSON. */
export function isJsonType(type: string): boolean {
  return /^(?:application\/(?:[\w.-]+\+)?json|\*\/\*|application\/\*)\s*(?:;|$)/i.test(type);
}

function contentOf(holder: JsonValue | undefined, { resolve, whyUnread }: References): ApiContent {
  const content = resolve(holder)?.['content'];
  if (content === undefined || !isJsonObject(content)) {
    return { types: [], schema: undefined, unread: whyUnread(holder) };
  }
  const types = Object.keys(content);
  const json = types.find(isJsonType);
  return { types, schema: json === undefined ? undefined : resolve(content[json])?.['schema'], unread: null };
}
