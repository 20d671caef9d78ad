import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Daemon } from '../../../src/daemon/daemon.ts';
import { CONNECTIONS_MAX } from '../../../src/web/limits.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { PRODUCTS, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import { createWorld, type World } from '../../support/worlds/world.ts';

const bearer = { authorization: `Bearer ${WEB_TOKEN}` };

describe('a dashboard that listens on every address', () => {
  let world: World;
  let daemon: Daemon;
  let port: number;
  beforeAll(async () => {
    world = await createWorld({
      config: {
        web: { host: '0.0.0.0', port: 0, token: WEB_TOKEN, allowedHosts: ['dpp-sync.example.com'] },
        sources: [PRODUCTS.source],
      },
      files: PRODUCTS.files,
    });
    let url: string;
    ({ daemon, url } = await startDaemon(world));
    port = Number(new URL(url).port);
  });
  afterAll(async () => {
    await daemon.stop();
    await world.remove();
  });

  function statusOf(path: string, options: { method?: string; headers?: Record<string, string> } = {}) {
    return new Promise<number>((resolve, reject) => {
      const call = request({ host: '127.0.0.1', port, path, ...options }, (answer) => {
        answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
      });
      call.on('error', reject).end();
    });
  }

  /** A connection that sends only this text. `said` collects the answer. */
  async function hold(head: string) {
    const socket = connect(port, '127.0.0.1');
    const held = { socket, said: '', open: true };
    socket.setEncoding('utf8').on('data', (text: string) => (held.said += text));
    socket.on('error', () => undefined).on('close', () => (held.open = false));
    await once(socket, 'connect');
    socket.write(head);
    return held;
  }
  const holdMany = (count: number, head: string) => Promise.all(Array.from({ length: count }, () => hold(head)));
  const release = (sockets: { socket: Socket }[]) => {
    for (const { socket } of sockets) socket.destroy();
  };
  const slow = (path: string, extra = '') =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9000\r\n${extra}\r\ntok`;

  it('a dashboard on every address answers to its own names and those of the config, and to no other, token or not', async () => {
    for (const host of ['evil.example', 'localhost.evil.example', '10.0.0.1']) {
      expect(await statusOf('/healthz', { headers: { host } }), host).toBe(421);
      expect(await statusOf('/metrics', { headers: { host, ...bearer } }), host).toBe(421);
    }
    for (const host of ['dpp-sync.example.com', 'DPP-Sync.example.com:443', 'localhost', `127.0.0.1:${port}`]) {
      expect(await statusOf('/healthz', { headers: { host } }), host).toBe(200);
    }
  });

  it('a dashboard on every address accepts a form from a page of the name that it was asked for, and from no other', async () => {
    const post = (host: string, origin: string) =>
      statusOf('/login', { method: 'POST', headers: { host, origin, 'content-length': '0' } });
    expect(await post('dpp-sync.example.com', 'https://dpp-sync.example.com')).toBe(401);
    expect(await post('dpp-sync.example.com', 'https://evil.example')).toBe(403);
    expect(await post('evil.example', 'https://evil.example')).toBe(421);
  });

  it('a dashboard on every address refuses without a login before the body is there, and ends the connection', async () => {
    const held = await holdMany(300, slow('/queues/board/api/queues/map/pause'));
    await vi.waitUntil(() => held.every(({ open }) => !open), { timeout: WAIT_MS });
    const answered = held.filter(({ said }) => said !== '');
    expect(answered.length).toBeGreaterThan(0);
    for (const { said } of answered) expect(said).toMatch(/^HTTP\/1\.1 401 [^]*connection: close/i);
  });

  it.each([
    ['bodies of the login form', slow('/login', 'Sec-Fetch-Site: same-origin\r\n')],
    ['headers', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n'],
    ['nothing at all', ''],
  ])('slow %s get a bounded number of connections, and the token is still served', async (_what, head) => {
    const held = await holdMany(300, head);
    await vi.waitUntil(() => held.filter(({ open }) => open).length <= CONNECTIONS_MAX, { timeout: WAIT_MS });
    for (let turn = 0; turn < 20; turn += 1) {
      expect(await statusOf('/', { headers: bearer })).toBe(200);
      expect(await statusOf('/healthz')).toBe(200);
    }
    // On a busy machine, the time for a request may be over by now.
    expect(held.filter(({ open, said }) => open || said.startsWith('HTTP/1.1 408')).length).toBeGreaterThan(0);
    release(held);
  });

  it('a dashboard on every address keeps the connection of a person who has logged in while strangers open many connections', async () => {
    const mine = await hold(`GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${WEB_TOKEN}\r\n\r\n`);
    await vi.waitUntil(() => mine.said.includes('200 OK'), { timeout: WAIT_MS });
    const held = await holdMany(300, '');
    await vi.waitUntil(() => held.filter(({ open }) => open).length < CONNECTIONS_MAX, { timeout: WAIT_MS });
    mine.said = '';
    mine.socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await vi.waitUntil(() => mine.said.includes('200 OK'), { timeout: WAIT_MS });
    release([mine, ...held]);
  });

  it('a request that is not sent within fifteen seconds is ended', async () => {
    const held = await holdMany(3, slow('/login', 'Sec-Fetch-Site: same-origin\r\n'));
    await vi.waitUntil(() => held.every(({ open }) => !open), { timeout: WAIT_MS });
    for (const { said } of held) expect(said).toMatch(/^HTTP\/1\.1 408 /);
  });
});
