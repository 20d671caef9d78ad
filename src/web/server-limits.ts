import { createServer, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The most connections that are open at once. This is far less than the file descriptors of a process (1,024 on many
 * machines), because the ledger, the exports and the API need some as well (I9).
 */
export const CONNECTIONS_MAX = 128;

const LIMITS = {
  /** A form of the dashboard is sent in one packet. A client that takes longer only occupies a connection. */
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  connectionsCheckingInterval: 1_000,
  /**
   * Longer than the minute for which most proxies keep an idle connection, so that the proxy closes the connection and
   * not this server.
   */
  keepAliveTimeout: 65_000,
  maxRequestsPerSocket: 1_000,
} as const;
/**
 * A connection without a byte in either direction is closed after this time, because a client that never reads its
 * answer must not occupy it for ever.
 */
const SILENT_MS = 60_000;

export type BoundedServers = ReturnType<typeof createBoundedServers>;

/**
 * Bounds the connections that clients without a login can occupy. If there is no room for one more connection, the
 * oldest one without a login is closed. So slow requests can only close each other's connections. A client with the
 * token counts as without a login only for the few milliseconds until its request has arrived, so its connection is
 * practically never closed.
 */
export function createBoundedServers(connectionsMax = CONNECTIONS_MAX) {
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
    create(handler: RequestListener): Server {
      const server = createServer(LIMITS, handler);
      server.setTimeout(SILENT_MS);
      server.on('connection', (socket: Socket) => {
        makeRoom();
        strangers.add(socket);
        socket.once('close', () => forget(socket));
      });
      return server;
    },
    /** Call it when the client of a connection has logged in. */
    trust(socket: Socket) {
      if (strangers.delete(socket)) trusted.add(socket);
    },
  };
}
