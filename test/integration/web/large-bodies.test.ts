import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ServedRoute } from '../../../src/web/web-server.ts';
import { type GuardedWeb, openGuardedWeb, pathOf } from '../../support/browser/guarded-web.ts';

const BODY_BYTES = 20 * 1024 * 1024;
/** The bytes of a connection that the kernel may buffer before the server reads them. */
const KERNEL_BYTES = 8 * 1024 * 1024;

describe('a body of 20 MB', () => {
  let web: GuardedWeb;
  let changing: ServedRoute[];
  beforeAll(async () => {
    web = await openGuardedWeb();
    changing = web.served.filter(({ method, path }) => !['GET', 'HEAD'].includes(method) && !path.endsWith('*'));
  });
  afterAll(() => web.remove());

  /** Sends the head, then as much of the body as the server takes. Gives the status, and how much was sent. */
  async function send({ method, path }: ServedRoute, headers: Record<string, string>) {
    const { host, port, origin } = new URL(web.url);
    const socket = connect(Number(port), '127.0.0.1');
    const ended = new Promise<void>((resolve) => void socket.once('close', () => resolve()));
    let said = '';
    // The server ends the connection within the body, so the rest of the body cannot be written.
    socket.on('error', () => undefined);
    socket.setEncoding('utf8').on('data', (text: string) => (said += text));
    await once(socket, 'connect');
    const { cookie, csrf } = web.people.operator;
    const all = { host, origin, cookie, 'x-csrf-token': csrf, ...headers };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`${method} ${pathOf({ path }, '1')} HTTP/1.1\r\n${lines.join('')}\r\n`);
    let sent = 0;
    const part = 'a'.repeat(65_536);
    const isChunked = headers['transfer-encoding'] === 'chunked';
    while (isChunked && !socket.closed && said === '' && sent < BODY_BYTES) {
      sent += part.length;
      const isFlushed = socket.write(`${part.length.toString(16)}\r\n${part}\r\n`);
      if (!isFlushed) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), ended]);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await ended;
    return { status: Number(/^HTTP\/1\.1 (\d+)/.exec(said)?.[1] ?? 0), sent };
  }

  it.each(['application/x-www-form-urlencoded', 'application/json', 'multipart/form-data; boundary=x'])(
    'a body of 20 MB of %s is refused by its announced length, before it is read',
    async (type) => {
      for (const route of changing.filter(({ bodyBytesMax }) => bodyBytesMax < BODY_BYTES)) {
        const { status } = await send(route, { 'content-type': type, 'content-length': String(BODY_BYTES) });
        expect([route.path, status]).toEqual([route.path, 413]);
      }
    },
  );

  it('a body of 20 MB without an announced length is refused when it is longer than the route takes', async () => {
    for (const route of changing.filter(({ bodyBytesMax }) => bodyBytesMax < BODY_BYTES)) {
      const { status, sent } = await send(route, {
        'content-type': 'application/x-www-form-urlencoded',
        'transfer-encoding': 'chunked',
      });
      // If the connection was ended within the body, the answer may be lost.
      expect([route.path, [0, 400, 413].includes(status)]).toEqual([route.path, true]);
      expect(sent, route.path).toBeLessThan(route.bodyBytesMax + KERNEL_BYTES);
    }
  });

  it('a body of 20 MB is accepted by no route, and many of them at once take little memory', async () => {
    expect(changing.filter(({ bodyBytesMax }) => bodyBytesMax > BODY_BYTES)).toEqual([]);
    const login = changing.find(({ path }) => path === '/login');
    if (login === undefined) throw new Error('There is no login.');
    const before = process.memoryUsage().rss;
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'transfer-encoding': 'chunked' };
    const answers = await Promise.all(Array.from({ length: 40 }, () => send(login, headers)));
    for (const { sent } of answers) expect(sent).toBeLessThan(KERNEL_BYTES);
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
  });
});
