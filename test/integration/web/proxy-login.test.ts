// The examples of nginx in docs/daemon.md, with a real nginx, and servers that answer as oauth2-proxy and Authelia do.

import { once } from 'node:events';
import { createServer, get as getOverHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type GuardedWeb, openGuardedWeb } from '../../support/browser/guarded-web.ts';
import { askWeb, type WebReply } from '../../support/browser/web-visitor.ts';
import { blocks } from '../../support/docs/docs-pages.ts';
import { describeNginx, type Nginx, startNginx } from '../support/nginx.ts';

const ofPage = blocks.filter(({ page }) => page === 'docs/daemon.md');
const nginxOf = (text: string) =>
  ofPage.find((block) => block.language === 'nginx' && block.text.includes(text))?.text ?? '';
/** The section `web` of the example. */
const { web: example } = parse(ofPage.find(({ text }) => text.includes('  userHeader: '))?.text ?? '') as {
  web: { userHeader: string; trustedProxies: string[]; users: { name: string; role: 'viewer' | 'operator' }[] };
};

/** A server that logs people in: the cookie `login` names the person. */
interface SignIn {
  title: string;
  userHeader: string;
  /** Its address in the example. */
  address: string;
  lines: string;
  answer(request: IncomingMessage, response: ServerResponse, person: string | null): void;
  /** Where a person without a login is sent from a page. */
  signIn: (page: string, url: string) => string;
  /** The path where people sign out; null if that is under another address. */
  signOut: string | null;
  /** The path of nginx that is only for its own questions. */
  question: string;
}

const AUTHELIA = 'https://auth.example.com/';

const SIGN_INS: SignIn[] = [
  {
    title: 'oauth2-proxy behind nginx',
    userHeader: example.userHeader,
    address: '127.0.0.1:4180',
    lines: nginxOf('auth_request /oauth2/auth;'),
    answer({ url = '' }, response, person) {
      const { pathname, searchParams } = new URL(url, 'http://oauth2-proxy');
      if (pathname === '/oauth2/auth') {
        if (person === null) response.writeHead(401).end('Unauthorized');
        else response.writeHead(202, { 'x-auth-request-email': person, 'x-auth-request-user': '4711' }).end();
      } else if (pathname === '/oauth2/callback') {
        const location = searchParams.get('rd') ?? '/';
        response.writeHead(302, { location, 'set-cookie': `login=${searchParams.get('as')}; Path=/` }).end();
      } else if (pathname === '/oauth2/sign_out') {
        response.writeHead(302, { location: '/', 'set-cookie': 'login=; Path=/; Max-Age=0' }).end();
      } else response.writeHead(200, { 'content-type': 'text/html' }).end(`Sign in: ${searchParams.get('rd')}`);
    },
    signIn: (page, url) => `${url}/oauth2/sign_in?rd=${page}`,
    signOut: '/oauth2/sign_out',
    question: '/oauth2/auth',
  },
  {
    title: 'Authelia behind nginx',
    userHeader: 'Remote-User',
    address: '127.0.0.1:9091',
    lines: nginxOf('/api/authz/auth-request;'),
    answer({ url, headers }, response, person) {
      const [asked, method] = ['x-original-url', 'x-original-method'].map((name) => String(headers[name] ?? ''));
      if (url !== '/api/authz/auth-request' || !asked || !method) {
        response.writeHead(400).end();
      } else if (person === null) {
        const location = `${AUTHELIA}?rd=${encodeURIComponent(asked)}&rm=${method}`;
        response.writeHead(401, { location }).end();
      } else response.writeHead(200, { 'remote-user': person, 'remote-email': `${person}@example.com` }).end();
    },
    signIn: (page, url) => `${AUTHELIA}?rd=${encodeURIComponent(`${url}${page}`)}&rm=GET`,
    signOut: null,
    question: '/internal/authelia/authz',
  },
];

const [operator = '', viewer = ''] = ['operator', 'viewer'].map(
  (role) => example.users.find((user) => user.role === role)?.name ?? '',
);

