import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';

/** A request that came over the socket. */
interface SeenRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
  /** The number of its connection, counted from 1. */
  connection: number;
}

/** Answers a request that has arrived completely, or does something else with its connection. */
export type Reply = (socket: Socket, request: SeenRequest) => void;

/** A server whose replies a test decides. A reply may be invalid HTTP. */
export interface ScriptedServer {
  baseUrl: string;
  requests: SeenRequest[];
  connections: number;
  /** Sets the next replies, one for each request. The last one is used again for all further requests. */
  script(...replies: Reply[]): void;
  /** Ends every connection. Calling it twice is harmless. */
  close(): Promise<void>;
}

export async function startScriptedServer(): Promise<ScriptedServer> {
  const sockets = new Set<Socket>();
  let replies: Reply[] = [];
  const requests: SeenRequest[] = [];
  const server = createServer((socket) => {
    self.connections += 1;
    const connection = self.connections;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // Scripts reset connections intentionally.
    socket.on('error', () => socket.destroy());
    let received = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      for (;;) {
        const parsed = parseRequest(received, connection);
        if (parsed === null) return;
        received = received.subarray(parsed.length);
        requests.push(parsed.request);
        const reply = replies.length > 1 ? replies.shift() : replies[0];
        if (reply === undefined) throw new Error('The server has no reply for this request.');
        reply(socket, parsed.request);
      }
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const self: ScriptedServer = {
    baseUrl: `http://127.0.0.1:${port}`,
    requests,
    connections: 0,
    script(...given) {
      replies = given;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      if (!server.listening) return Promise.resolve();
      return new Promise<void>((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
      });
    },
  };
  return self;
}

function parseRequest(bytes: Buffer, connection: number): { request: SeenRequest; length: number } | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const [method = '', path = ''] = first.split(' ');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const length = end + 4 + Number(headers['content-length'] ?? '0');
  if (bytes.length < length) return null;
  const body = bytes.subarray(end + 4, length).toString('utf8');
  return { request: { method, path, headers, body, connection }, length };
}

/** A reply of valid HTTP. A `body` that is an object is sent as JSON. */
export function answerWith(status: number, body: unknown = '', headers: Record<string, string> = {}): Reply {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const type = typeof body === 'string' ? 'text/html' : 'application/json';
  const all = { 'content-type': type, 'content-length': String(Buffer.byteLength(text)), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return (socket) => void socket.write(`HTTP/1.1 ${status} Words\r\n${lines.join('')}\r\n${text}`);
}

/** Sends a text unchanged, and then nothing more. */
export function sendRaw(text: string): Reply {
  return (socket) => void socket.write(text);
}
