import { isIPv6 } from 'node:net';
import { type FastifyInstance, fastify } from 'fastify';
import type { OpenWeb, WebServer } from '../daemon/daemon-servers.ts';
import type { RuntimeConfig } from '../daemon/sources/open-source.ts';
import { fault } from '../domain/faults.ts';
import type { PeopleLedger } from '../domain/ports/ledger/care-ledger.ts';
import { messageOf, systemCodeOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';
import type { SecretStore } from '../lib/logging/secrets.ts';
import { isLoopback } from '../lib/loopback.ts';
import { type Credentials, createAccess, type OwnPasswords } from './access.ts';
import { addBoard } from './board.ts';
import { createBoundedServers, createWrongTokens } from './limits.ts';
import { createLiveHub, liveRoutes } from './live/live-changes.ts';
import { accountRoutes, loginPage } from './pages/account/account-routes.ts';
import { outcomeLine } from './pages/tasks/outcome-text.ts';
import { routesOf } from './routes.ts';
import { addRoutes, BODY_BYTES_MAX } from './server/add-routes.ts';
import { type Answers, createAnswers } from './server/answers.ts';
import { createHostCheck, SECURITY_HEADERS } from './server/forged-requests.ts';
import { addGuard, createProxies, DEFAULT_ROLE, LOGIN_OVER } from './server/guard.ts';
import type { Role, Route } from './server/route.ts';
import { createTasks } from './tasks.ts';
import { answerOf, errorStatus } from './web-fault.ts';

/**
 * A route that the server answers; those of the queues' board are included. Tests use this list to check that every
 * route has a role.
 */
export interface ServedRoute {
  method: string;
  path: string;
  role: Role | 'open';
  /** The names of the fields that the route knows; null if it ignores unknown ones. */
  fields: readonly string[] | null;
  bodyBytesMax: number;
}

export interface DashboardServer extends WebServer {
  served: readonly ServedRoute[];
}

/** The longest parameter of a path: a key of an item may have this many characters. */
const PARAM_CHARS_MAX = 4096;

/**
 * Opens the web server: the dashboard, the queues' board, `/healthz`, `/readyz`, `/livez` and `/metrics`.
 *
 * @throws Fault `config.invalid` if the server cannot listen at the address or the token is gone
 */
export const openWeb = (async (context, web): Promise<DashboardServer> => {
  const { runtime, log, clock } = context;
  let credentials = await credentialsOf(web);
  const servers = createBoundedServers();
  const wrongTokens = createWrongTokens({ clock, log });
  const people = runtime.ledger;
  const access = createAccess(credentials, clock, await ownPasswords(people, runtime.secrets));
  await access.dropEnded();
  const { reads } = runtime;
  const hub = createLiveHub({ bus: runtime.bus });
  const tasks = createTasks({
    runtime,
    daemon: context,
    people,
    clock,
    log,
    version: context.version,
    stored: await people.keptTasks(),
    askRefused: () => context.askRefused(),
    describe: outcomeLine,
    onChange: () => hub.notify(),
  });
  const ways = () => ({
    token: credentials.token !== null,
    users: credentials.users.some(({ password }) => password !== null),
  });
  const pageContext = { ...context, reads, tasks, people };
  const routes: Route[] = [
    ...accountRoutes(pageContext, { access, wrongTokens, ways }),
    ...liveRoutes({ hub, access }),
    ...routesOf(pageContext),
  ];
  let isMeantHost = createHostCheck(web);
  let visitorOf = createProxies(web, log);
  const answers = createAnswers(() => routes, clock);

  const app = fastify({
    logger: false,
    serverFactory: (handler) => servers.create(handler),
    // An idle connection must not prevent the daemon from stopping.
    forceCloseConnections: true,
    bodyLimit: BODY_BYTES_MAX,
    routerOptions: { maxParamLength: PARAM_CHARS_MAX },
    // A request with an invalid address reaches neither hooks nor routes.
    frameworkErrors: (error, request, reply) => {
      reply.headers(SECURITY_HEADERS);
      const message = error.code === 'FST_ERR_BAD_URL' ? BAD_ADDRESS : LONG_ADDRESS;
      const status = errorStatus(error);
      return answers.sendFault(request, reply, null, { status, code: 'request', message, suggestion: null });
    },
  });
  const served: ServedRoute[] = [];
  app.addHook('onRoute', ({ method, url: path, config, bodyLimit = BODY_BYTES_MAX }) => {
    const role = config?.role ?? DEFAULT_ROLE;
    const fields = config?.fields ?? null;
    for (const one of [method].flat()) served.push({ method: one, path, role, fields, bodyBytesMax: bodyLimit });
  });
  addErrorPages(app, answers, log);
  addGuard(app, {
    isMeantHost: (headers) => isMeantHost(headers),
    visitorOf: (request) => visitorOf(request),
    access,
    servers,
    wrongTokens,
    answers,
  });
  addRoutes(app, routes, {
    answers,
    askToLogIn: (next, draft) => loginPage({ next, draft, problem: LOGIN_OVER, ways: ways(), status: 401 }),
    people,
    log,
    secrets: runtime.secrets,
    ledgerLost: () => runtime.ledgerLost(),
  });
  await addBoard(app, { queues: runtime.queues.bullQueues, people, log, secrets: runtime.secrets });
  const url = await listen(app, web, log);
  // The first question starts the reading thread. Between questions the thread then reads what lists need in memory, which takes
  // seconds with a large ledger.
  reads.lookupValues().catch((error: unknown) => {
    log.debug({ err: error }, 'The thread that reads the ledger could not be started before the first page.');
  });
  return {
    url,
    async renew(renewed) {
      credentials = await credentialsOf(renewed);
      isMeantHost = createHostCheck(renewed);
      visitorOf = createProxies(renewed, log);
      const renewing = access.renew(credentials);
      hub.disconnect();
      await renewing;
    },
    async close() {
      hub.close();
      await tasks.close();
      await app.close();
    },
    served,
  };
}) satisfies OpenWeb;

const BAD_ADDRESS =
  'The address cannot be read: a % in it is not followed by two hexadecimal digits of UTF-8. Write a % itself as %25.';
const LONG_ADDRESS = `A part of the address has more than ${PARAM_CHARS_MAX} characters. Send the long key of an item in the query: /items/product?key=…`;

type WebConfig = NonNullable<RuntimeConfig['web']>;

async function credentialsOf({ token, users }: WebConfig): Promise<Credentials> {
  const read = users.map(async ({ name, role, password }) => ({
    name,
    role,
    password: password === null ? null : await password.read(),
  }));
  return { token: token === null ? null : await token.read(), users: await Promise.all(read) };
}

/** I7: the hashes are secrets, as those in the config are. */
async function ownPasswords(people: PeopleLedger, secrets: SecretStore): Promise<OwnPasswords> {
  const stored = await people.passwords();
  for (const { hash } of stored) secrets.add(hash);
  return {
    stored,
    async store(password) {
      secrets.add(password.hash);
      await people.setPassword(password);
    },
    drop: (passwords) => people.dropPasswords(passwords),
  };
}

async function listen(
  app: FastifyInstance,
  { host, port, allowedHosts }: WebConfig,
  log: Logger,
): Promise<WebServer['url']> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    await app.close();
    throw fault(
      'config.invalid',
      `The dashboard cannot listen on ${host}:${port} (${systemCodeOf(error) ?? messageOf(error)}).`,
      {
        path: 'web',
        suggestion: 'Name an address of this machine and a free port, or remove the section `web` from the config.',
        cause: error,
      },
    );
  }
  // If the config has port 0, the system has chosen the port.
  const address = app.server.address();
  const listening = address === null || typeof address === 'string' ? port : address.port;
  const url = `http://${isIPv6(host) ? `[${host}]` : host}:${listening}`;
  if (!isLoopback(host)) {
    log.warn(
      { url },
      `The dashboard can be reached from other machines at ${url}: put a proxy with TLS in front of it. ${hostsOf(allowedHosts)}`,
    );
  }
  return url;
}

function hostsOf(allowedHosts: readonly string[]): string {
  return allowedHosts.length === 0
    ? 'The dashboard refuses requests that name another host than the configured host or localhost. Add the names under which people reach the dashboard to web.allowedHosts.'
    : `The dashboard also answers under these host names: ${allowedHosts.join(', ')}.`;
}

/**
 * Answers errors; internal details go to the log only. Call it before the routes are added, because routes take the error handler
 * that is set at that time.
 */
function addErrorPages(app: FastifyInstance, answers: Answers, log: Logger): void {
  app.setNotFoundHandler((request, reply) =>
    answers.sendFault(request, reply, request.visit, {
      status: 404,
      code: 'request',
      message: 'There is no such page.',
      suggestion: null,
    }),
  );
  app.setErrorHandler((error: unknown, request, reply) => {
    const answer = answerOf(error);
    if (answer.message === null) {
      const path = request.routeOptions.url ?? '';
      log.error({ err: error, path }, `A page could not be shown: ${messageOf(error)}`);
    }
    return answers.sendFault(request, reply, request.visit, answer);
  });
}
