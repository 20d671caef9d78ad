// Bodies of requests and answers in an OpenAPI operation.

import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import type { ApiDocument, ApiOperation } from './document.ts';

/** What a request may carry, or an answer. */
export interface ApiContent {
  /** Media types; empty where there is no body. */
  types: string[];
  /** The schema of the JSON among them. */
  schema: JsonValue | undefined;
}

export interface ApiRequestBody extends ApiContent {
  required: boolean;
}

export function requestBodyOf({ raw }: ApiOperation, { resolve }: Pick<ApiDocument, 'resolve'>): ApiRequestBody {
  const body = resolve(raw['requestBody']);
  return { ...contentOf(body, resolve), required: body?.['required'] === true };
}

/** The answers of success, by status as the document has it (`201`, `2XX`). */
export function successesOf({ raw }: ApiOperation, { resolve }: Pick<ApiDocument, 'resolve'>): Map<string, ApiContent> {
  const responses = resolve(raw['responses']) ?? {};
  const statuses = Object.keys(responses).filter((status) => /^2(?:\d\d|XX)$/i.test(status));
  return new Map(statuses.map((status) => [status, contentOf(resolve(responses[status]), resolve)]));
}

/** The first JSON schema among the answers of success. */
export function successSchemaOf(
  operation: ApiOperation,
  document: Pick<ApiDocument, 'resolve'>,
): JsonValue | undefined {
  return [...successesOf(operation, document).values()].find(({ schema }) => schema !== undefined)?.schema;
}

/** True for the types under which JSON travels. */
export function isJsonType(type: string): boolean {
  return /^(?:application\/(?:[\w.-]+\+)?json|\*\/\*|application\/\*)\s*(?:;|$)/i.test(type);
}

function contentOf(holder: JsonObject | null, resolve: ApiDocument['resolve']): ApiContent {
  const content = holder?.['content'];
  if (content === undefined || !isJsonObject(content)) return { types: [], schema: undefined };
  const types = Object.keys(content);
  const json = types.find(isJsonType);
  return { types, schema: json === undefined ? undefined : resolve(content[json])?.['schema'] };
}
