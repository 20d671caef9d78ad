// Bodies of requests and answers in an OpenAPI operation.

import { isJsonObject, type JsonValue } from '../../lib/json.ts';
import type { ApiDocument, ApiOperation } from './document.ts';

/** The body of a request or an answer. */
export interface ApiContent {
  /** The media types; empty if there is no body. */
  types: string[];
  /** The schema of the JSON body. */
  schema: JsonValue | undefined;
  /** Why the schema cannot be read; null if it can. */
  unread: string | null;
}

type References = Pick<ApiDocument, 'resolve' | 'whyUnread'>;

export interface ApiRequestBody extends ApiContent {
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
