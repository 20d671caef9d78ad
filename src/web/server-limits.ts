import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Connections that are open at once, far below the file descriptors that a process has (1,024 on many machines): the rest
 * belongs to the ledger, the exports and the API (I9).
 */
export const CONNECTIONS_MAX = 128;

const LIMITS = {
  /** A form of the dashboard is sent in one packet. A client that takes longer only occupies a connection. */
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  connectionsCheckingInterval: 1_000,
  /** Longer than the minute for which most proxies keep an idle connection, so that the proxy is the one to close it. */
  keepAliveTimeout: 65_000,
  maxRequestsPerSocket: 1_000,
} as const;
/** Without a byte in either direction. A client that never reads its answer must not hold it for ever. */
const SILENT_MS = 60_000;

/** Servers whose connections are bounded together. */
export interface BoundedServers {
  create(handler: RequestListener): Server;
  /** Notes that the client of a connection has logged in. */
  trust(socket: Socket): void;
}

/**
 * Bounds the connections that clients without a login can occupy. If there is no room for one more connection, the oldest one
 * without a login is closed. So many slow requests only displace each other. A client with the token needs its connection
 * for a few milliseconds until the request has arrived, and is the last to lose it.
 */
export function createBoundedServers(connectionsMax = CONNECTIONS_MAX): BoundedServers {
  // A set remembers the order in which its members came.
  const strangers = new Set<Socket>();
  const trusted = new Set<Socket>();

  function makeRoom(): void {
    if (strangers.size + trusted.size < connectionsMax) return;
    const [oldest] = strangers.size > 0 ? strangers : trusted;
    if (oldest !== undefined) drop(oldest);
  }

  function drop(socket: Socket): void {
    forget(socket);
    socket.destroy();
  }

  function forget(socket: Socket): void {
    strangers.delete(socket);
    trusted.delete(socket);
  }

  return {
    create(handler) {
      const server = createServer(LIMITS, handler);
      server.setTimeout(SILENT_MS);
      server.on('connection', (socket: Socket) => {
        makeRoom();
        strangers.add(socket);
        socket.once('close', () => forget(socket));
      });
      return server;
    },
    trust(socket) {
      if (strangers.delete(socket)) trusted.add(socket);
    },
  };
}
