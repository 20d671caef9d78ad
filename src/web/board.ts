import type { IncomingHttpHeaders } from 'node:http';
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import type { BeforeHookResult, HookContext } from '@bull-board/api/typings/app';
import { FastifyAdapter } from '@bull-board/fastify';
import { ErrorCode, type Queue } from 'bullmq';
import type { FastifyInstance } from 'fastify';
import type { QueueName } from '../domain/ports/queues.ts';
import { messageOf } from '../lib/errors.ts';
import { knownTroubleOf } from '../queue/queue-errors.ts';
import { type AuditParts, audited, outcomeOfStatus } from './audited.ts';
import { isForged, OLD_FORM } from './server/forged-requests.ts';
import { isHttps } from './sessions.ts';
import { answerOf, WebFault } from './web-fault.ts';

/** The path of the board. */
export const BOARD_PATH = '/queues/board';

const DESCRIPTIONS: Record<QueueName, string> = {
  pull: 'Runs. A failed job shows why its source could not be read, and Retry pulls the source again.',
  map: 'Changed records that are mapped onto items.',
  deliver:
    'Writes to the API. The failed jobs are the writes that need a person. Retry maps the stored record again and sends the item.',
};

/** The changes that the board may make, with their names in the audit log. Every other change is made through the ledger. */
const ALLOWED: ReadonlyMap<string, string> = new Map([
  ['/api/queues/:queueName/:jobId/retry', 'queue.retry'],
  ['/api/queues/:queueName/pause', 'queue.pause'],
  ['/api/queues/:queueName/resume', 'queue.resume'],
]);

const RETRY_ALL = '/api/queues/:queueName/retry/:queueStatus';
/**
 * "Retry all" of the board is refused, because the board would only report that the jobs were enqueued again, and not
 * their results.
 */
const RETRY_ALL_ELSEWHERE = 'Use "Retry all" on the page "Queues in short": it reports the result of each delivery.';

/**
 * Adds bull-board for the queues. The ledger is the truth and not the queues, so no action on the board can lose or
 * double a delivery. Nevertheless actions that would only confuse, such as adding, emptying or editing jobs, are
 * refused.
 */
export async function addBoard(
  app: FastifyInstance,
  options: AuditParts & { queues: readonly Queue[] },
): Promise<void> {
  const { queues, log } = options;
  const serverAdapter = new FastifyAdapter();
  serverAdapter.setBasePath(BOARD_PATH);
  createBullBoard({
    queues: queues.map((queue) => {
      const settings = { allowRetries: true, allowCompletedRetries: false };
      return new BullMQAdapter(queue, { ...settings, description: DESCRIPTIONS[queue.name as QueueName] });
    }),
    serverAdapter,
    options: {
      uiConfig: {
        boardTitle: 'dpp-sync',
        miscLinks: [
          { text: 'Queues in short', url: '/queues' },
          { text: 'Overview', url: '/' },
        ],
        hideDocsLink: true,
        hideRedisDetails: true,
        showMetrics: false,
        // The workers are in this process. The board would look for them among the connections of Redis.
        showWorkers: false,
        sortQueues: false,
        pollingInterval: { showSetting: true },
        // This tab has the reason of a failed job, and the result of a retry.
        jobDetails: { defaultTab: 'Data' },
        locale: { lng: 'en-GB' },
      },
      handlerHooks: { before: refuseWhatConfuses },
    },
  });
  // The error handler of the board would show internal messages of the queue's datastore.
  serverAdapter.setErrorHandler((error) => {
    if (isOvertaken(error)) return refused(409, 'The job has changed meanwhile. Load the list again.');
    const { status, message } = answerOf(error);
    if (message !== null) return refused(status, message);
    const trouble = knownTroubleOf(error);
    if (trouble !== null) return refused(503, `Redis cannot be used: ${trouble.what} ${trouble.cure}`);
    log.error({ error: messageOf(error) }, `The board could not answer: ${messageOf(error)}`);
    return { status: 500, body: { error: 'ERRORS.INTERNAL_SERVER_ERROR' } };
  });

  await app.register(async (scope) => {
    scope.addHook('onRoute', (route) => {
      if ([route.method].flat().every((method) => method === 'GET' || method === 'HEAD')) return;
      const carryOut = route.handler;
      const action = ALLOWED.get(route.url.slice(BOARD_PATH.length));
      route.handler = async function handle(request, reply) {
        const { 'x-csrf-token': own, [TOKEN_HEADER]: token = own } = request.headers;
        if (isForged(request, token)) throw new WebFault(403, OLD_FORM);
        const work = async () => carryOut.call(this, request, reply);
        if (action === undefined) return work();
        const { queueName, jobId } = request.params as Record<string, string | undefined>;
        const queue = queues.find(({ name }) => name === queueName);
        const asked = { queue: queueName, ...(jobId === undefined ? {} : await subjectOf(queue, jobId)) };
        const by = { who: request.visit?.person.name ?? '', via: 'web' as const, action, request: asked };
        return audited(by, options, { work, outcomeOf: () => outcomeOfStatus(reply.statusCode) });
      };
    });
    scope.addHook('onSend', async ({ visit, headers }, reply, payload) => {
      const isPage = String(reply.getHeader('content-type')).startsWith('text/html');
      if (!isPage || typeof payload !== 'string') return payload;
      if (visit?.session) reply.header('set-cookie', tokenCookie(visit.session.csrf, headers));
      return ownPage(payload);
    });
    await scope.register(serverAdapter.registerPlugin(), { prefix: BOARD_PATH });
  });
}