for (const signIn of SIGN_INS) {
  describeNginx(signIn.title, () => {
    let web: GuardedWeb;
    let nginx: Nginx;
    const server = createServer((request, response) => {
      const person = /(?:^|; )login=([^;]+)/.exec(request.headers.cookie ?? '')?.[1] ?? null;
      signIn.answer(request, response, person);
    });

    beforeAll(async () => {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      web = await openGuardedWeb();
      const { config } = web.daemon.runtime;
      if (config.web === null) throw new Error('There is no web section.');
      const users = example.users.map((user) => ({ ...user, password: null }));
      const { trustedProxies } = example;
      await web.server.renew({ ...config.web, users, trustedProxies, userHeader: signIn.userHeader });
      const { port } = server.address() as AddressInfo;
      const lines = signIn.lines
        .replaceAll(signIn.address, `127.0.0.1:${port}`)
        .replaceAll('127.0.0.1:4280', new URL(web.url).host);
      nginx = await startNginx(lines);
    });
    afterAll(async () => {
      await nginx.stop();
      await web.remove();
      server.closeAllConnections();
      server.close();
    });

    const headersOf = (person: string | null, more: Record<string, string> = {}) => ({
      accept: 'text/html',
      origin: nginx.url,
      ...(person === null ? {} : { cookie: `login=${person}` }),
      ...more,
    });
    const get = (path: string, person: string | null, more = {}): Promise<WebReply> =>
      askWeb(nginx.url, path, { headers: headersOf(person, more) });

    it(`${signIn.title} sends people to log in, and the header logs them in with their role`, async () => {
      const { status, headers } = await get('/items?state=due', null);
      expect([status, headers.location]).toEqual([302, signIn.signIn('/items?state=due', nginx.url)]);
      expect((await get('/', viewer)).body).toContain(`<a href="/account">${viewer}</a>`);
      expect((await get('/audit', viewer)).status).toBe(403);
      const { body } = await get('/audit', operator);
      const csrf = /name="csrf" value="([\w-]{43})"/.exec((await get('/runs', operator)).body)?.[1] ?? '';
      const form = { csrf, source: 'erp' };
      const started = await askWeb(nginx.url, '/runs/start', { form, headers: headersOf(operator) });
      expect([started.status, body.includes('Log out')]).toEqual([303, false]);
      expect((await web.daemon.runtime.reads.actions({ limit: 1 })).rows).toMatchObject([{ who: operator }]);
    });

    it(`${signIn.title} overwrites a header that the visitor sends, and answers its own questions to nobody`, async () => {
      const own = { [signIn.userHeader]: operator };
      expect((await get('/audit', viewer, own)).status).toBe(403);
      expect((await get('/', viewer, own)).body).toContain(`<a href="/account">${viewer}</a>`);
      expect((await get('/audit', null, own)).status).toBe(302);
      expect((await get(signIn.question, operator)).status).toBe(404);
      expect((await get('/', 'carla')).body).toContain('{ name: carla, role: viewer }');
    });

    it(`${signIn.title} can be bypassed by nobody, because the header counts from the address of the proxy alone`, async () => {
      const headers = { accept: 'text/html', [signIn.userHeader]: operator };
      const bypassed = await askWeb(web.url, '/audit', { from: '127.0.7.1', headers });
      expect([bypassed.status, bypassed.headers.location]).toEqual([303, '/login?next=%2Faudit']);
    });

    it(`${signIn.title} passes on changes as they happen, and leaves it to the dashboard how large a form may be`, async () => {
      const stream = getOverHttp(`${nginx.url}/live`, { headers: headersOf(viewer) });
      const [answer] = (await once(stream, 'response')) as [IncomingMessage];
      let text = '';
      const received = new Promise<void>((resolve) => {
        answer.setEncoding('utf8').on('data', (part: string) => {
          text += part;
          if (text.includes('event: change')) resolve();
          else web.daemon.runtime.bus.emit({ type: 'mapped', source: 'erp', mapped: 1, excluded: 0, quarantined: 0 });
        });
      });
      await received;
      expect([answer.statusCode, answer.complete]).toEqual([200, false]);
      stream.destroy();
      const uploaded = { form: { csrf: 'x'.repeat(2_000_000) }, headers: headersOf(operator) };
      expect(await askWeb(nginx.url, '/attention/1/upload', uploaded)).toMatchObject({
        status: 413,
        body: expect.stringContaining('The form is larger than this server accepts.'),
      });
    });

    it(`${signIn.title} ends a login: the next request is one of a stranger`, async () => {
      if (signIn.signOut !== null) {
        const { headers } = await get(signIn.signOut, viewer);
        expect(headers['set-cookie']).toEqual(['login=; Path=/; Max-Age=0']);
      }
      const next = await get('/account', null, { 'x-live': '1' });
      expect([next.status, next.headers.location]).toEqual([302, signIn.signIn('/account', nginx.url)]);
      expect((await get('/account', viewer)).status).toBe(200);
    });
  });
}
