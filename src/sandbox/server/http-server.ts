import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, OutgoingHttpHeaders, Server } from 'node:http';
import type { Socket } from 'node:net';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Clock } from '../../lib/clock.ts';
import type { Admission, Caller } from '../access/admission.ts';
import { ENDPOINTS, type Endpoint, OPERATION_NAMES, type OperationName } from '../api/endpoints.ts';
import { type Answer, type Document, NOT_FOUND, refusal } from '../api/operation.ts';
import type { Ending } from '../storage/journal.ts';
import type { AdmittedRequest, Conclusion } from './processor.ts';
import {
  callerOf,
  createBrokenRequestHandler,
  createExpectationHandler,
  createResponder,
  type RequestError,
  type Responder,
  type ResponderParts,
} from './responder.ts';
import type { StyledAnswer } from './style.ts';

/** The parts to which the HTTP server passes requests. */
interface HttpServerParts extends OperationHandlerParts {
  admission: Admission;
  /** The scope that an operation needs. */
  scopeOf: (operation: OperationName) => Endpoint['scope'];
  /** Pages that need no key, by path. */
  pages: Record<string, () => Document>;
  /** Called for every new connection. If it returns true, the connection is reset before anything is read from it. */
  refusesConnection: (now: number) => boolean;
  bodyBytesMax: number;
}

/** If a client needs longer than this to send its request, it gets 408. */
const REQUEST_TIMEOUT_MS = 60_000;

/**
 * How often Node checks for such clients. With its default of half a minute, a client could take a minute and a half.
 */
const TIMEOUT_CHECK_MS = 2_000;

/** How long a client may still send a body that is not read. */
const UNREAD_BODY_MS = 2_000;

/** The most connections at once, far below the file descriptors that a process has (1,024 on many machines). */
const CONNECTIONS_MAX = 512;

/**
 * Converts HTTP to requests, and the ends of requests to HTTP. Callers are admitted before their bodies are read; every
 * answer is JSON, including those of Node and Fastify; every request is entered in the journal once.
 */
