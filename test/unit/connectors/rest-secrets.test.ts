import { spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { rest } from '../../../connectors/rest/index.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { useRefreshTokenFile } from '../../../src/sdk/rest/refresh-token-file.ts';
import { removeFolder } from '../../support/machine/remove-folder.ts';
import { readRest } from '../../support/rest/read-rest.ts';
import { type RestCall, type RestReply, type RestServer, startRestServer } from '../../support/rest/rest-server.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(closing.splice(0).map((close) => close()));
});

async function serve(answer: (call: RestCall) => RestReply): Promise<RestServer> {
  const server = await startRestServer(answer);
  closing.push(() => server.close());
  return server;
}

const LIST = { get: 'items', rows: '$.items', page: { by: 'nextLink', next: '$.next' } };

function read({ base }: { base: string }, auth: object, more: object = {}, options: object = {}) {
  const limits = { perSecond: 1000, attempts: 1 };
  return readRest(rest, { options: { base, auth, limits, ...options }, stream: { ...LIST, ...more } });
}

const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const PEM = RSA.export({ type: 'pkcs8', format: 'pem' }).toString();

/** Kinds of logins, with the secrets of each. The token server gives `TOKEN`. */
const TOKEN = 'access-token-of-the-shop';
const wasGiven = (secret: string) => ![TOKEN, 'next-refresh-token'].includes(secret);
const KINDS: [string, (tokenUrl: string) => object, string[]][] = [
  ['bearer', () => ({ by: 'bearer', token: 'bearer-of-the-shop' }), ['bearer-of-the-shop']],
  [
    'basic',
    () => ({ by: 'basic', user: 'reader', password: 'pass-of-reader' }),
    ['pass-of-reader', Buffer.from('reader:pass-of-reader').toString('base64')],
  ],
  ['apiKey in a header', () => ({ by: 'apiKey', header: 'X-Key', key: 'key-of-the-shop' }), ['key-of-the-shop']],
  [
    'apiKey in the address',
    () => ({ by: 'apiKey', query: 'apikey', key: 'key of+the shop' }),
    ['key of+the shop', 'key%20of%2Bthe%20shop', 'key+of%2Bthe+shop'],
  ],
  [
    'client credentials',
    (tokenUrl) => ({
      by: 'oauth2',
      grant: 'client_credentials',
      tokenUrl,
      clientId: 'id',
      clientSecret: 'secret-of-it',
    }),
    ['secret-of-it', Buffer.from('id:secret-of-it').toString('base64'), TOKEN],
  ],
  [
    'a password of OAuth2',
    (tokenUrl) => ({
      by: 'oauth2',
      grant: 'password',
      tokenUrl,
      clientId: 'id',
      clientSecret: 'secret-of-it',
      client: 'body',
      user: 'reader',
      password: 'pass-of-reader',
    }),
    ['secret-of-it', 'pass-of-reader', 'next-refresh-token', TOKEN],
  ],
  [
    'a refresh token',
    (tokenUrl) => ({ by: 'oauth2', grant: 'refresh_token', tokenUrl, clientId: 'id', refreshToken: 'refresh-of-shop' }),
    ['refresh-of-shop', 'next-refresh-token', TOKEN],
  ],
  [
    'a session',
    () => ({
      by: 'session',
      login: 'token',
      body: { user: 'reader', password: 'pass-of-reader' },
      token: '$.access_token',
    }),
    ['pass-of-reader', TOKEN],
  ],
  [
    'a signed token',
    () => ({ by: 'jwt', algorithm: 'HS256', key: 'common-secret-of-both', claims: { iss: 'dpp-sync' } }),
    ['common-secret-of-both'],
  ],
  [
    'a signed token that is exchanged',
    (tokenUrl) => ({ by: 'jwt', algorithm: 'RS256', key: PEM, claims: { iss: 'dpp-sync' }, tokenUrl }),
    [PEM, TOKEN],
  ],
];

/** An answer that repeats a request, as some servers do in their errors, and the secrets in it. */
const echoOf = ({ url, headers, body }: RestCall, secrets: readonly string[]) => ({
  text: [...secrets, headers.authorization, url, JSON.stringify(body)].join(' '),
});

