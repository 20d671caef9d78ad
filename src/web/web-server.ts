import { isIPv6 } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { OpenWeb, WebContext, WebServer } from '../daemon/daemon.ts';
import type { RuntimeConfig } from '../daemon/open-source.ts';
import { fault } from '../domain/faults.ts';
import { messageOf, systemCodeOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging.ts';
import { type Access, createAccess, sessionCookie } from './access.ts';
import { addBoard, BOARD_PATH } from './board.ts';
import { isLoopback, isMeantHost, isOwnPage, SECURITY_HEADERS } from './guard.ts';
import { loginPage, messagePage } from './pages.ts';
import { statusPage } from './status-page.ts';
import { BOARD_STYLESHEET, STYLESHEET } from './stylesheet.ts';

/** Paths that anybody may ask for. Everything else needs the token. */
const OPEN_PATHS = new Set(['/healthz', '/login', '/assets/style.css', '/assets/board.css']);
const BODY_BYTES_MAX = 16 * 1024;
/** What the status page names of the deliveries that need a person. */
const STUCK_SHOWN = 20;

/**
 * Opens the web server: the status page, the queues' board, `/healthz` and `/metrics`.
 *
 * @throws Fault `config.invalid` when the address cannot be listened on or the token is gone
 */
export const openWeb: OpenWeb = async (context, web) => {
  const { runtime, log, clock } = context;
  const access = createAccess(await web.token.read(), clock);
  // A connection that idles must not keep the daemon from stopping.
  const app = Fastify({ logger: false, forceCloseConnections: true, bodyLimit: BODY_BYTES_MAX });
  addErrorPages(app, log);
  addGuard(app, web.host, access);
  addForms(app, access);
  addPages(app, context);
  await addBoard(app, { queues: await runtime.queues.bullQueues(), log });
  return listen(app, web, log);
};

async function listen(
  app: FastifyInstance,
  { host, port }: NonNullable<RuntimeConfig['web']>,
  log: Logger,
): Promise<WebServer> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    await app.close();
    throw fault(
      'config.invalid',
      `The dashboard cannot listen on ${host}:${port} (${systemCodeOf(error) ?? messageOf(error)}).`,
      {
        path: 'web',
        suggestion: 'Name an address of this machine and a port that is free, or leave the section out.',
        cause: error,
      },
    );
  }
  // With port 0 the system has chosen one.
  const address = app.server.address();
  const listening = address === null || typeof address === 'string' ? port : address.port;
  const url = `http://${isIPv6(host) ? `[${host}]` : host}:${listening}`;
  if (!isLoopback(host)) {
    log.warn(
      { url },
      `The dashboard can be reached from other machines at ${url}: put a proxy with TLS in front of it.`,
    );
  }
  return { url, close: () => app.close() };
}

/** What went wrong inside is for the log alone. Set before the routes, which take over the handlers that they find. */
function addErrorPages(app: FastifyInstance, log: Logger): void {
  app.setNotFoundHandler((request, reply) => tell(request, reply, 404, 'There is no such page.'));
  app.setErrorHandler((error: unknown, request, reply) => {
    const status = statusOf(error);
    if (status < 500) return tell(request, reply, status, 'The request cannot be understood.');
    log.error({ err: error, path: request.routeOptions.url ?? '' }, `A page could not be shown: ${messageOf(error)}`);
    return tell(request, reply, 500, 'Something went wrong. The log tells more.');
  });
}

function addGuard(app: FastifyInstance, host: string, access: Access): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(SECURITY_HEADERS);
    const { headers, ip, method } = request;
    if (!isMeantHost(host, headers)) return tell(request, reply, 421, 'This is not the host that was asked for.');
    const path = pathOf(request);
    const known = OPEN_PATHS.has(path) ? 'anybody' : access.recognise({ headers, ip });
    if (known === 'throttled') return tooMany(request, reply, access);
    if (known === null) return askToLogIn(request, reply);
    const changes = method !== 'GET' && method !== 'HEAD';
    if (changes && known !== 'token' && !isOwnPage(headers)) {
      return tell(request, reply, 403, 'This request does not come from a page of this server.');
    }
    return undefined;
  });
}

