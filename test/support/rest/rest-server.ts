import { createServer, type IncomingHttpHeaders } from 'node:http';
import { type JsonValue, parseIfJson } from '../../../src/lib/json.ts';
import { endServer, listenLocally } from '../servers/local-server.ts';

/** A request that the server got. */
export interface RestCall {
  method: string;
  path: string;
  query: URLSearchParams;
  /** The body as JSON, or as text if it is none; null without a body. */
  body: JsonValue;
  headers: IncomingHttpHeaders;
  /** The path and the query as they were sent. */
  url: string;
  /** The address of the server, for links. */
  base: string;
}

export interface RestReply {
  status?: number;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is, in place of `body`. */
  text?: string;
  /** The bytes of a body. */
  bytes?: Buffer;
  /** Cuts the connection: in place of an answer, or after `unfinished`. */
  cut?: true;
  /** The first part of a body, without its end. */
  unfinished?: string;
}

/** A real HTTP server on this machine, which answers as a test decides. `onCall` is called before a request is answered. */
export async function startRestServer(answer: (call: RestCall) => RestReply | Promise<RestReply>) {
  const calls: RestCall[] = [];
  const watched: { onCall: ((number: number) => void) | null } = { onCall: null };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const url = new URL(request.url ?? '/', base);
      const text = Buffer.concat(chunks).toString();
      const call: RestCall = {
        method: request.method ?? '',
        path: decodeURIComponent(url.pathname),
        query: url.searchParams,
        body: text === '' ? null : (parseIfJson(text) ?? text),
        headers: request.headers,
        url: request.url ?? '/',
        base,
      };
      calls.push(call);
      watched.onCall?.(calls.length);
      Promise.resolve(answer(call)).then(
        ({ status = 200, headers = {}, body = null, text: own, bytes, cut, unfinished }) => {
          if (unfinished !== undefined) {
            response.writeHead(status, { 'content-type': 'application/json', ...headers });
            response.write(unfinished, () => (cut ? request.socket.destroy() : undefined));
          } else if (cut) request.socket.destroy();
          else
            response
              .writeHead(status, { 'content-type': 'application/json', ...headers })
              .end(bytes ?? own ?? JSON.stringify(body));
        },
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
    });
  });
  const base = await listenLocally(server);
  return Object.assign(watched, {
    base,
    calls,
    close: () => endServer(server),
  });
}

export type RestServer = Awaited<ReturnType<typeof startRestServer>>;