describe.each(KINDS)('the secrets of %s', (_, authOf, secrets) => {
  const assertHidden = (shown: object, call: RestCall | undefined) => {
    const text = JSON.stringify(shown);
    expect(secrets.filter((secret) => text.includes(secret.slice(0, 8)))).toEqual([]);
    // What was signed for one request is a secret too.
    const sent = call?.headers.authorization?.replace(/^\w+ /, '') ?? 'no login';
    expect(text).not.toContain(sent);
  };
  const tokens = (call: RestCall): RestReply | null =>
    call.path === '/token' ? { body: { access_token: TOKEN, refresh_token: 'next-refresh-token' } } : null;

  it('are in no message and no log, although the API repeats them', async () => {
    const server = await serve((call) => tokens(call) ?? { status: 403, ...echoOf(call, secrets) });
    const { error, logged, exchanges } = await read(server, authOf(`${server.base}/token`));
    expect(error?.message).toContain('was refused with 403');
    const { message, suggestion } = error ?? {};
    assertHidden({ message, suggestion, logged, exchanges }, server.calls.at(-1));
  });

  it('are in no message, although the login repeats them', async () => {
    const server = await serve((call) =>
      call.path === '/token' ? { status: 400, ...echoOf(call, secrets.filter(wasGiven)) } : { status: 401 },
    );
    const { error, logged, exchanges } = await read(server, authOf(`${server.base}/token`));
    expect(error?.message).toContain('was refused with 40');
    const { message, suggestion } = error ?? {};
    assertHidden({ message, suggestion, logged, exchanges }, server.calls.at(-1));
  });

  it.each([290, 300])('are not shown in part, where a text of the API is cut after %s characters', async (length) => {
    const server = await serve(
      (call) => tokens(call) ?? { status: 403, text: `${'x'.repeat(length)} ${secrets.at(-1)}` },
    );
    const { error } = await read(server, authOf(`${server.base}/token`));
    expect(error?.message).not.toContain(secrets.at(-1)?.slice(0, 4));
  });

  it('are not sent to another server, by a redirect or by a link', async () => {
    const other = await serve(() => ({ body: { items: [] } }));
    const server = await serve((call) => {
      if (call.path === '/redirect') return { status: 307, headers: { location: `${other.base}/items` } };
      return tokens(call) ?? { body: { items: [{ id: 1 }], next: `${other.base}/items?page=2` } };
    });
    const redirected = await read(server, authOf(`${server.base}/token`), { get: 'redirect' });
    expect(redirected.error?.message).toContain(
      `was redirected (307 to ${other.base}), and dpp-sync follows no redirect.`,
    );
    const linked = await read(server, authOf(`${server.base}/token`));
    expect(linked.error?.message).toContain(`An answer has a link to another server: ${other.base}/items.`);
    expect(linked.pages.every(({ cursor }) => cursor === undefined)).toBe(true);
    expect(other.calls).toEqual([]);
  });
});

it('secrets that stand in a request of the stream are in no message and no recorded answer, although the API repeats them', async () => {
  const server = await serve((call) => ({
    status: 400,
    text: `bad ${call.url} ${JSON.stringify([...call.query.values(), call.body, call.headers])}`,
  }));
  const { error, exchanges } = await read(
    server,
    { by: 'none' },
    {
      query: { sig: 'literal+sig 1', key: 'literal-key-2', sort: 'by-name', page_key: '{{size}}' },
      body: { login: { password: 'literal-pass-3' }, filter: ['in-stock'] },
      headers: { 'x-api-key': 'literal-api-key-4', prefer: 'count=exact' },
      page: { by: 'cursor', cursor: '$.next', size: 123456, query: { c: '{{cursor}}' } },
    },
  );
  const texts = [error?.message, ...exchanges.map(({ answer }) => answer.body)].join();
  expect(texts).not.toContain('literal');
  for (const ordinary of ['by-name', 'in-stock', 'count=exact', '123456']) expect(texts).toContain(ordinary);
});

