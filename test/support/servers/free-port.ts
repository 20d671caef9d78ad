import { once } from 'node:events';
import { createServer } from 'node:net';
import { systemCodeOf } from '../../../src/lib/errors.ts';

/**
 * Ports that no system gives to a client, or to a server that takes any port. So a port of a server that is down for a
 * while stays free. Each of the workers that run test files at the same time has its own part of them, and takes one
 * after another: nothing else takes a port between this look at it and the start of its server.
 */
const PORTS = { first: 20_000, parts: 8, each: 1500 };

const worker = Number(process.env['VITEST_POOL_ID'] ?? 0) % PORTS.parts;
let taken = Math.floor(Math.random() * PORTS.each);

/** A free port of this machine. */
export async function freePort(): Promise<number> {
  for (;;) {
    taken += 1;
    const port = PORTS.first + worker * PORTS.each + (taken % PORTS.each);
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
