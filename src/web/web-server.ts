import { isIPv6 } from 'node:net';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { OpenWeb, WebContext, WebServer } from '../daemon/daemon.ts';
import type { RuntimeConfig } from '../daemon/sources/open-source.ts';
import { fault } from '../domain/faults.ts';
import { messageOf, systemCodeOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';
import { isLoopback } from '../lib/loopback.ts';
import { type Access, createAccess, type Stranger, sessionCookie } from './access.ts';
import { addBoard, BOARD_PATH } from './board.ts';
import { errorStatus } from './error-status.ts';
import { createHostCheck, isOwnPage, SECURITY_HEADERS } from './guard.ts';
import { loginPage, messagePage } from './pages.ts';
import { type BoundedServers, createBoundedServers } from './server-limits.ts';
import { statusPage } from './status-page.ts';
import { BOARD_STYLESHEET, STYLESHEET } from './stylesheet.ts';
import { createWrongTokens, type WrongTokens } from './wrong-tokens.ts';

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
  const servers = createBoundedServers();
  const wrongTokens = createWrongTokens({ clock, log });
  const app = fastify({
    logger: false,
    serverFactory: (handler) => servers.create(handler),
    // A connection that idles must not keep the daemon from stopping.
    forceCloseConnections: true,
    bodyLimit: BODY_BYTES_MAX,
  });
  addErrorPages(app, log);
  addGuard(app, { isMeantHost: createHostCheck(web), access, servers, wrongTokens });
  addForms(app, access, wrongTokens);
  addPages(app, context);
  await addBoard(app, { queues: runtime.queues.bullQueues, log });
  return listen(app, web, log);
};

async function listen(
  app: FastifyInstance,
  { host, port, allowedHosts }: NonNullable<RuntimeConfig['web']>,
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
      `The dashboard can be reached from other machines at ${url}: put a proxy with TLS in front of it. ${hostsOf(allowedHosts)}`,
    );
  }
  return { url, close: () => app.close() };
}

function hostsOf(allowedHosts: readonly string[]): string {
  return allowedHosts.length === 0
    ? 'It refuses requests that name any other host than the configured one or localhost: add the names under which people reach it to web.allowedHosts.'
    : `Hosts that it answers to, besides the configured one and localhost: ${allowedHosts.join(', ')}.`;
}

/** What went wrong inside is for the log alone. Set before the routes, which take over the handlers that they find. */
function addErrorPages(app: FastifyInstance, log: Logger): void {
  app.setNotFoundHandler((request, reply) => tell(request, reply, 404, 'There is no such page.'));
  app.setErrorHandler((error: unknown, request, reply) => {
    const status = errorStatus(error);
    if (status < 500) return tell(request, reply, status, 'The request cannot be understood.');
    log.error({ err: error, path: request.routeOptions.url ?? '' }, `A page could not be shown: ${messageOf(error)}`);
    return tell(request, reply, 500, 'Something went wrong. The log tells more.');
  });
}

interface Guard {
  isMeantHost: ReturnType<typeof createHostCheck>;
  access: Access;
  servers: BoundedServers;
  wrongTokens: WrongTokens;
}

/**
 * Refuses before a body is read whatever can be refused without it. The connection ends with the refusal: a body that is
 * still to come, however slowly, is of no use to anybody.
 */
function addGuard(app: FastifyInstance, { isMeantHost, access, servers, wrongTokens }: Guard): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(SECURITY_HEADERS);
    const { headers, ip, method } = request;
    if (!isMeantHost(headers)) return tell(request, ending(reply), 421, FOREIGN_HOST);
    let isToken = false;
    if (!OPEN_PATHS.has(pathOf(request))) {
      const visitor = access.recognise({ headers, ip });
      if (!visitor.ok) {
        await wrongTokens.note(ip, visitor);
        return visitor.retryAfterMs > 0 ? tooMany(request, ending(reply), visitor) : askToLogIn(request, ending(reply));
      }
      isToken = visitor.known === 'token';
      servers.trust(request.raw.socket);
    }
    const changes = method !== 'GET' && method !== 'HEAD';
    if (changes && !isToken && !isOwnPage(headers)) {
      return tell(request, ending(reply), 403, 'This request does not come from a page of this server.');
    }
    return undefined;
  });
}

const FOREIGN_HOST =
  'The request names a host that is not one of this server. To serve under that name, add it to web.allowedHosts in the config.';

/** Ends the connection after the answer. */
function ending(reply: FastifyReply): FastifyReply {
  return reply.header('connection', 'close');
}

function addForms(app: FastifyInstance, access: Access, wrongTokens: WrongTokens): void {
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, new URLSearchParams(String(body))),
  );

  app.get('/login', (request, reply) => {
    const { next } = request.query as { next?: unknown };
    return sendPage(reply, 200, loginPage({ next: ownPath(next), problem: null }));
  });

  app.post('/login', async (request, reply) => {
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
    const next = ownPath(form.get('next'));
    const result = access.login(request, form.get('token') ?? '');
    if (result.ok) {
      reply.header('set-cookie', sessionCookie(result.session, request.headers));
      return reply.redirect(next, 303);
    }
    await wrongTokens.note(request.ip, result);
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
    const state = runtime.api.authorization();
    const lost = runtime.ledgerLost();
    const trouble = lost === null ? (await runtime.engine.status()).trouble : null;
    const markup = statusPage({
      health: await health.check(),
      standing: await context.standing(),
      running: context.running(),
      pausedQueues: await context.pausedQueues(),
      trouble: trouble?.message ?? null,
      lost: lost?.message ?? null,
      stuck: runtime.views.stuck(STUCK_SHOWN),
      refusal: state.open ? null : state.reason.message,
      refusedScopes: Array.from(runtime.api.refused(), ([scope, { message }]) => ({ scope, message })),
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

function tooMany(request: FastifyRequest, reply: FastifyReply, { retryAfterMs }: Stranger) {
  const seconds = Math.ceil(retryAfterMs / 1000);
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
