import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Agent, request } from 'undici';
import { endServer } from '../../support/servers/local-server.ts';

/**
 * A server before the sandbox. It passes every request to the sandbox, and records which requests were in flight at the
 * same time.
 */
export interface FlightRecorder {
  baseUrl: string;
  /** The number of writes that have arrived. */
  writes(): number;
  /**
   * Items with overlapping writes: the second write arrived before the answer to the first. An item is the path and its
   * name.
   */
  overlaps(): string[];
  close(): Promise<void>;
}

export async function startFlightRecorder(target: string): Promise<FlightRecorder> {
  const agent = new Agent();
  const inFlight = new Set<string>();
  const overlaps: string[] = [];
  let writes = 0;

  const server = createServer((incoming, response) => {
    const pass = async () => {
      const { method = 'GET', url = '/', headers } = incoming;
      const body = await buffer(incoming);
      const flights = method === 'GET' ? [] : flightsOf(url, body);
      if (method !== 'GET') writes += 1;
      for (const flight of flights) {
        if (inFlight.has(flight)) overlaps.push(flight);
        inFlight.add(flight);
      }
      try {
        const answer = await request(target + url, {
          method,
          headers: passedOn(headers),
          body: body.length > 0 ? body : null,
          dispatcher: agent,
        });
        const answered = Buffer.from(await answer.body.arrayBuffer());
        response.writeHead(answer.statusCode, passedOn(answer.headers)).end(answered);
      } finally {
        for (const flight of flights) inFlight.delete(flight);
      }
    };
    // If the server is gone, the client sees a reset, as behind a proxy.
    pass().catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    writes: () => writes,
    overlaps: () => [...overlaps],
    async close() {
      await endServer(server);
      await agent.close();
    },
  };
}

/**
 * The path and name of each item that a request writes. Each product of an import counts like one that is created
 * alone.
 */
function flightsOf(url: string, body: Buffer): string[] {
  if (body.length === 0) return [`${url} `];
  const content = JSON.parse(body.toString()) as Record<string, unknown>;
  const { products } = content as { products?: Record<string, unknown>[] };
  if (products !== undefined) return products.map((product) => `/api/products/ ${nameIn(product)}`);
  return [`${url} ${nameIn(content)}`];
}

function nameIn({ sku, code, product, material, component }: Record<string, unknown>): string {
  return JSON.stringify([sku, code, product, material, component]);
}

const HOP_BY_HOP = ['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'host'];

function passedOn(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || HOP_BY_HOP.includes(name) ? [] : [[name, value]],
    ),
  );
}
