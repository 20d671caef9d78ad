import { PassThrough } from 'node:stream';
import { z } from 'zod';
import { isMember } from '../../daemon/uploads/plan-corrections.ts';
import type { Listing } from '../../domain/ports/target.ts';
import { identityOf, readableKey } from '../../domain/record.ts';
import { CorrectRowsRequest, correctRows } from '../../operations/corrections.ts';
import { documentOf, TaskDocument } from '../../operations/documents.ts';
import { OPERATIONS } from '../../operations/list.ts';
import type { AnyOperation, FileOperation } from '../../operations/operation.ts';
import { outcomeFault } from '../../operations/outcome-fault.ts';
import { passportPdf, publicationList, reportList } from '../../operations/platform.ts';
import { planSources } from '../../operations/runs.ts';
import type { PlatformContext } from '../../operations/runtime.ts';
import { keysOf, noUploadReason, targetOf } from '../pages/attention/causes.ts';
import { checkSettings } from '../pages/settings/check-settings.ts';
import { mayDo } from '../server/answers.ts';
import { allowedText } from '../server/fields.ts';
import type { Route, WebAnswer, WebRequest } from '../server/route.ts';
import { badRequest, notFound, WebFault } from '../web-fault.ts';
import { openApiDocument } from './openapi.ts';
import { type ApiContext, type ApiOperation, apiOperation, describedAs, NOTHING, shown, started } from './operation.ts';

const NDJSON = 'application/x-ndjson';

/**
 * Sends a list of the platform: each page is a line with a JSON array. If the list cannot be read to its end, the
 * connection is closed before the end of the answer.
 */
function listOperation(
  operation: FileOperation<Record<string, never>, Listing>,
  { path, failure }: { path: string; failure: string },
): ApiOperation {
  const { id, ...described } = describedAs(operation, path);
  return {
    ...described,
    id,
    params: NOTHING,
    answer: { status: 200, contentType: NDJSON },
    async handle({ abort }, { platform }) {
      const chunks = await fileBytes(async (given) => {
        const listing = await operation.run({}, { runtime: { platform }, ...given });
        if (listing.complete) return;
        throw outcomeFault(listing.outcome, { failure, cure: 'Check that the profile fits the API of the platform.' });
      }, abort);
      return { file: { type: 'download', name: `${id}.ndjson`, contentType: NDJSON, chunks } };
    },
  };
}

/** Plans in the daemon, and sends the lines of the plan. The plan waits for a slow reader. */
const PLAN: ApiOperation = {
  ...describedAs(planSources, '/plan'),
  params: NOTHING,
  query: z.strictObject({ source: z.string().optional().describe('The id of a source; by default all sources.') }),
  answer: { status: 200, contentType: NDJSON },
  async handle({ query, abort }, { runtime }) {
    const { source } = query as { source?: string };
    const asked = { sources: source === undefined ? [] : [source] };
    const chunks = await fileBytes((given) => planSources.run(asked, { runtime, ...given }), abort);
    return { file: { type: 'download', name: 'plan.ndjson', contentType: NDJSON, chunks } };
  },
};

/** The operations that read the platform itself at each request. */
const PLATFORM_OPERATIONS: readonly ApiOperation[] = [
  listOperation(publicationList, {
    path: '/publications',
    failure: 'The publications cannot be read',
  }),
  listOperation(reportList, {
    path: '/reports',
    failure: 'The reports cannot be read',
  }),
  {
    ...describedAs(passportPdf, '/passports/:product/pdf'),
    params: z.strictObject({ product: z.string().describe('The key or the SKU, percent-encoded.') }),
    answer: { status: 200, contentType: 'application/pdf' },
    async handle({ params, abort }, { platform, reads }) {
      const { product } = params as { product: string };
      const item = await reads.itemDetail('product', product);
      if (item === null) throw notFound(`There is no product "${product}" in the ledger.`);
      const productId = item.remoteId;
      if (typeof productId !== 'string' && typeof productId !== 'number') {
        throw notFound(`The product "${product}" is not at the platform yet.`);
      }
      const chunks = await fileBytes(async (given) => {
        const result = await passportPdf.run({ productId }, { runtime: { platform }, ...given });
        if (result.ok) return;
        throw outcomeFault(result.outcome, {
          failure: `The passport of ${product} cannot be read`,
          cure: 'Check whether the passport was prepared (`initialized`).',
        });
      }, abort);
      return { file: { type: 'download', name: 'passport.pdf', contentType: 'application/pdf', chunks } };
    },
  },
];

/**
 * Runs an operation that writes a document, and passes on its bytes at once. The operation waits for a slow reader.
 *
 * @param run throws if there is no document or only a part of it
 * @returns when the first bytes have arrived, so that a failure before them can get its own answer. After a failure
 *   later, the connection is broken off, so that the reader does not take the document as complete.
 * @throws the error of `run` before the first byte
 */
