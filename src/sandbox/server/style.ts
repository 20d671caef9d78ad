import { STATUS_CODES } from 'node:http';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/json.ts';
import type { Answer, Document } from '../api/answer.ts';
import { ENDPOINTS, type OperationName } from '../api/endpoints.ts';
import type { AnswerContent, SandboxSettings } from '../settings/settings.ts';
import { addressOf, type EntryForm, formed } from './entry-form.ts';

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
}: Pick<SandboxSettings, 'successCodes' | 'errors' | 'answers'> & EntryForm): (
  answer: Answer,
  operation: OperationName | null,
) => StyledAnswer {
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