export function createHttpServer(parts: HttpServerParts): FastifyInstance {
  const { admission, journal, clock } = parts;
  const styled = (answer: Answer): StyledAnswer => parts.style(answer, null);
  const { finish, fail } = createResponder(parts, (socket) => connections.wasReset(socket));
  const app: FastifyInstance = fastify({
    bodyLimit: parts.bodyBytesMax,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // Requests that arrive while the server closes are still answered; Fastify closes their connections afterwards.
    return503OnClosing: false,
    clientErrorHandler: createBrokenRequestHandler(styled),
    // Otherwise Node would answer a request without a Host header, and this answer has no body.
    http: { requireHostHeader: false, connectionsCheckingInterval: TIMEOUT_CHECK_MS },
    frameworkErrors: (error, _request, reply) => {
      finish(reply, refusal(error.statusCode ?? 400, error.message), { operation: null });
    },
    routerOptions: { maxParamLength: 1000 },
  });

  app.server.maxConnections = CONNECTIONS_MAX;
  const enterUnread = (ending: Ending): void => {
    journal.request({ at: clock.now(), operation: null, naturalKey: null, ending });
  };
  const connections = watchConnections(app.server, () => {
    const refused = parts.refusesConnection(clock.now());
    if (refused) enterUnread('reset');
    return refused;
  });
  const handle = createOperationHandler(parts, { finish, connections });
  app.server.on('checkExpectation', createExpectationHandler(styled, enterUnread));

  /** Answers a caller who is refused, and stores an admitted caller at the request. */
  const isAdmitted = (request: FastifyRequest, reply: FastifyReply, operation: OperationName | null): boolean => {
    const scope = operation === null ? null : parts.scopeOf(operation);
    const { authorization } = request.headers;
    const admitted = admission.admit({ apiKey: headerOf(request, 'x-api-key'), authorization }, scope, clock.now());
    if (!admitted.ok) {
      finish(reply, admitted.error, { operation });
      if (admitted.error.status === 401) endUnlessSent(request.raw);
      return false;
    }
    request.setDecorator('caller', admitted.value);
    return true;
  };

  app.decorateRequest('caller', null);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const { 'content-encoding': encoding = 'identity' } = request.headers;
    if (encoding.toLowerCase() === 'identity') decode(body as Buffer, done);
    else done(encodedBody());
  });
  app.setErrorHandler(fail(null));
  const pages = Object.keys(parts.pages);
  const allowedAt = createAllowedMethods(pages);
  // The hook answers a request without a route, before its body is read. Such a request needs a key too.
  const refuseUnknown = (request: FastifyRequest, reply: FastifyReply): void => {
    const path = request.url.replace(/[?#].*$/s, '');
    const allowed = allowedAt(path);
    const isOpen = allowed !== undefined && pages.includes(path);
    if (!isOpen && !isAdmitted(request, reply, null)) return;
    // If the parameter of a path is too long, the method is allowed, but the path counts as one that does not exist.
    const isOther = allowed !== undefined && !allowed.includes(request.method);
    finish(
      reply,
      isOther ? refusal(405, 'Method not allowed.', { allow: allowed.join(', ') }) : NOT_FOUND,
      {},
      callerOf(request),
    );
  };
  app.addHook('onRequest', (request, reply, done) => {
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') finish(reply, NO_HOST, {});
    else if (request.is404) refuseUnknown(request, reply);
    else done();
  });
  app.setNotFoundHandler((_request, reply) => finish(reply, NOT_FOUND, {}));

  for (const [url, page] of Object.entries(parts.pages)) {
    const headers = { 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'" };
    app.get(url, (_request, reply) => {
      const { type, bytes } = page();
      return reply.type(type).headers(headers).send(bytes);
    });
  }
  for (const operation of OPERATION_NAMES) {
    const { method, path } = ENDPOINTS[operation];
    app.route({
      method,
      url: routeOf(path),
      // This hook runs before the body is read.
      onRequest: (request, reply, done) => {
        if (isAdmitted(request, reply, operation)) done();
      },
      errorHandler: fail(operation),
      handler: handle(operation),
    });
  }
  return app;
}

/**
 * Closes the connection of a client without a key. The client has its answer, and its body is not read. A client that
 * is still sending gets a short time: if the connection ended at once, the client would lose the answer.
 */
function endUnlessSent(request: IncomingMessage): void {
  const { headers, socket } = request;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return;
  setTimeout(() => !request.complete && socket.destroy(), UNREAD_BODY_MS).unref();
}

const NO_HOST = refusal(400, 'The request has no Host header.');

/** `{id}` in the document is `:id` in a route. */
function routeOf(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

/**
 * JSON is UTF-8 (RFC 8259). Invalid bytes are refused, because replacing them would store a text that the client never
 * sent.
 */
function decode(body: Buffer, done: (error: Error | null, text?: string) => void): void {
  if (isUtf8(body)) done(null, body.toString('utf8'));
  else done(Object.assign(new Error('JSON parse error - the body is not UTF-8.'), { statusCode: 400 }));
}

/** The error for a compressed body, whose type is not supported (RFC 9110, section 15.5.16). */
function encodedBody(): RequestError {
  return Object.assign(new Error('Unsupported content encoding.'), {
    statusCode: 415,
    answerHeaders: { 'accept-encoding': 'identity' },
  });
}

/**
 * Knows the methods of every path. It is used for requests without a route, so that not every method of HTTP needs a
 * route.
 *
 * @param pages paths that can only be read
 * @returns a function that gives the methods of a path; undefined for an unknown path
 */
function createAllowedMethods(pages: string[]): (path: string) => string[] | undefined {
  const byPath = new Map<string, string[]>(pages.map((path) => [path, ['GET', 'HEAD']]));
  for (const operation of OPERATION_NAMES) {
    const { method, path } = ENDPOINTS[operation];
    byPath.set(path, [...(byPath.get(path) ?? []), ...(method === 'GET' ? ['GET', 'HEAD'] : [method])]);
  }
  const patterns = [...byPath].map(([path, methods]) => ({ pattern: patternOf(path), methods }));
  return (path) => patterns.find(({ pattern }) => pattern.test(path))?.methods;
}

/** `{id}` in the document is a whole segment or a part of a segment, and is never empty. */
function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

/** A shared empty query, which is never changed. */
const NO_QUERY = new URLSearchParams();

interface OperationHandlerParts extends ResponderParts {
  process: (request: AdmittedRequest) => Conclusion | Promise<Conclusion>;
}

/**
 * Returns a function that makes the handler of an operation. The handler passes requests on, and converts their ends to
 * HTTP.
 */
function createOperationHandler(
  parts: OperationHandlerParts,
  { finish, connections }: { finish: Responder['finish']; connections: Connections },
) {
  const { journal, clock } = parts;
  return (operation: OperationName) => {
    const conclude = (
      request: FastifyRequest,
      reply: FastifyReply,
      conclusion: Conclusion,
    ): Promise<void> | undefined => {
      const naturalKey = conclusion.naturalKey ?? null;
      const { answer, body } = conclusion;
      if (answer && !body) {
        finish(reply, answer, { operation, naturalKey }, callerOf(request));
        return undefined;
      }
      if (conclusion.silent) {
        journal.request({ at: clock.now(), operation, naturalKey, ending: 'unanswered' });
        reply.hijack();
        destroyAtClose(request.raw.socket, parts.closing);
        return undefined;
      }
      const sent = answer && parts.style(answer, operation);
      const ending = !sent ? 'reset' : body?.kind === 'truncate' ? 'truncated' : sent.status;
      journal.request({ at: clock.now(), operation, naturalKey, ending });
      reply.hijack();
      if (sent && body) {
        return sendBadly(reply, sent, body, { ...parts, callerHeaders: callerOf(request)?.headers ?? {} });
      }
      request.raw.socket.resetAndDestroy();
      if (conclusion.outage) connections.resetAll();
      return undefined;
    };

    // Most requests end at once. Waiting for a promise nevertheless would cost each request a turn of the event loop.
    return (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> | undefined => {
      const mark = request.url.indexOf('?');
      const path = mark < 0 ? request.url : request.url.slice(0, mark);
      const conclusion = parts.process({
        operation,
        organizationId: request.getDecorator<Caller>('caller').organizationId,
        params: request.params as Record<string, string>,
        path,
        url: () => `${request.protocol}://${request.host}${path}`,
        query: mark < 0 ? NO_QUERY : new URLSearchParams(request.url.slice(mark + 1)),
        body: typeof request.body === 'string' ? request.body : '',
        idempotencyKey: headerOf(request, 'idempotency-key'),
      });
      if (conclusion instanceof Promise) {
        return conclusion
          .then((settled) => {
            // A request that was in progress when an outage began has its effect, but its client gets no answer.
            const unheard = connections.wasReset(request.raw.socket) ? { ...settled, answer: null } : settled;
            return conclude(request, reply, unheard);
          })
          .then(() => reply);
      }
      return conclude(request, reply, conclusion)?.then(() => reply);
    };
  };
}

/** Without this, a closing sandbox would wait for a client that waits for its answer. */
function destroyAtClose(socket: Socket, closing: AbortSignal): void {
  const destroy = (): void => void socket.destroy();
  closing.addEventListener('abort', destroy, { once: true });
  socket.once('close', () => closing.removeEventListener('abort', destroy));
  if (closing.aborted) destroy();
}

function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/** A slow body is sent in this many pieces. */
const PIECES = 10;

/**
 * Sends an answer whose body stops half-way or comes slowly. In both cases the headers state the length of the whole body. The
 * reply must be hijacked.
 */
async function sendBadly(
  reply: FastifyReply,
  { status, headers, document, body, contentType }: StyledAnswer,
  how: NonNullable<Conclusion['body']>,
  { clock, closing, callerHeaders }: { clock: Clock; closing: AbortSignal; callerHeaders: OutgoingHttpHeaders },
): Promise<void> {
  const { raw } = reply;
  const bytes = document?.bytes ?? Buffer.from(JSON.stringify(body));
  raw.writeHead(status, {
    ...callerHeaders,
    ...headers,
    'content-type': document?.type ?? contentType,
    'content-length': bytes.length,
  });
  if (how.kind === 'truncate') {
    // The reset comes after the first half was sent, so that the client gets this half before the reset.
    const half = bytes.subarray(0, Math.floor(bytes.length / 2));
    await new Promise<void>((resolve) => raw.write(half, () => resolve()));
    raw.socket?.resetAndDestroy();
    return;
  }
  const start = (piece: number): number => Math.floor((bytes.length * piece) / PIECES);
  for (let piece = 0; piece < PIECES && !raw.destroyed; piece += 1) {
    await clock.sleep(how.ms / PIECES, closing);
    raw.write(bytes.subarray(start(piece), start(piece + 1)));
  }
  raw.end();
}

/**
 * Watches the connections of a server. Call it before the server listens. It takes a little time for each connection,
 * and none for each request.
 *
 * @param refuses called once for every new connection, which is reset if it returns true
 */
function watchConnections(server: Server, refuses: () => boolean) {
  const open = new Set<Socket>();
  const reset = new WeakSet<Socket>();
  server.on('connection', (socket: Socket) => {
    if (refuses()) {
      socket.resetAndDestroy();
      return;
    }
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return {
    /** Resets all connections, whatever the state of their requests is. */
    resetAll(): void {
      for (const socket of open) {
        reset.add(socket);
        socket.resetAndDestroy();
      }
    },
    /** True for a connection that `resetAll` has reset. */
    wasReset: (socket: Socket): boolean => reset.has(socket),
  };
}

type Connections = ReturnType<typeof watchConnections>;
