import { isUtf8 } from 'node:buffer';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { Fault, messageOf } from '../../lib/errors.ts';
import { isLoopback } from '../../lib/loopback.ts';
import { type ControlAnswer, type ControlParts, createControlRoutes, problem, problemsOf } from './control-routes.ts';

const BODY_BYTES_MAX = 1_048_576;
const REQUEST_TIMEOUT_MS = 15_000;
const CONNECTIONS_MAX = 64;

/**
 * The control endpoint of the sandbox, for tests in other languages and for people. It needs no key. Serves `/faults`
 * (GET shows, PUT replaces, POST appends, DELETE drops), `/stats`, `/inspect`, `/organizations`, `/keys`,
 * `/revocations`, `/tokens`, `/reviews`, `/rate-limit`, `/import` and `/lies`, all in JSON. It only listens on
 * 127.0.0.1, and refuses a request that names another host. Otherwise a web page that has pointed its own name at this
 * machine (DNS rebinding) could use it.
 */
export function createControlServer(parts: ControlParts) {
  const routes = createControlRoutes(parts);

  const answer = async (request: IncomingMessage): Promise<ControlAnswer> => {
    const host = URL.parse(`http://${request.headers.host ?? ''}`)?.hostname ?? '';
    if (!isLoopback(host))
      return problem(403, 'The control endpoint answers only to the names of the loopback address.');
    const path = request.url?.split('?')[0] ?? '';
    const name = `${request.method ?? ''} ${path}`;
    const route = Object.hasOwn(routes, name) ? routes[name] : undefined;
    if (!route) return problem(404, `The control endpoint has no ${request.method ?? ''} ${path.slice(0, 100)}.`);
    const body = await readBody(request);
    if (body === null) return problem(413, 'The body is too large.');
    if (!isUtf8(body)) return problem(400, 'The body is not UTF-8.');
    const text = body.toString();
    // A web page can send this type to another origin only after the browser has asked for permission, and this server
    // never gives it.
    if (text !== '' && mediaTypeOf(request) !== 'application/json') {
      return problem(415, 'The body must be application/json.');
    }
    try {
      return route(text === '' ? undefined : JSON.parse(text));
    } catch (error) {
      if (error instanceof z.ZodError) return problem(400, problemsOf(error));
      if (error instanceof SyntaxError || error instanceof Fault) return problem(400, messageOf(error));
      throw error;
    }
  };

  const timeouts = { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS };
  const server = createServer(timeouts, (request, response) => {
    answer(request).then(
      (result) => send(response, result),
      (error: unknown) => send(response, problem(500, messageOf(error))),
    );
  });
  server.maxConnections = CONNECTIONS_MAX;
  return {
    listen: (port: number): Promise<AddressInfo> =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, '127.0.0.1', () => {
          server.off('error', reject);
          resolve(server.address() as AddressInfo);
        });
      }),
    close: (): Promise<void> =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Reads a body; null if it is too large. The rest of such a body is not read. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function mediaTypeOf({ headers }: IncomingMessage): string | undefined {
  return headers['content-type']?.split(';')[0]?.trim().toLowerCase();
}

function send(response: ServerResponse, { status, body }: ControlAnswer): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(`${JSON.stringify(body, null, 2)}\n`);
}
