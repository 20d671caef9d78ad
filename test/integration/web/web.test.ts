import { type IncomingHttpHeaders, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Daemon } from '../../../src/daemon/daemon.ts';
import { openWeb } from '../../../src/web/web-server.ts';
import { WAIT_MS } from '../../support/runner/limits.ts';
import { createProductsWorld, startDaemon, WEB_TOKEN } from '../../support/worlds/daemon-world.ts';
import type { RecordingLog } from '../../support/worlds/recording-log.ts';
import { API_KEY, type World } from '../../support/worlds/world.ts';

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

interface Question {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  /** An address of the loopback network, so that wrong guesses of one test slow down no other test. */
  from?: string;
}

describe('the web server', () => {
  let world: World;
  let daemon: Daemon;
  let log: RecordingLog;
  let url: string;
  let breaks = false;

  beforeAll(async () => {
    world = await createProductsWorld();
    ({ daemon, log, url } = await startDaemon(world, {
      openWeb: (context, web) => {
        const check = () => (breaks ? Promise.reject(new Error('a detail from inside')) : context.health.check());
        return openWeb({ ...context, health: { ...context.health, check } }, web);
      },
    }));
    await daemon.startRun('erp', 'schedule');
    await vi.waitUntil(async () => (await daemon.runtime.queues.failed('deliver')).length === 1, { timeout: WAIT_MS });
    await vi.waitUntil(async () => (await daemon.runtime.reads.itemCounts()).product.delivered === 1, {
      timeout: WAIT_MS,
    });
  });
  afterAll(async () => {
    await daemon.stop();
    await world.remove();
  });

  function ask(
    path: string,
    { method = 'GET', headers = {}, body, from = '127.0.0.1' }: Question = {},
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const call = request(`${url}${path}`, { method, headers, localAddress: from }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text }));
      });
      call.on('error', reject);
      call.end(body);
    });
  }
  const page = { accept: 'text/html' };
  const bearer = { authorization: `Bearer ${WEB_TOKEN}` };
  const own = () => ({ origin: url });
  const form = (fields: Record<string, string>) => ({
    body: new URLSearchParams(fields).toString(),
    type: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  async function logIn(token = WEB_TOKEN, more: Question & { next?: string } = {}): Promise<Answer> {
    const { body, type } = form({ token, next: more.next ?? '' });
    return ask('/login', { ...more, method: 'POST', body, headers: { ...own(), ...type, ...more.headers } });
  }
  /** Guesses until the server holds the guesser up, and returns that answer. Ten guesses are free, and one each half minute. */
  async function heldUp(guess: (number: number) => Promise<Answer>): Promise<Answer> {
    for (let number = 0; ; number += 1) {
      const answer = await guess(number);
      if (answer.status === 401) continue;
      expect(number).toBeGreaterThanOrEqual(10);
      expect(answer.status).toBe(429);
      return answer;
    }
  }
  const cookieOf = (answer: Answer) => (answer.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '';

  describe('without the token', () => {
    const CLOSED = [
      '/',
      '/metrics',
      '/queues',
      '/queues/board/',
      '/queues/board/api/queues',
      '/queues/board/static/favicon.ico',
      '/x',
    ];

    it.each(CLOSED)('a person without a login who asks for %s is sent to the login', async (path) => {
      const person = await ask(path, { headers: page });
      expect([person.status, person.headers.location]).toEqual([303, `/login?next=${encodeURIComponent(path)}`]);
      const script = await ask(path);
      expect([script.status, script.headers['www-authenticate']]).toEqual([401, 'Bearer realm="dpp-sync"']);
    });

    it('the web server refuses every change without the token', async () => {
      for (const [method, path] of [
        ['PUT', '/queues/board/api/queues/pull/pause'],
        ['POST', '/queues/board/api/queues/pull/add'],
        ['POST', '/logout'],
        ['DELETE', '/healthz/x'],
      ] as const) {
        expect((await ask(path, { method, headers: own() })).status, path).toBe(401);
      }
      expect((await ask('/metrics', { headers: { authorization: 'Bearer wrong' }, from: '127.0.0.9' })).status).toBe(
        401,
      );
      expect(
        (await ask('/metrics', { headers: { cookie: `dpp_sync_session_${new URL(url).port}=wrong` } })).status,
      ).toBe(401);
    });

    it('the web server shows without the token whether it is well, and nothing else', async () => {
      const { status, body } = await ask('/healthz');
      expect(status).toBe(200);
      expect(JSON.parse(body)).toEqual({ status: 'ok', ledger: 'ok', queue: 'ok', api: 'ok' });
      expect(await ask('/readyz')).toMatchObject({ status: 200, body });
      expect(await ask('/livez')).toMatchObject({ status: 200, body: '{"status":"alive"}' });
    });
  });

  describe('the login', () => {
    it('the login gives a cookie that no script can read and no other site can send', async () => {
      const answer = await logIn();
      expect([answer.status, answer.headers.location]).toEqual([303, '/']);
      expect(answer.headers['set-cookie']).toEqual([
        expect.stringMatching(/^dpp_sync_session_\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/),
      ]);
      expect((await ask('/', { headers: { cookie: cookieOf(answer) } })).status).toBe(200);
      const behindTls = await logIn(WEB_TOKEN, { headers: { 'x-forwarded-proto': 'https' } });
      expect(behindTls.headers['set-cookie']?.[0]).toMatch(/; Secure$/);
    });

    it('the login stays when the person logs in to another daemon of the same machine', async () => {
      const [here = '', there = ''] = [url, 'http://127.0.0.1:65535'].map((other) => new URL(other).host);
      const cookies: string[] = [];
      for (const host of [here, there])
        cookies.push(cookieOf(await logIn(WEB_TOKEN, { headers: { host, origin: `http://${host}` } })));
      // A browser keeps one cookie of each name for a host, whatever the port is.
      const jar = new Map(cookies.map((cookie) => cookie.split('=', 2) as [string, string]));
      // Both logins are at the same server here, so it would also accept a cookie that has replaced the other.
      expect(jar.size).toBe(2);
      const cookie = [...jar].map((pair) => pair.join('=')).join('; ');
      for (const host of [here, there]) expect((await ask('/', { headers: { host, cookie } })).status).toBe(200);
    });

    it('the login leads to a page of this server alone', async () => {
      for (const [next, to] of [
        ['/queues/board/queue/deliver?status=failed', '/queues/board/queue/deliver?status=failed'],
        ['https://evil.example/', '/'],
        ['//evil.example/queues', '/'],
        ['/items?state=blocked', '/items?state=blocked'],
        ['/.//evil.example', '/'],
        ['/\t/evil.example', '/'],
        ['/logout', '/'],
        ['/\\evil.example', '/'],
      ] as const) {
        expect((await logIn(WEB_TOKEN, { next })).headers.location, next).toBe(to);
      }
    });

    it('the logout ends a session', async () => {
      const cookie = cookieOf(await logIn());
      expect((await ask('/logout', { method: 'POST', headers: { cookie, ...own() } })).status).toBe(403);
      const csrf = /name="csrf" value="([\w-]{43})"/.exec((await ask('/', { headers: { cookie } })).body)?.[1] ?? '';
      const { body, type } = form({ csrf });
      const out = await ask('/logout', { method: 'POST', body, headers: { cookie, ...type, ...own() } });
      expect(out.headers['set-cookie']?.[0]).toContain('Max-Age=0');
      expect((await ask('/', { headers: { cookie } })).status).toBe(401);
    });

    it('the login holds up a guesser and logs that, and accepts the right token from the same address', async () => {
      const from = '127.0.0.2';
      const held = await heldUp((guess) => logIn(`guess-${guess}`, { from }));
      expect(Number(held.headers['retry-after'])).toBeGreaterThan(0);
      expect(log.lines).toContainEqual(
        expect.objectContaining({ level: 'warn', message: expect.stringContaining(`come from ${from}`) }),
      );
      expect((await logIn(WEB_TOKEN, { from })).status).toBe(303);
      expect((await ask('/metrics', { headers: bearer, from })).status).toBe(200);
    });

    it('the web server counts guesses by the header apart, whatever address a header claims, and accepts the right token', async () => {
      const from = '127.0.0.3';
      const guess = (claimed: number) =>
        ask('/metrics', {
          headers: { authorization: 'Bearer guess', 'x-forwarded-for': `10.0.0.${claimed}` },
          from,
        });
      await heldUp(guess);
      expect((await ask('/metrics', { headers: bearer, from })).status).toBe(200);
      expect((await logIn('guess', { from })).status).toBe(401);
      expect((await logIn(WEB_TOKEN, { from })).status).toBe(303);
    });
  });

  describe('a request from another site', () => {
    const pause = '/queues/board/api/queues/map/pause';
    const resume = '/queues/board/api/queues/map/resume';
    let cookie: string;
    beforeAll(async () => {
      cookie = cookieOf(await logIn());
    });

    it.each([
      ['without an origin', {}],
      ['from a foreign origin', { origin: 'https://evil.example' }],
      ['from another port of this host', { origin: 'http://127.0.0.1:1' }],
      ['from an opaque origin', { origin: 'null' }],
      ['from another site, as the browser says', { 'sec-fetch-site': 'cross-site' }],
      ['from a sibling site', { 'sec-fetch-site': 'same-site' }],
    ])('a request from another site is refused %s', async (_what, headers) => {
      expect(
        (await ask(pause, { method: 'PUT', headers: { cookie, ...headers } as Record<string, string> })).status,
      ).toBe(403);
      const { body, type } = form({ token: WEB_TOKEN });
      const login = await ask('/login', {
        method: 'POST',
        body,
        headers: { ...type, ...headers } as Record<string, string>,
      });
      expect(login.status).toBe(403);
      expect(await daemon.runtime.queues.bullQueues[1]?.isPaused()).toBe(false);
    });

    it('a request from another site is distinguished from one of an own page, and from a script with the token', async () => {
      const { headers } = await ask('/queues/board/', { headers: { cookie } });
      const token = /^XSRF-TOKEN=([^;]+)/.exec(headers['set-cookie']?.[0] ?? '')?.[1] ?? '';
      const mine = { cookie, 'x-xsrf-token': token };
      expect((await ask(pause, { method: 'PUT', headers: { ...mine, ...own() } })).status).toBe(200);
      expect((await ask(resume, { method: 'PUT', headers: { ...mine, 'sec-fetch-site': 'same-origin' } })).status).toBe(
        200,
      );
      expect((await ask(resume, { method: 'PUT', headers: bearer })).status).toBe(200);
    });
  });

  it('the web server answers to the names of this machine alone while it listens on loopback alone', async () => {
    for (const host of ['evil.example', `evil.example:${new URL(url).port}`, '10.0.0.1', '127.0.0.1.evil.example']) {
      const refused = await ask('/healthz', { headers: { host } });
      expect(refused.status, host).toBe(421);
      expect(refused.body).toContain('web.allowedHosts');
    }
    for (const host of ['localhost:4280', '127.0.0.1', '[::1]:80']) {
      expect((await ask('/healthz', { headers: { host } })).status, host).toBe(200);
    }
  });

  it.each([
    '/healthz',
    '/login',
    '/',
    '/metrics',
    '/queues/board/',
    '/queues/board/api/queues',
    '/nothing',
    '/assets/style.css',
  ])('the web server sends headers that keep other sites out with %s', async (path) => {
    const { headers } = await ask(path, { headers: bearer });
    expect(headers).toMatchObject({
      'content-security-policy': expect.stringContaining("default-src 'none'; script-src 'self';"),
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
    });
  });

  it('the web server shows neither secrets nor keys of items in its metrics', async () => {
    const { status, headers, body } = await ask('/metrics', { headers: bearer });
    expect([status, headers['content-type']]).toEqual([200, expect.stringContaining('text/plain')]);
    expect(body).toContain('dpp_sync_items{source="erp",kind="product",state="rejected"} 1\n');
    expect(body).toContain('dpp_sync_items{source="erp",kind="product",state="delivered"} 1\n');
    expect(body).toContain('dpp_sync_requests_total{operation="product.create",outcome="accepted"} 1\n');
    expect(body).toContain('dpp_sync_records_total{source="erp",stream="default",result="read"} 2\n');
    expect(body).toContain('dpp_sync_runs_total{source="erp",result="complete"} 1\n');
    expect(body).toContain('dpp_sync_last_run_result{source="erp",result="complete"} 1\n');
    expect(body).toContain('dpp_sync_queue_jobs{queue="deliver",state="failed"} 1\n');
    expect(body).toContain('dpp_sync_api_state{state="ok"} 1\n');
    expect(body).toMatch(/^dpp_sync_request_duration_seconds_count\{operation="product.create"\} 2$/m);
    for (const text of [WEB_TOKEN, API_KEY.slice(0, 12), 'A-1', 'A-2', 'Toaster', world.folder])
      expect(body).not.toContain(text);
  });

  it('the web server shows the state of things on its page, with text from outside escaped', async () => {
    const { body } = await ask('/', { headers: { ...bearer, ...page } });
    expect(body).toContain('status: &quot;RETIRED&quot; is not a valid choice.');
    expect(body).not.toContain(WEB_TOKEN);
    expect(body.match(/<script[^>]*>/g)).toEqual(['<script src="/assets/live.js" defer>']);
  });

  it('the web server refuses through the board actions that would only confuse', async () => {
    const [job] = await daemon.runtime.queues.failed('deliver');
    const queue = '/queues/board/api/queues/deliver';
    for (const [method, path] of [
      ['POST', `${queue}/add`],
      ['PUT', `${queue}/empty`],
      ['PUT', `${queue}/obliterate`],
      ['PUT', `${queue}/clean/failed`],
      ['PUT', `${queue}/retry/completed`],
      ['PUT', `${queue}/concurrency`],
      ['PUT', `${queue}/${job?.id}/clean`],
      ['PATCH', `${queue}/${job?.id}/update-data`],
      ['PUT', '/queues/board/api/queues/pause'],
    ] as const) {
      const answer = await ask(path, {
        method,
        headers: { ...bearer, 'content-type': 'application/json' },
        body: '{}',
      });
      expect([path, answer.status]).toEqual([path, 403]);
    }
    expect(await daemon.runtime.queues.counts('deliver')).toMatchObject({ failed: 1, waiting: 0 });
    const [, , deliver] = daemon.runtime.queues.bullQueues;
    const [completed] = (await deliver?.getJobs(['completed'])) ?? [];
    expect((await ask(`${queue}/${completed?.id}/retry`, { method: 'PUT', headers: bearer })).status).toBe(403);
    const json = { ...bearer, 'content-type': 'application/json' };
    expect((await ask(`${queue}/pause`, { method: 'PUT', headers: json, body: '{no JSON' })).status).toBe(400);
  });

  it('the web server shows nothing of its inside when it fails', async () => {
    breaks = true;
    const script = await ask('/api/v1/status', { headers: bearer });
    const person = await ask('/', { headers: { ...bearer, ...page } });
    breaks = false;
    expect([script.status, person.status]).toEqual([500, 500]);
    expect(`${script.body}${person.body}`).not.toContain('a detail from inside');
    expect(log.lines.filter(({ message }) => message.includes('a detail from inside'))).toHaveLength(2);
    expect((await ask('/nothing', { headers: bearer })).body).toBe(
      '{"ok":false,"error":{"message":"There is no such page."}}',
    );
    const cookie = cookieOf(await logIn());
    const broken = await ask('/login', {
      method: 'POST',
      headers: { cookie, ...own(), 'content-type': 'text/csv' },
      body: 'x',
    });
    expect(broken.status).toBe(415);
  });
});
