import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import { ENDPOINTS, type OperationName } from '../api/endpoints.ts';
import {
  type Answer,
  type Document,
  member,
  NoBody,
  type Operation,
  type OperationRequest,
  refusal,
} from '../api/operation.ts';
import { closed } from '../lists/paging.ts';
import type { AnswerContent, SandboxSettings } from '../settings/settings.ts';

/** An answer in the form of the settings. */
export interface StyledAnswer extends Answer {
  contentType: string;
}

/**
 * Changes answers to the form that the settings choose, just before they are sent. Stored and replayed answers always
 * have the form of Django REST Framework.
 */
export function createStyle({
  successCodes,
  errors,
  answers,
  ...form
}: SandboxSettings): (answer: Answer, operation: OperationName | null) => StyledAnswer {
  const contentOf = (operation: OperationName): AnswerContent => answers[operation] ?? answers['*'] ?? 'full';
  const statusOf = (status: number, operation: OperationName | null): number => {
    if (successCodes === 'accepted' && operation !== null && ENDPOINTS[operation].method !== 'GET') return 202;
    return successCodes === 'ok' && status === 201 ? 200 : status;
  };
  const errorOf = ({ status, body }: Answer): { body: JsonValue; contentType: string } => {
    if (errors === 'problem') return { body: problemOf(status, body), contentType: 'application/problem+json' };
    return { body: errors === 'message' ? messageOf(status, body) : body, contentType: 'application/json' };
  };

  return (answer, operation) => {
    if (answer.status >= 400) return { ...answer, ...errorOf(answer) };
    const contentType = 'application/json';
    if (answer.document || operation === null) return { ...answer, contentType };
    const styled = { ...answer, status: statusOf(answer.status, operation), contentType };
    const told = ENDPOINTS[operation].method === 'GET' ? styled : abridged(styled, contentOf(operation), operation);
    return told.document ? told : { ...told, body: formed(told.body, form, operation) };
  };
}

const NOTHING: Document = { type: 'application/json', bytes: Buffer.alloc(0) };

/** Leaves out a part of the answer to a write, as the settings say. */
function abridged(answer: StyledAnswer, how: AnswerContent, operation: OperationName): StyledAnswer {
  const { body } = answer;
  const id = isJsonObject(body) ? body['id'] : undefined;
  switch (how) {
    case 'full':
      return answer;
    case 'id':
      return id === undefined ? answer : { ...answer, body: { id } };
    case 'empty':
      return { ...answer, document: NOTHING };
    case 'location': {
      const location = addressOf(operation, id ?? null);
      return { ...answer, headers: { ...answer.headers, ...(location && { location }) }, document: NOTHING };
    }
  }
}

/** The parts of an error: its text, and its texts by field. */
function partsOf(body: JsonValue): { detail: string | undefined; extra: JsonObject; fields: JsonValue | undefined } {
  // The body is a list of errors by row.
  if (Array.isArray(body)) return { detail: undefined, extra: {}, fields: body };
  if (!isJsonObject(body)) return { detail: undefined, extra: {}, fields: undefined };
  const { detail, ...extra } = body;
  if (typeof detail === 'string') return { detail, extra, fields: undefined };
  return { detail: undefined, extra: {}, fields: body };
}

/** The form of RFC 9457. Further members are extensions, which the standard allows. */
function problemOf(status: number, body: JsonValue): JsonObject {
  const { detail, extra, fields } = partsOf(body);
  return {
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    detail: detail ?? 'The request is not valid.',
    ...extra,
    ...(fields && { errors: fields }),
  };
}

function messageOf(status: number, body: JsonValue): JsonObject {
  const { detail, extra, fields } = partsOf(body);
  return { message: detail ?? STATUS_CODES[status] ?? 'Error', ...extra, ...(fields && { errors: fields }) };
}

type EntryForm = Pick<SandboxSettings, 'idAt' | 'entries'>;

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
function addressOf(operation: OperationName, id: JsonValue): string | null {
  return typeof id === 'string' || typeof id === 'number' ? `${RESOURCES[operation].path}${id}/` : null;
}

/** Gives the form of the settings to a body: to an object with an id, and to the entries of its lists. */
function formed(body: JsonValue, form: EntryForm, operation: OperationName): JsonValue {
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

type Operations = Record<OperationName, Operation>;

/** Writes whose body stays as it is, whatever the form of the others. */
const PLAIN: ReadonlySet<OperationName> = new Set(['product.import']);

/** Makes every write with a body ask for `{"data": {"type", "attributes"}}`, if the settings say so. */
export function withRequestEnvelope(operations: Operations, requests: SandboxSettings['requests']): Operations {
  if (requests === 'flat') return operations;
  return Object.fromEntries(
    Object.entries(operations).map(([name, operation]) => {
      const hasBody = operation.accepts !== undefined && operation.accepts !== NoBody;
      return [name, hasBody && !PLAIN.has(name as OperationName) ? enveloped(operation) : operation];
    }),
  ) as Operations;
}

function enveloped(operation: Operation): Operation {
  const within = (request: OperationRequest): OperationRequest => ({
    ...request,
    body: member(member(request.body, 'data'), 'attributes'),
  });
  return {
    ...operation,
    accepts: z.strictObject({
      data: z.strictObject({ type: z.string().optional(), attributes: operation.accepts ?? NoBody }),
    }),
    naturalKey: (request) => operation.naturalKey(within(request)),
    execute(request) {
      const inner = within(request);
      if (typeof inner.body === 'object' && inner.body !== null) return operation.execute(inner);
      return refusal(400, 'Expected the fields in "attributes" of the member "data".');
    },
  };
}
