import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ServedRoute } from '../../../src/web/web-server.ts';
import { type GuardedWeb, openGuardedWeb, pathOf } from '../../support/browser/guarded-web.ts';
import { askWeb, visitWeb, type WebVisitor } from '../../support/browser/web-visitor.ts';
import { WEB_TOKEN } from '../../support/worlds/daemon-world.ts';

const ROLES = ['viewer', 'editor', 'operator'] as const;
/** All that a stranger may ask for. */
const OPEN = [
  'GET /assets/board.css',
  'GET /assets/board.js',
  'GET /assets/live.js',
  'GET /assets/style.css',
  'GET /healthz',
  'GET /livez',
  'GET /login',
  'GET /readyz',
  'POST /login',
];
const FORGED = 'This form is older than your login.';

describe('everything that the server serves', () => {
  let web: GuardedWeb;
  let closed: ServedRoute[];
  let changing: ServedRoute[];
  beforeAll(async () => {
    web = await openGuardedWeb();
    closed = web.served.filter(({ role, method }) => role !== 'open' && method !== 'HEAD');
    changing = closed.filter(({ method }) => method !== 'GET');
  });
  afterAll(() => web.remove());

  const nameOf = ({ method, path }: ServedRoute) => `${method} ${path}`;
  const ask = (route: ServedRoute, headers: Record<string, string>, from = '127.0.0.1') =>
    askWeb(web.url, pathOf(route, '1'), { method: route.method, headers, from });
  const actions = () => {
    const db = new Database(join(web.world.folder, 'data/ledger.db'), { readonly: true });
    try {
      return db.prepare('SELECT count(*) FROM actions').pluck().get();
    } finally {
      db.close();
    }
  };

  it('each route has a role, besides the routes that a stranger needs to log in', () => {
    const open = web.served.filter(({ role, method }) => role === 'open' && method !== 'HEAD').map(nameOf);
    expect(open.sort()).toEqual(OPEN);
    expect(closed.length).toBeGreaterThan(30);
    expect(changing.length).toBeGreaterThan(10);
  });

  it('no route is shown to anybody who has not logged in: pages, endpoints, streams and the board', async () => {
    for (const [at, route] of closed.entries()) {
      // Each route uses a separate address, because wrong tokens slow an address down.
      const from = `127.0.1.${at % 250}`;
      for (const headers of [
        {},
        { accept: 'text/html' },
        { cookie: `dpp_sync_session_${new URL(web.url).port}=0000` },
        { authorization: 'Bearer 0000000000000000' },
        { authorization: 'Basic dG9rZW46dG9rZW4=' },
      ] as Record<string, string>[]) {
        const { status, headers: answered, body } = await ask(route, { origin: web.url, ...headers }, from);
        const isSentToLogin = status === 303 && String(answered['location']).startsWith('/login?next=');
        expect(isSentToLogin || status === 401 || status === 429, `${nameOf(route)} ${status}`).toBe(true);
        expect(body).not.toMatch(/A-1|Kettle|erp/);
      }
    }
  });

  it('each route answers a HEAD as the GET: with the same role', () => {
    const roles = new Map(web.served.map((route) => [nameOf(route), route.role]));
    for (const route of web.served.filter(({ method }) => method === 'HEAD')) {
      const path = roles.has(`GET ${route.path}`) ? route.path : route.path.replace(/\/$/, '');
      expect(roles.get(`GET ${path}`), route.path).toBe(route.role);
    }
  });

  it('each route is refused to each lower role, before anything is done', async () => {
    const before = actions();
    let refused = 0;
    for (const route of closed) {
      for (const role of ROLES.slice(0, ROLES.indexOf(route.role === 'open' ? 'viewer' : route.role))) {
        const { cookie, csrf } = web.people[role];
        const { status, body } = await ask(route, { cookie, origin: web.url, 'x-csrf-token': csrf });
        expect([nameOf(route), role, status]).toEqual([nameOf(route), role, 403]);
        expect(body).toContain(`You need the role ${route.role}`);
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(20);
    expect(actions()).toBe(before);
  });

  it('no route accepts a change without the CSRF token of the same session, nor with one of another session', async () => {
    const { operator, viewer } = web.people;
    const other: WebVisitor = await visitWeb(web.url, { password: WEB_TOKEN });
    const before = actions();
    for (const route of changing) {
      for (const csrf of [null, '', 'x'.repeat(43), viewer.csrf, other.csrf, `${operator.csrf}x`]) {
        const token: Record<string, string> = csrf === null ? {} : { 'x-csrf-token': csrf };
        const { status, body } = await ask(route, { cookie: operator.cookie, origin: web.url, ...token });
        expect([nameOf(route), status]).toEqual([nameOf(route), 403]);
        expect(body).toContain(FORGED);
      }
    }
    expect(actions()).toBe(before);
  });

  it('no route accepts a change from a page of another site, even with the right CSRF token', async () => {
    const { cookie, csrf } = web.people.operator;
    for (const route of changing) {
      for (const from of [
        { origin: 'https://evil.example' },
        { origin: 'null' },
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site', origin: web.url },
        {},
      ] as Record<string, string>[]) {
        const { status, body } = await ask(route, { cookie, 'x-csrf-token': csrf, ...from });
        expect([nameOf(route), status]).toEqual([nameOf(route), 403]);
        expect(body).toContain('does not come from a page of this server');
      }
    }
  });

  it("each route is served under the server's own names alone", async () => {
    for (const route of web.served) {
      for (const host of ['evil.example', '169.254.169.254', '127.0.0.1.evil.example']) {
        const { status } = await ask(route, { host, authorization: `Bearer ${WEB_TOKEN}` });
        expect([nameOf(route), status]).toEqual([nameOf(route), 421]);
      }
    }
  });

  it('no route reads a file that a path leads to, or fails at a parameter', async () => {
    const hostile = [
      '..%2f..%2f..%2f..%2f..%2fetc%2fpasswd',
      '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
      '..%5c..%5cetc%5cpasswd',
      '%2fetc%2fpasswd',
      'file:%2f%2f%2fetc%2fpasswd',
      '..%00.csv',
      '%00',
      '__proto__',
      'constructor',
      '-1',
      '99999999999999999999',
      "1'%20OR%20'1'='1",
      '%F0%9F%A6%8A',
      '%25s%25n',
      'x'.repeat(5000),
    ];
    const { cookie } = web.people.operator;
    for (const route of closed.filter(({ path, method }) => method === 'GET' && /[:*]/.test(path))) {
      for (const value of hostile) {
        const path = pathOf(route, value);
        const { status, body } = await askWeb(web.url, path, { headers: { cookie, accept: 'text/html' } });
        expect(status, `${path.slice(0, 120)} ${body.slice(0, 300)}`).not.toBe(500);
        expect(body, path).not.toMatch(/root:.*:0:0:|\[extensions\]/);
      }
      for (const value of ['%', '%zz', '%c3%28']) {
        const { status } = await askWeb(web.url, pathOf(route, value), { headers: { cookie } });
        expect(status, route.path).toBeGreaterThanOrEqual(400);
        expect(status, route.path).toBeLessThan(500);
      }
    }
    for (const path of [
      '/../../../../etc/passwd',
      '/assets/../../../etc/passwd',
      '/assets/..%2f..%2fpackage.json',
      '//etc/passwd',
    ]) {
      const { status, body } = await askWeb(web.url, path, { headers: { cookie } });
      expect(status, path).toBe(404);
      expect(body).not.toMatch(/root:|dpp-sync",/);
    }
    expect(web.log.lines.filter(({ message }) => message.startsWith('A page could not be shown'))).toEqual([]);
  });
});
