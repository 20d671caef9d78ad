import { createServer, type IncomingMessage, request as requestOf, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { endServer, listenLocally } from '../../support/servers/local-server.ts';

/** An HTTP proxy before an API. It counts the answers of the API. */
export interface CountingProxy {
  baseUrl: string;
  /** Sets the base URL of the API. */
  passTo(baseUrl: string): void;
  /** Called when a request has arrived, before the API gets it. */
  onRequest: (path: string) => void;
  /** The number of requests that the API has answered so far. */
  answered(): number;
  /** Resolves when no connection is open and all received data were read. */
  drained(): Promise<void>;
  close(): Promise<void>;
}

export async function startCountingProxy(): Promise<CountingProxy> {
  let api = new URL('http://127.0.0.1');
  const sockets = new Set<Socket>();
  let answered = 0;
  let drained = Promise.withResolvers<void>();

  function pass(request: IncomingMessage, response: ServerResponse): void {
    const { method, headers, url: path = '' } = request;
    proxy.onRequest(path);
    const passed = requestOf({ hostname: api.hostname, port: api.port, path, method, headers }, (answer) => {
      answered += 1;
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  }

  const server = createServer(pass);
  server.on('connection', (socket) => {
    if (sockets.size === 0) drained = Promise.withResolvers();
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      if (sockets.size === 0) drained.resolve();
    });
  });
  const proxy: CountingProxy = {
    baseUrl: await listenLocally(server),
    passTo(baseUrl) {
      api = new URL(baseUrl);
    },
    onRequest: () => undefined,
    answered: () => answered,
    drained: () => (sockets.size === 0 ? Promise.resolve() : drained.promise),
    close: () => endServer(server),
  };
  return proxy;
}