describe('a secret that an answer has in another form', () => {
  const SECRET = 'pass/of "Jürgen" & \\co\t1';
  const json = (text: string) => JSON.stringify(text).slice(1, -1);
  const unicode = (text: string) =>
    text.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  it.each([
    ['as JSON', json(SECRET)],
    ['as JSON of PHP', unicode(json(SECRET)).replaceAll('/', '\\/')],
    ['as JSON with large digits', unicode(json(SECRET)).replaceAll('u00fc', 'u00FC')],
    ['as JSON within JSON', json(unicode(json(SECRET)).replaceAll('/', '\\/'))],
    ['in upper case', SECRET.toUpperCase()],
    ['in an address', encodeURIComponent(SECRET)],
    ['in an address within an address', encodeURIComponent(encodeURIComponent(SECRET))],
    ['as a form writes it', String(new URLSearchParams({ '': SECRET })).slice(1)],
  ])('is in no message and no recorded answer: %s', async (_, form) => {
    const server = await serve(() => ({ status: 400, text: `{"reason":"before ${form} after"}` }));
    const { error, exchanges } = await read(server, { by: 'bearer', token: SECRET });
    expect(error?.message).toContain('was refused with 400: {"reason":"before … after"}');
    expect(exchanges.map(({ answer }) => answer.body)).toEqual(['{"reason":"before … after"}']);
  });
});

it('a redirect of the login is not followed', async () => {
  const other = await serve(() => ({ body: { access_token: TOKEN } }));
  const server = await serve(() => ({ status: 302, headers: { location: `${other.base}/token` } }));
  const auth = { by: 'oauth2', grant: 'client_credentials', tokenUrl: `${server.base}/token`, clientId: 'id' };
  const { error } = await read(server, auth);
  expect(error?.message).toBe(
    `The login at ${server.base}/token was redirected (302 to ${other.base}), and dpp-sync follows no redirect.`,
  );
  expect(other.calls).toEqual([]);
});

it('a key that the server repeats in its links is in no recorded exchange and no cursor, and is sent once', async () => {
  const server = await serve(({ query, base }) =>
    query.get('page') === null
      ? { body: { items: [{ id: 1 }], next: `${base}/items?apikey=key-of-the-shop&page=2` } }
      : { body: { items: [{ id: 2 }], delta: `${base}/items?delta=7&apikey=key-of-the-shop` } },
  );
  const changes = { deltaLink: '$.delta' };
  const result = await read(
    server,
    { by: 'apiKey', query: 'apikey', key: 'key-of-the-shop' },
    { changes, reconcile: '7d' },
  );
  expect(result.error).toBeNull();
  expect(result.cursor).toMatchObject({ link: './items?delta=7' });
  expect(JSON.stringify([result.cursor, result.exchanges, result.pages])).not.toContain('key-of-the-shop');
  expect(server.calls.map(({ url }) => url)).toEqual([
    '/items?apikey=key-of-the-shop',
    '/items?page=2&apikey=key-of-the-shop',
  ]);
});

it.each(['get', 'each'])('an address in `%s` of a stream is refused, because it would get the login', (part) => {
  const path = 'https://other.example.com/items';
  const stream = part === 'get' ? { ...LIST, get: path } : { ...LIST, each: { get: path, into: 'parts' } };
  const found = rest.streamOptions.safeParse(stream).error?.issues ?? [];
  expect(found.map(({ message }) => message)).toEqual([expect.stringContaining('a path relative to `base`')]);
});

/** Another process, which says whether it can lock the file. */
const LOCK_ONCE = `
  const db = new (require('better-sqlite3'))(process.argv[1], { timeout: 0 });
  try { db.exec('BEGIN EXCLUSIVE'); console.log('free'); } catch (error) { console.log(error.code); }
`;

