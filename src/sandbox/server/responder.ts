import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../lib/clock.ts';
import { messageOf, systemCodeOf } from '../../lib/errors.ts';
import type { Caller } from '../access/admission.ts';
import type { OperationName } from '../api/endpoints.ts';
import { type Answer, refusal } from '../api/operation.ts';
import type { Journal, SandboxEvent } from '../storage/journal.ts';
import type { StyledAnswer } from './style.ts';

/** An error of Fastify or of a parser of the sandbox. */
export interface RequestError extends Error {
  statusCode?: number;
  /** Headers that are sent with the answer. */
  answerHeaders?: Record<string, string>;
}

export interface ResponderParts {
  style: (answer: Answer, operation: OperationName | null) => StyledAnswer;
  journal: Journal;
  clock: Clock;
  closing: AbortSignal;
}

/**
 * Sends answers. Every request whose answer it sends is entered in the journal.
 *
 * @param wasReset true for a connection that an outage has reset
 */
export function createResponder(parts: ResponderParts, wasReset: (socket: Socket) => boolean) {
  const { journal, clock } = parts;

  const finish = (
    reply: FastifyReply,
    answer: Answer,
    entry: Partial<SandboxEvent>,
    caller: Caller | null = null,
  ): FastifyReply => {
    const { status, headers, document, body, contentType } = parts.style(answer, entry.operation ?? null);
    const replayed = headers !== undefined && 'idempotent-replayed' in headers;
    const { operation = null, naturalKey = null, error } = entry;
    journal.request({ at: clock.now(), operation, naturalKey, ending: status, replayed, error });
    const bytes = document?.bytes ?? JSON.stringify(body);
    const set: OutgoingHttpHeaders = {
      'content-type': document?.type ?? contentType,
      'content-length': Buffer.byteLength(bytes),
    };
    Object.assign(set, caller?.headers, headers);
    // The connection is closed, because the closing server would wait for a connection that is kept alive.
    if (parts.closing.aborted) set.connection = 'close';
    // Fastify's code for sending is not used, because it takes longer than the operation itself.
    reply.hijack();
    reply.raw.writeHead(status, set).end(bytes);
    return reply;
  };

  const fail = (operation: OperationName | null) => {
    return (error: RequestError, request: FastifyRequest, reply: FastifyReply): void => {
      const { statusCode: status = 500 } = error;
      if (wasReset(request.raw.socket)) {
        journal.request({ at: clock.now(), operation, naturalKey: null, ending: 'reset' });
        reply.hijack();
      } else if (status < 500) {
        finish(reply, refusal(status, error.message, error.answerHeaders), { operation }, callerOf(request));
      } else {
        finish(
          reply,
          refusal(500, 'Internal server error.'),
          { operation, error: messageOf(error) },
          callerOf(request),
        );
      }
    };
  };

  return {
    /** @param caller the admitted caller; null if none was admitted */
    finish /** Makes the handler for the errors of a route. */,
    fail,
  };
}

export type Responder = ReturnType<typeof createResponder>;

/** Null before the caller was admitted. */
export function callerOf(request: FastifyRequest): Caller | null {
  return request.getDecorator<Caller | null>('caller');
}

type Style = (answer: Answer) => StyledAnswer;

/** Answers bytes that are not HTTP. There is no request that could be entered in the journal. */
export function createBrokenRequestHandler(style: Style): (error: Error, socket: Socket) => void {
  return (error, socket) => {
    if (systemCodeOf(error) === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const [words, answer] = brokenRequestAnswer(systemCodeOf(error));
    const { status, contentType, body } = style(answer);
    const text = JSON.stringify(body);
    const head = [
      `HTTP/1.1 ${status} ${words}`,
      `Content-Type: ${contentType}`,
      `Content-Length: ${Buffer.byteLength(text)}`,
      'Connection: close',
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${text}`, () => socket.destroy());
  };
}

function brokenRequestAnswer(code: string | undefined): [string, Answer] {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return ['Request Timeout', refusal(408, 'The request took too long.')];
  if (code === 'HPE_HEADER_OVERFLOW') {
    return ['Request Header Fields Too Large', refusal(431, 'The headers are too large.')];
  }
  return ['Bad Request', refusal(400, 'Malformed HTTP request.')];
}

/** Answers a request with an `Expect` header that no server can fulfil (RFC 9110, section 10.1.1). */
export function createExpectationHandler(
  style: Style,
  enter: (ending: number) => void,
): (request: IncomingMessage, response: ServerResponse) => void {
  return (_request, response) => {
    const { status, contentType, body } = style(refusal(417, 'The only expectation that can be met is 100-continue.'));
    const text = JSON.stringify(body);
    enter(status);
    response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(text) }).end(text);
  };
}
