import type { OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Caller } from '../access/admission.ts';
import { type Answer, refusal } from '../api/answer.ts';
import type { OperationName } from '../api/endpoints.ts';
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

/** Sends answers. Every request whose answer it sends is entered in the journal. */
export interface Responder {
  /** @param caller the admitted caller; null if none was admitted */
  finish: (reply: FastifyReply, answer: Answer, entry: Partial<SandboxEvent>, caller?: Caller | null) => FastifyReply;
  /** Makes the handler for the errors of a route. */
  fail: (
    operation: OperationName | null,
  ) => (error: RequestError, request: FastifyRequest, reply: FastifyReply) => void;
}

/** @param wasReset true for a connection that an outage has reset */
export function createResponder(parts: ResponderParts, wasReset: (socket: Socket) => boolean): Responder {
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

  return { finish, fail };
}

/** Null before the caller was admitted. */
export function callerOf(request: FastifyRequest): Caller | null {
  return request.getDecorator<Caller | null>('caller');
}