function addForms(app: FastifyInstance, access: Access): void {
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, new URLSearchParams(String(body))),
  );

  app.get('/login', (request, reply) => {
    const { next } = request.query as { next?: unknown };
    return sendPage(reply, 200, loginPage({ next: ownPath(next), problem: null }));
  });

  app.post('/login', (request, reply) => {
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
    const next = ownPath(form.get('next'));
    const result = access.login(request, form.get('token') ?? '');
    if (result.ok) {
      reply.header('set-cookie', sessionCookie(result.session, request.headers));
      return reply.redirect(next, 303);
    }
    if (result.retryAfterMs === 0) return sendPage(reply, 401, loginPage({ next, problem: 'This is not the token.' }));
    const seconds = Math.ceil(result.retryAfterMs / 1000);
    const problem = `Too many wrong tokens came from your address. Try again in ${seconds} seconds.`;
    return sendPage(reply.header('retry-after', seconds), 429, loginPage({ next, problem }));
  });

  app.post('/logout', (request, reply) => {
    access.logout(request);
    reply.header('set-cookie', sessionCookie(null, request.headers));
    return reply.redirect('/login', 303);
  });
}

function addPages(app: FastifyInstance, context: WebContext): void {
  const { runtime, health, metrics, clock, version, startedAt } = context;

  app.get('/', async (_request, reply) => {
    const state = runtime.gate.state();
    const markup = statusPage({
      health: await health.check(),
      standing: await context.standing(),
      running: context.running(),
      pausedQueues: await context.pausedQueues(),
      trouble: (await runtime.engine.status()).trouble?.message ?? null,
      stuck: runtime.views.stuck(STUCK_SHOWN),
      suspended: runtime.views.suspended(),
      refusal: state.open ? null : state.reason.message,
      refusedScopes: Array.from(runtime.gate.refused(), ([scope, { message }]) => ({ scope, message })),
      baseUrl: runtime.config.target.baseUrl,
      version,
      startedAt,
      now: clock.now(),
    });
    return sendPage(reply, 200, markup);
  });

  app.get('/healthz', async (_request, reply) => {
    const report = await health.check();
    const well = report.status === 'ok' || report.status === 'degraded';
    return reply.code(well ? 200 : 503).send(report);
  });

  app.get('/metrics', async (_request, reply) => {
    reply.header('content-type', metrics.contentType);
    return metrics.text(await context.standing());
  });

  for (const [name, text] of Object.entries({ style: STYLESHEET, board: BOARD_STYLESHEET })) {
    app.get(`/assets/${name}.css`, (_request, reply) => reply.type('text/css; charset=utf-8').send(text));
  }
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? '';
}

function wantsPage(request: FastifyRequest): boolean {
  return request.method === 'GET' && (request.headers.accept ?? '').includes('text/html');
}

function askToLogIn(request: FastifyRequest, reply: FastifyReply) {
  if (wantsPage(request)) return reply.redirect(`/login?next=${encodeURIComponent(request.url)}`, 303);
  return tell(
    request,
    reply.header('www-authenticate', 'Bearer realm="dpp-sync"'),
    401,
    'The token is missing or wrong.',
  );
}

function tooMany(request: FastifyRequest, reply: FastifyReply, access: Access) {
  const seconds = Math.ceil(access.waitMs(request) / 1000);
  return tell(request, reply.header('retry-after', seconds), 429, 'Too many wrong tokens came from this address.');
}

function tell(request: FastifyRequest, reply: FastifyReply, status: number, message: string) {
  if (wantsPage(request)) return sendPage(reply, status, messagePage(String(status), message));
  return reply.code(status).send({ ok: false, error: { message } });
}

function sendPage(reply: FastifyReply, status: number, markup: string) {
  return reply.code(status).type('text/html; charset=utf-8').send(markup);
}

/** Where to go after logging in: a path of this server, whatever a link says. */
function ownPath(next: unknown): string {
  if (next === BOARD_PATH || (typeof next === 'string' && next.startsWith(`${BOARD_PATH}/`))) return next;
  return '/';
}

function statusOf(error: unknown): number {
  const status = typeof error === 'object' && error !== null && 'statusCode' in error ? error.statusCode : 500;
  return typeof status === 'number' && status >= 400 && status < 600 ? status : 500;
}
