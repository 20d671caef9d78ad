import type { OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../lib/clock.ts';
import type { Caller } from '../access/admission.ts';
import type { OperationName } from '../api/endpoints.ts';
import type { Connections } from './connections.ts';
import type { AdmittedRequest } from './effects.ts';
import type { Conclusion } from './processor.ts';
import { callerOf, type Responder, type ResponderParts } from './responder.ts';
import type { StyledAnswer } from './style.ts';

/** A shared empty query, which is never changed. */
const NO_QUERY = new URLSearchParams();

export interface OperationHandlerParts extends ResponderParts {
  process: (request: AdmittedRequest) => Conclusion | Promise<Conclusion>;
}

/**
 * Returns a function that makes the handler of an operation. The handler passes requests on, and converts their ends to
 * HTTP.
 */
export function createOperationHandler(
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

export function headerOf(request: FastifyRequest, name: string): string | undefined {
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
