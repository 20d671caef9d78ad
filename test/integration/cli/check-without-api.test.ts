import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { runHere } from '../../support/cli/cli-here.ts';
import { EXPORT_SOURCES, GOOD_FILES } from '../../support/worlds/cli-export.ts';
import { API_KEY, createWorld, type World } from '../../support/worlds/world.ts';

interface Page {
  status: number;
  body?: string;
  headers?: Record<string, string>;
}
type Answers = (request: { method: string; path: string }) => Page;

const json = (status: number, body: unknown): Page => ({
  status,
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
});
const html = (status: number, title = 'Company portal'): Page => ({
  status,
  body: `<!doctype html><title>${title}</title>`,
  headers: { 'content-type': 'text/html' },
});

let world: World;
let server: Server | null = null;
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => (server === null ? resolve(null) : server.close(resolve)));
  server = null;
  await world.remove();
});

/** Runs `check` against a server that gives these answers. */
async function checkAgainst(answers: Answers, changes: { target?: object; passports?: object } = {}) {
  world = await createWorld({ config: { sources: EXPORT_SOURCES }, files: GOOD_FILES });
  server = createServer((request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    const { status, body = '', headers = {} } = answers({ method: request.method ?? '', path: request.url ?? '' });
    response.writeHead(status, headers).end(body);
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { passports } = changes;
  const target = { baseUrl, apiKey: API_KEY, ...changes.target };
  world.write('dpp-sync.yaml', stringify({ target, ledger: './data/ledger.db', sources: EXPORT_SOURCES, passports }));
  const { exitCode, json: document } = await runHere(['check', '-c', world.configFile, '--json']);
  return {
    exitCode,
    ...(document() as { ok: boolean; error?: { code: string; message: string; suggestion: string } }),
    api: (document() as { api: { scopes: object | null; plan: string | null; lists: object[] } }).api,
  };
}

describe('dpp-sync check of an address where the API is not', () => {
  it.each<[string, RegExp, Page | Answers]>([
    ['404 with a page', /404/, html(404)],
    ['404 with JSON', /404|no Route/, json(404, { message: 'no Route matched with those values' })],
    [
      '404 with JSON that names time and path',
      /Not Found|404/,
      ({ path }) => json(404, { timestamp: process.hrtime().join('.'), path, error: 'Not Found' }),
    ],
    ['404 without a body', /404/, { status: 404 }],
    ['500 with a page', /500/, html(500)],
    ['500 with JSON', /broken/, json(500, { detail: 'It is broken.' })],
    ['502 of a proxy', /502/, html(502)],
    ['503 of a proxy', /503/, html(503)],
    [
      '302 to a login',
      /redirect \(302\).*login/,
      { status: 302, headers: { location: 'https://sso.example.com/login?next=x' } },
    ],
    ['301 to another host', /redirect \(301\)/, { status: 301, headers: { location: 'https://www.example.com/' } }],
    ['400', /400/, html(400)],
    ['405', /405/, html(405)],
    ['406', /406/, html(406)],
    ['410', /410/, html(410)],
    ['200 with a login page', /not a list/, html(200, 'Log in')],
    ['200 without a body', /not a list/, { status: 200 }],
    ['204', /not a list/, { status: 204 }],
    ['202 with JSON', /not a list/, json(202, { status: 'queued' })],
    ['200 with JSON', /not a list/, json(200, { status: 'ok' })],
    ['200 with a text', /not a list/, { status: 200, body: 'It works!' }],
  ])('check ends with 3 and says what it saw where everything is answered with %s', async (_name, seen, answer) => {
    const { exitCode, ok, error, api } = await checkAgainst(typeof answer === 'function' ? answer : () => answer);
    expect([exitCode, ok, error?.code]).toEqual([3, false, 'api.unreachable']);
    expect(error?.message).toMatch(seen);
    expect(error?.message).toContain('No answer shows that the API of the platform is at http://127.0.0.1:');
    expect(api).toMatchObject({ plan: 'unknown', scopes: { read: 'unknown', write: 'unknown', publish: 'unknown' } });
  });

  it.each([401, 403])('check ends with 3 and calls it the key where everything is answered with %i', async (status) => {
    expect(await checkAgainst(() => html(status))).toMatchObject({ exitCode: 3, error: { code: 'api.key' } });
  });

  it('check gives no mark for writing where every path is answered with an empty list', async () => {
    const { api } = await checkAgainst(() => json(200, []));
    expect(api.scopes).toEqual({ read: 'unknown', write: 'unknown', publish: 'unknown' });
  });
});

describe('dpp-sync check of an API whose lists cannot all be read', () => {
  /** Answers like the API, but for lists that match. */
  const api =
    (broken: RegExp, how: Page = html(404)): Answers =>
    ({ method, path }) => {
      if (method === 'GET' && broken.test(path)) return how;
      if (method === 'GET' && /^\/api\/(products|materials|dpp\/publications)\//.test(path))
        return json(200, { count: 0, next: null, results: [] });
      if (/^\/api\/(materials|dpp)\//.test(path)) return json(404, { detail: 'Not found.' });
      return html(404);
    };
  const passports = { init: 'when-complete', publish: 'auto' };

  it.each([
    [/\/products\//, 'products'],
    [/\/materials\//, 'materials'],
    [/\/publications\//, 'publications'],
  ])('check ends with 3 where %s cannot be read, unless the platform is said to be empty', async (broken, name) => {
    for (const how of [
      html(404),
      json(500, { detail: 'Broken.' }),
      html(200),
      json(200, { results: [{ name: 'x' }] }),
    ]) {
      const { exitCode, error } = await checkAgainst(api(broken, how), { passports });
      expect([exitCode, error?.code]).toEqual([3, 'api.unreachable']);
      expect(error?.message).toContain(`The list of ${name} cannot be read: `);
      await world.remove();
    }
    const told = await checkAgainst(api(broken), { passports, target: { firstContact: 'assume-empty' } });
    expect([told.exitCode, told.error]).toEqual([0, undefined]);
  });

  it('check ends with 0 where all lists that are needed can be read', async () => {
    const { exitCode, api: found } = await checkAgainst(api(/\/publications\//));
    expect([exitCode, found.lists]).toEqual([
      0,
      [
        { list: 'product', ok: true, unreadable: null },
        { list: 'material', ok: true, unreadable: null },
      ],
    ]);
  });
});
