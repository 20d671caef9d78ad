import { STATUS_CODES } from 'node:http';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import type { Answer } from '../api/answer.ts';
import { ENDPOINTS, type OperationName } from '../api/endpoints.ts';
import type { SandboxSettings } from '../settings/settings.ts';

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
  idAt,
  errors,
}: Pick<SandboxSettings, 'successCodes' | 'idAt' | 'errors'>): (
  answer: Answer,
  operation: OperationName | null,
) => StyledAnswer {
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
    const status = answer.document ? answer.status : statusOf(answer.status, operation);
    const body = idAt === 'id' ? answer.body : withIdAt(idAt, answer.body);
    return { ...answer, status, body, contentType: 'application/json' };
  };
}

/** Renames the id of an object, of the entries of a bare list, and of the entries of every list in an envelope. */
function withIdAt(name: 'uuid' | 'pk' | 'data.id', body: JsonValue): JsonValue {
  if (Array.isArray(body)) return name === 'data.id' ? body : body.map((entry) => renameId(name, entry));
  if (!isJsonObject(body)) return body;
  if (name === 'data.id') return 'id' in body ? { data: body } : body;
  return Object.fromEntries(
    Object.entries(renameId(name, body)).map(([member, value]) => [
      member,
      Array.isArray(value) ? value.map((entry) => renameEntry(name, entry)) : value,
    ]),
  );
}

/** Renames the id of an entry of a list. In the style of Relay the entry is in the edge. */
function renameEntry(name: string, entry: JsonValue): JsonValue {
  if (!isJsonObject(entry) || !isJsonObject(entry['node'] ?? null)) return renameId(name, entry);
  return { ...entry, node: renameId(name, entry['node'] ?? null) };
}

function renameId<T extends JsonValue>(name: string, value: T): T | JsonObject {
  if (!isJsonObject(value) || !('id' in value)) return value;
  const { id = null, ...rest } = value as JsonObject;
  return { [name]: id, ...rest };
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
