import { once } from 'node:events';
import { createServer } from 'node:net';
import { systemCodeOf } from '../../../src/lib/errors.ts';

/**
 * Ports that no system gives to a client, or to a server that takes any port. So a port of a server that is down for a
 * while stays free.
 */
const PORTS = { first: 20_000, count: 12_000 };

/** A free port of this machine. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.first + Math.floor(Math.random() * PORTS.count);
    const server = createServer().listen(port, '127.0.0.1');
    try {
      await once(server, 'listening');
    } catch (error) {
      if (systemCodeOf(error) === 'EADDRINUSE') continue;
      throw error;
    }
    server.close();
    await once(server, 'close');
    return port;
  }
}
