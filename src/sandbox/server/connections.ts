import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Watches the connections of a server. Call it before the server listens. It takes a little time for each connection,
 * and none for each request.
 *
 * @param refuses called once for every new connection, which is reset if it returns true
 */
export function watchConnections(server: Server, refuses: () => boolean) {
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

export type Connections = ReturnType<typeof watchConnections>;