/** What a job is about, as the audit log and the history of its item name it. */
async function subjectOf(queue: Queue | undefined, job: string): Promise<object> {
  const { deliveryId, source } = (await queue?.getJob(job))?.data ?? {};
  return { job, ...(deliveryId === undefined ? {} : { delivery: deliveryId }), ...(source ? { source } : {}) };
}

/** The board's script sends the value of this cookie in this header with each request. */
const TOKEN_COOKIE = 'XSRF-TOKEN';
const TOKEN_HEADER = 'x-xsrf-token';

/**
 * Gives the CSRF token of the session to the board's script, which has no forms. The server compares it with the token
 * of the session, so it does not matter who else could set the cookie.
 */
function tokenCookie(token: string, headers: IncomingHttpHeaders): string {
  const secure = isHttps(headers) ? '; Secure' : '';
  return `${TOKEN_COOKIE}=${token}; Path=${BOARD_PATH}; SameSite=Strict${secure}`;
}

async function refuseWhatConfuses({ method, route, request }: HookContext): Promise<BeforeHookResult> {
  if (method === 'get') return { allow: true };
  const { queueName, jobId } = request.params as Record<string, string | undefined>;
  if (route === RETRY_ALL) return refusal(RETRY_ALL_ELSEWHERE);
  if (!ALLOWED.has(route))
    return refusal('The ledger decides which jobs are in the queues, so this action is refused.');
  // A completed job is not retried: a new run sends everything that has changed since.
  if (jobId !== undefined) {
    const job = await request.queues.get(queueName ?? '')?.getJob(jobId);
    if (job && (await job.getState()) !== 'failed') return refusal('Only a failed job can be retried.');
  }
  return { allow: true };
}

/** True for an operation on a job that another request has retried since it was read. */
function isOvertaken(error: Error): boolean {
  return 'code' in error && (error.code === ErrorCode.JobNotInState || error.code === ErrorCode.JobNotExist);
}

/** The board's answer to a request that cannot be carried out. It sends every status, but its types have only some. */
function refused(status: number, message: string) {
  const key = status < 500 ? 'ERRORS.FORBIDDEN' : 'ERRORS.INTERNAL_SERVER_ERROR';
  return { status: status as 500, body: { error: { key }, message } };
}

function refusal(message: string): BeforeHookResult {
  return { allow: false, status: 403, message };
}

/** The tag is built from pieces, as that of the other pages. */
const SCRIPT = `<${'script'} src="/assets/board.js" defer></${'script'}>`;

/**
 * The board's page without the fonts that it would fetch from another company's server, and with the style sheet and
 * the script of this server added to its own.
 */
function ownPage(markup: string): string {
  return markup
    .replace(/<link[^>]*href="https:[^>]*>/g, '')
    .replace('</head>', `<link href="/assets/board.css" rel="stylesheet">${SCRIPT}</head>`);
}
