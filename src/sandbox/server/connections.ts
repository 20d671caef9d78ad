import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** The open connections of a server. */
export interface Connections {
  /** Resets all connections, whatever their requests are. */
  resetAll(): void;
  /** True for one that was reset by `resetAll`. */
  wasReset(socket: Socket): boolean;
}

/**
 * Watches the connections of a server from before it listens. It costs a connection something, and a request nothing.
 *
 * @param refuses asked once for every new connection, which is reset where it says so
 */
export function watchConnections(server: Server, refuses: () => boolean): Connections {
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
    resetAll() {
      for (const socket of open) {
        reset.add(socket);
        socket.resetAndDestroy();
      }
    },
    wasReset: (socket) => reset.has(socket),
  };
}