async function fileBytes(
  run: (given: Pick<PlatformContext, 'abort' | 'bytes'>) => Promise<unknown>,
  abort: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const stream = new PassThrough();
  // The reader of the stream gets the error, or it is thrown below.
  stream.on('error', () => undefined);
  const begun = new Promise<void>((resolve) => {
    stream.once('readable', resolve);
  });
  const stop = new AbortController();
  stream.once('close', () => stop.abort());
  const write = (chunk: Uint8Array) =>
    new Promise<void>((resolve, reject) => {
      stream.write(chunk, (error) => (error ? reject(error) : resolve()));
    });
  const ended = run({ abort: AbortSignal.any([abort, stop.signal]), bytes: { write } }).then(() => {
    stream.end();
  });
  ended.catch((error: unknown) => stream.destroy(error instanceof Error ? error : new Error(String(error))));
  await Promise.race([begun, ended]);
  return stream;
}

// The operations of the admin API that need parts of the web server.

const CORRECTED = CorrectRowsRequest.extend({
  cause: z.string().optional().describe('The id of a cause. Then each row has to be one of its rows.'),
});

/** Stores corrected rows under the rules of the upload form: an editor corrects only rows that are stuck. */
const CORRECT_ROWS: ApiOperation = {
  ...apiOperation(correctRows),
  body: CORRECTED,
  async handle({ body, person, abort }, context) {
    const { cause, ...rows } = body as z.output<typeof CORRECTED>;
    if (cause !== undefined) await assertRowsOf(cause, rows, { context, abort });
    else if (!mayDo(person, 'operator')) throw new WebFault(403, NO_CAUSE);
    const by = { who: person.name, via: 'api' as const, title: correctRows.summary };
    return started(await context.tasks.start(correctRows, rows, by));
  },
};

const NO_CAUSE =
  'Your role corrects only rows of a cause. Name the id of the cause as `cause`, or ask for the role operator.';

async function assertRowsOf(
  cause: string,
  { source, stream, rows }: CorrectRowsRequest,
  { context: { runtime, reads }, abort }: { context: ApiContext } & { abort: AbortSignal },
): Promise<void> {
  const found = await reads.cause(cause);
  if (found === null) throw notFound('Nothing is stuck for this cause any more.');
  const target = await targetOf(found, runtime, abort);
  const reason = noUploadReason(target);
  if (target === null || reason !== null) throw badRequest(reason ?? '');
  if (target.source.id !== source || target.stream !== stream) {
    throw badRequest(
      `The rows of this cause belong to ${target.source.id}/${target.stream}, not to ${source}/${stream}.`,
    );
  }
  const members = await keysOf(cause, { target, uploaded: rows.map(({ fields }) => fields) }, runtime, abort);
  const foreign = rows.map(({ fields }) => identityOf(fields, target.key)).find((key) => !isMember(key, members));
  if (foreign === undefined) return;
  throw badRequest(
    foreign === null
      ? `A row has no value in a key column (${target.key.join(', ')}). Nothing is stored.`
      : `The row with the key ${readableKey(foreign)} is not one of the rows of this cause. Nothing is stored.`,
  );
}

const OneTask = z.strictObject({ id: z.string() });
/** The work that people have started. */
const TASK_OPERATIONS: readonly ApiOperation[] = [
  {
    ...describedAs(
      { name: 'list-operations', summary: 'Lists the last operations, the newest first.', tag: 'work', role: 'viewer' },
      '/operations',
    ),
    params: NOTHING,
    answer: { status: 200, schema: z.array(TaskDocument) },
    handle: async (_, { tasks }) => ({ value: tasks.list().map(shown) }),
  },
  {
    ...describedAs(
      {
        name: 'show-operation',
        summary: 'Shows the state of an operation, and its result once it has ended.',
        tag: 'work',
        role: 'viewer',
      },
      '/operations/:id',
    ),
    params: OneTask,
    answer: { status: 200, schema: TaskDocument },
    async handle({ params }, { tasks }) {
      const { id } = params as z.output<typeof OneTask>;
      const task = tasks.get(id);
      if (task === null) throw notFound(`There is no operation ${id}. The last 200 are kept until a restart.`);
      return { value: shown(task) };
    },
  },
  {
    ...describedAs(
      {
        name: 'stop-operation',
        summary: 'Interrupts an operation. What it has done stays.',
        tag: 'work',
        role: 'operator',
      },
      '/operations/:id/stop',
    ),
    method: 'POST',
    action: 'operation.stop',
    params: OneTask,
    answer: { status: 200, schema: z.strictObject({ stopped: z.boolean() }) },
    handle: async ({ params }, { tasks }) => ({
      value: { stopped: tasks.stop((params as z.output<typeof OneTask>).id) },
    }),
  },
];

const CHECK_SETTINGS: ApiOperation = {
  ...apiOperation(checkSettings as AnyOperation),
  body: null,
  async handle({ person }, { tasks }) {
    const by = { who: person.name, via: 'api' as const, title: 'Check of sources, queue and API' };
    return started(await tasks.start(checkSettings, {}, by));
  },
};

const API_PATH = '/api/v1';

/** The most bytes of a request. A replay may name some ten thousand keys. */
const BODY_BYTES_MAX = 1024 * 1024;

/** The operations that the web server answers in its own way, by their ids. */
const own = new Map([CORRECT_ROWS, PLAN, ...PLATFORM_OPERATIONS].map((operation) => [operation.id, operation]));
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