describe('a file with the refresh token', () => {
  async function readWith(content: string | null, refuses = false) {
    const folder = mkdtempSync(join(tmpdir(), 'dpp-refresh-'));
    closing.push(() => removeFolder(folder));
    const file = join(folder, 'refresh-token');
    if (content !== null) writeFileSync(file, content, { mode: 0o600 });
    let at = 0;
    const server = await serve((call) => {
      if (call.path !== '/token') return { body: { items: [{ id: 1 }] } };
      const asked = new URLSearchParams(typeof call.body === 'string' ? call.body : '').get('refresh_token');
      // Each refresh token is good once.
      if (refuses || asked !== `refresh-${at}`) return { status: 400, body: { error: 'invalid_grant' } };
      at += 1;
      return { body: { access_token: TOKEN, refresh_token: `refresh-${at}` } };
    });
    const auth = {
      by: 'oauth2',
      grant: 'refresh_token',
      tokenUrl: `${server.base}/token`,
      clientId: 'id',
      refreshTokenFile: file,
    };
    return { file, again: () => read(server, auth) };
  }

  it('gets each new refresh token, so that the next start can log in', async () => {
    const { file, again } = await readWith('refresh-0\n');
    for (const next of [1, 2, 3]) {
      const { error, logged } = await again();
      expect(error).toBeNull();
      expect(logged).toEqual([]);
      expect(readFileSync(file, 'utf8')).toBe(`refresh-${next}\n`);
      expect(statSync(file).mode & 0o777).toBe(0o600);
    }
  });

  it('is used by one reader at a time, so that no token is used twice', async () => {
    const { file, again } = await readWith('refresh-0\n');
    const results = await Promise.all([again(), again(), again()]);
    expect(results.map(({ error }) => error)).toEqual([null, null, null]);
    expect(readFileSync(file, 'utf8')).toBe('refresh-3\n');
    expect(statSync(`${file}.lock`).mode & 0o777).toBe(0o600);
  });

  it('that another process keeps is an error', async () => {
    const { file, again } = await readWith('refresh-0\n');
    const holder = new Database(`${file}.lock`);
    holder.exec('BEGIN EXCLUSIVE');
    let now = 0;
    vi.spyOn(systemClock, 'ticks').mockImplementation(() => now);
    vi.spyOn(systemClock, 'sleep').mockImplementation(async (ms) => void (now += ms));
    const { error } = await again();
    holder.close();
    expect(error?.message).toBe(`The file of the refresh token, ${file}, is in use by another process.`);
    expect(error?.suggestion).toContain(`\`fuser -v ${file}.lock\``);
  });

  it('stays locked for other processes while another reader of this one waits', async () => {
    const { file } = await readWith('refresh-0\n');
    const { signal } = new AbortController();
    const lockedElsewhere = () =>
      spawnSync(process.execPath, ['-e', LOCK_ONCE, `${file}.lock`], { encoding: 'utf8' }).stdout.trim();
    const found: string[] = [];
    let second = Promise.resolve('');
    const waits = new Promise<void>((resolve) => {
      vi.spyOn(systemClock, 'sleep').mockImplementation(async () => {
        resolve();
        await new Promise(setImmediate);
      });
    });
    await useRefreshTokenFile(
      file,
      async () => {
        second = useRefreshTokenFile(file, async () => ({ given: '', next: null }), signal);
        await Promise.race([waits, second]);
        found.push(lockedElsewhere());
        return { given: '', next: null };
      },
      signal,
    );
    await second;
    found.push(lockedElsewhere());
    expect(found).toEqual(['SQLITE_BUSY', 'free']);
  });

  it('keeps its token if the login fails', async () => {
    const { file, again } = await readWith('refresh-0\n', true);
    expect((await again()).error?.message).toContain('was refused with 400');
    expect(readFileSync(file, 'utf8')).toBe('refresh-0\n');
  });

  it.each([
    [null, 'does not exist'],
    ['\n', 'is empty'],
  ])('that holds no token is an error', async (content, reason) => {
    const { file, again } = await readWith(content);
    expect((await again()).error?.message).toBe(`The file of the refresh token, ${file}, ${reason}.`);
  });

  it('that cannot be replaced is an error, before the token in it is used up', async () => {
    const { file, again } = await readWith('refresh-0\n');
    // A folder in place of the file that is prepared.
    mkdirSync(`${file}.next`);
    const { error } = await again();
    expect(error?.message).toContain(`The file of the refresh token, ${file}, cannot be replaced`);
    expect(readFileSync(file, 'utf8')).toBe('refresh-0\n');
  });
});
