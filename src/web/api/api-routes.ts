import { z } from 'zod';
import { documentOf } from '../../operations/documents.ts';
import { OPERATIONS } from '../../operations/list.ts';
import { allowedText } from '../server/fields.ts';
import type { Route, WebAnswer, WebRequest } from '../server/route.ts';
import { WebFault } from '../web-fault.ts';
import { openApiDocument } from './openapi.ts';
import { type ApiContext, type ApiOperation, apiOperation } from './operation.ts';
import { CHECK_SETTINGS, CORRECT_ROWS, TASK_OPERATIONS } from './own-operations.ts';
import { PLATFORM_OPERATIONS } from './platform-operations.ts';

const API_PATH = '/api/v1';

/** The most bytes of a request. A replay may name some ten thousand keys. */
const BODY_BYTES_MAX = 1024 * 1024;

/** The operations that the web server answers in its own way, by their ids. */
const own = new Map([CORRECT_ROWS, ...PLATFORM_OPERATIONS].map((operation) => [operation.id, operation]));
/** The operations that only the web server has, each before the operation that follows it in the document. */
const between = new Map<string, readonly ApiOperation[]>([
  ['noteCause', TASK_OPERATIONS],
  ['listBackups', [CHECK_SETTINGS]],
]);

/** Every operation of the admin API. */
export const API_OPERATIONS: readonly ApiOperation[] = OPERATIONS.map(apiOperation).flatMap((operation) => [
  ...(between.get(operation.id) ?? []),
  own.get(operation.id) ?? operation,
]);

/** The admin API as routes of the web server, with the document that describes them. */
export function apiRoutes(context: ApiContext): Route[] {
  let document: ReturnType<typeof openApiDocument> | null = null;
  return [
    ...API_OPERATIONS.map((operation) => routeOf(operation, context)),
    {
      method: 'GET',
      path: `${API_PATH}/openapi.json`,
      role: 'viewer',
      handle: async () => {
        document ??= openApiDocument(API_OPERATIONS, context.version);
        return { type: 'json', value: document };
      },
    },
  ];
}

function routeOf(operation: ApiOperation, context: ApiContext): Route {
  const { method, path, role, action, body } = operation;
  return {
    method,
    path: `${API_PATH}${path}`,
    role,
    ...(action === undefined ? {} : { action }),
    ...(body === null ? {} : { bodyBytesMax: BODY_BYTES_MAX }),
    handle: (request) => answer(operation, request, context),
  };
}

async function answer(operation: ApiOperation, request: WebRequest, context: ApiContext): Promise<WebAnswer> {
  const { person, abort } = request;
  const given = await operation.handle(
    {
      params: checked(operation.params, request.params, 'path'),
      query: checked(operation.query, Object.fromEntries(request.query), 'query'),
      body: operation.body === null ? undefined : checked(operation.body, request.json, 'body'),
      person,
      abort,
    },
    context,
  );
  if ('file' in given) return given.file;
  const { value, status = operation.answer.status, headers = {} } = given;
  const document = 'schema' in operation.answer ? documentOf(operation.answer.schema, value) : value;
  return { type: 'json', status, value: document, headers };
}

/** @throws WebFault 422 with each member that is not valid */
function checked(schema: z.ZodType, value: unknown, part: 'path' | 'query' | 'body'): unknown {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const errors = parsed.error.issues.map(({ code, path, message }) => {
    const allowed =
      code === 'unrecognized_keys' && path.length === 0 && schema instanceof z.ZodObject
        ? `. ${allowedText(Object.keys(schema.shape))}`
        : '';
    return { path: [part, ...path].join('.'), message: `${message}${allowed}` };
  });
  throw new WebFault(422, `The ${part} of the request does not have the form that this operation needs.`, { errors });
}
