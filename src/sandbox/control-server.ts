import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';
import { messageOf } from '../lib/errors.ts';
import { isLoopback } from '../lib/loopback.ts';
import { FaultRule, type Faults } from './faults.ts';
import type { Inspection } from './inspection.ts';

/** What the control endpoint steers and shows. */
export interface ControlParts {
  faults: Faults;
  inspection: Inspection;
  approve: (organization: string, sku: string) => boolean;
}

/** The other door of the sandbox, for tests in other languages and for people. It asks for no key. */
export interface ControlServer {
  listen(port: number): Promise<AddressInfo>;
  close(): Promise<void>;
}

const BODY_BYTES_MAX = 1_048_576;

const Approval = z.strictObject({ organization: z.string().min(1), sku: z.string().min(1) });

interface ControlAnswer {
  status: number;
  body: unknown;
}

/**
 * Serves `/faults` (GET shows, PUT replaces, POST appends, DELETE drops, all but GET with JSON), `/stats`, `/inspect` and
 * `/reviews` (POST). It listens on 127.0.0.1 alone, and a request that names another host is refused: else a web page
 * that lets its own name point here could use it (DNS rebinding).
 */
export function createControlServer({ faults, inspection, approve }: ControlParts): ControlServer {
  const addAll = (body: unknown): void => {
    for (const rule of z.array(FaultRule).parse(Array.isArray(body) ? body : [body])) faults.add(rule);
  };
  const showFaults = (): ControlAnswer => ({ status: 200, body: { faults: faults.list(), unused: faults.unused() } });

  const routes: Record<string, (body: unknown) => ControlAnswer> = {
    'GET /faults': showFaults,
    'PUT /faults': (body) => {
      const rules = z.array(FaultRule).parse(body);
      faults.clear();
      addAll(rules);
      return showFaults();
    },
    'POST /faults': (body) => {
      addAll(body);
      return showFaults();
    },
    'DELETE /faults': () => {
      faults.clear();
      return showFaults();
    },
    'GET /stats': () => ({ status: 200, body: inspection.statistics() }),
    'GET /inspect': () => ({ status: 200, body: inspection.snapshot() }),
    'POST /reviews': (body) => {
      const { organization, sku } = Approval.parse(body);
      return approve(organization, sku) ? { status: 200, body: {} } : problem(404, 'There is no such passport.');
    },
  };

  const answer = async (request: IncomingMessage): Promise<ControlAnswer> => {
    const host = URL.parse(`http://${request.headers.host ?? ''}`)?.hostname ?? '';
    if (!isLoopback(host)) return problem(403, 'The control endpoint answers to loopback names alone.');
    const path = request.url?.split('?')[0] ?? '';
    const route = routes[`${request.method ?? ''} ${path}`];
    if (!route) return problem(404, `There is no ${request.method ?? ''} ${path.slice(0, 100)} here.`);
    const text = await readBody(request);
    if (text === null) return problem(413, 'The body is too large.');
    // A web page cannot send this type to another origin without asking first, which is never answered.
    if (text !== '' && request.headers['content-type']?.split(';')[0] !== 'application/json') {
      return problem(415, 'The body must be application/json.');
    }
    try {
      return route(text === '' ? undefined : JSON.parse(text));
    } catch (error) {
      if (error instanceof z.ZodError) return problem(400, z.prettifyError(error));
      if (error instanceof SyntaxError) return problem(400, messageOf(error));
      throw error;
    }
  };

  const server = createServer((request, response) => {
    answer(request).then(
      (result) => send(response, result),
      (error: unknown) => send(response, problem(500, messageOf(error))),
    );
  });
  return {
    listen: (port) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, '127.0.0.1', () => {
          server.off('error', reject);
          resolve(server.address() as AddressInfo);
        });
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function problem(status: number, detail: string): ControlAnswer {
  return { status, body: { detail } };
}

/** Null for a body that is too large; the rest of it is not read. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function send(response: ServerResponse, { status, body }: ControlAnswer): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(`${JSON.stringify(body, null, 2)}\n`);
}
