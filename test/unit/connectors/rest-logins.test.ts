import { createHmac, createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { rest } from '../../../connectors/rest/index.ts';
import { readRest } from '../../support/rest/read-rest.ts';
import { type RestCall, type RestReply, type RestServer, startRestServer } from '../../support/rest/rest-server.ts';
import { startTokenServer, type TokenServer } from './token-server.ts';

const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((server) => server.close()));
});

async function serve(answer: (call: RestCall) => RestReply): Promise<RestServer> {
  const server = await startRestServer(answer);
  closing.push(server);
  return server;
}

async function serveTokens(options: Parameters<typeof startTokenServer>[0] = {}): Promise<TokenServer> {
  const server = await startTokenServer(options);
  closing.push(server);
  return server;
}

const ROWS = Array.from({ length: 10 }, (_, at) => ({ id: at + 1 }));
const STREAM = {
  get: 'items',
  query: { page: '{{page}}' },
  rows: '$.items',
  page: { by: 'page', size: 2, total: '$.total' },
};
const pageOf = ({ query }: RestCall) => {
  const from = (Number(query.get('page')) - 1) * 2;
  return { body: { items: ROWS.slice(from, from + 2), total: ROWS.length } };
};

function read({ base }: { base: string }, auth: object, { stream = STREAM, ...more }: Record<string, unknown> = {}) {
  const options = { base, auth, limits: { perSecond: 1000, attempts: 2 }, ...more };
  return readRest(rest, { options, stream: stream as object });
}

const ids = ({ rows }: Awaited<ReturnType<typeof read>>) => rows.map(({ fields }) => fields['id']);
const ALL = ROWS.map(({ id }) => id);
const REFUSED = { status: 401, body: { error: 'the token is not valid' } };
const isAt = (call: RestCall, header: string, value: string) => call.headers[header] === value;

const PAIRS = {
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
};
const pemOf = (algorithm: keyof typeof PAIRS) =>
  PAIRS[algorithm].privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const COMMON_SECRET = 'a common secret of 32 characters';

function isSigned(token: string, algorithm: 'RS256' | 'ES256' | 'HS256'): boolean {
  const [head = '', claims = '', signature = ''] = token.split('.');
  const content = Buffer.from(`${head}.${claims}`);
  const given = Buffer.from(signature, 'base64url');
  if (algorithm === 'HS256') return createHmac('sha256', COMMON_SECRET).update(content).digest().equals(given);
  const key = createPublicKey(PAIRS[algorithm].publicKey.export({ type: 'spki', format: 'pem' }).toString());
  return verify('sha256', content, { key, dsaEncoding: 'ieee-p1363' }, given);
}

const CLAIMS = { iss: 'dpp-sync', aud: 'https://erp.example.com' };
const signing = (algorithm: 'RS256' | 'ES256' | 'HS256') => ({
  by: 'jwt',
  algorithm,
  key: algorithm === 'HS256' ? COMMON_SECRET : pemOf(algorithm),
  keyId: 'key-1',
  claims: CLAIMS,
});

describe('a login with a fixed secret', () => {
  const KINDS: [string, object, (call: RestCall) => boolean][] = [
    ['bearer', { by: 'bearer', token: 'shop-token-1' }, (call) => isAt(call, 'authorization', 'Bearer shop-token-1')],
    [
      'basic',
      { by: 'basic', user: 'reader', password: 'pass:wörd' },
      (call) => isAt(call, 'authorization', `Basic ${Buffer.from('reader:pass:wörd').toString('base64')}`),
    ],
    [
      'apiKey in a header',
      { by: 'apiKey', header: 'Authorization', prefix: 'token ', key: 'key:secret' },
      (call) => isAt(call, 'authorization', 'token key:secret'),
    ],
    [
      'apiKey in the address',
      { by: 'apiKey', query: 'apikey', key: 'a key+&=' },
      ({ query }) => query.get('apikey') === 'a key+&=',
    ],
  ];

  it.each(KINDS)('%s is sent with each request', async (_, auth, isLoggedIn) => {
    const server = await serve((call) => (isLoggedIn(call) ? pageOf(call) : REFUSED));
    const result = await read(server, auth);
    expect(result.error).toBeNull();
    expect(ids(result)).toEqual(ALL);
  });

  it.each(KINDS)('%s that is refused is an error at once', async (_, auth) => {
    const server = await serve(() => REFUSED);
    const { error } = await read(server, auth);
    expect(error?.message).toContain('was refused with 401');
    expect(error?.suggestion).toContain('`auth`');
    expect(server.calls).toHaveLength(1);
  });

  it('a key in the address does not change how its other parameters are written', async () => {
    const server = await serve(() => ({ body: { items: ROWS } }));
    const stream = { get: 'items', query: { $filter: 'a b' }, rows: '$.items', page: { by: 'none' } };
    await read(server, { by: 'apiKey', query: 'apikey', key: 'a key' }, { stream });
    expect(server.calls.map(({ url }) => url)).toEqual(['/items?$filter=a%20b&apikey=a%20key']);
  });
});

describe('a login with OAuth2', () => {
  const auth = (tokens: TokenServer, more: object = {}) => ({
    by: 'oauth2',
    grant: 'client_credentials',
    tokenUrl: tokens.url,
    clientId: 'dpp:sync',
    clientSecret: 'client secret+1',
    ...more,
  });
  const guarded = (tokens: TokenServer) =>
    serve((call) => (tokens.isValid(call.headers.authorization) ? pageOf(call) : REFUSED));

  it('sends the id and the secret of the client as RFC 6749 says', async () => {
    const tokens = await serveTokens();
    const result = await read(await guarded(tokens), auth(tokens, { scope: 'read', parameters: { audience: 'erp' } }));
    expect(ids(result)).toEqual(ALL);
    expect(tokens.calls).toHaveLength(1);
    expect(tokens.calls[0]?.headers.authorization).toBe(
      `Basic ${Buffer.from('dpp%3Async:client%20secret%2B1').toString('base64')}`,
    );
    expect(Object.fromEntries(tokens.forms[0] ?? [])).toEqual({
      grant_type: 'client_credentials',
      scope: 'read',
      audience: 'erp',
    });
  });

  it('sends them in the body, and the token in another header, if the server wants that', async () => {
    const tokens = await serveTokens();
    const server = await serve((call) =>
      tokens.isValid(`Bearer ${String(call.headers['x-access-token'])}`) ? pageOf(call) : REFUSED,
    );
    const result = await read(server, auth(tokens, { client: 'body', header: 'X-Access-Token', prefix: '' }));
    expect(ids(result)).toEqual(ALL);
    expect(tokens.forms[0]?.get('client_secret')).toBe('client secret+1');
    expect(tokens.calls[0]?.headers.authorization).toBeUndefined();
  });

  it('gets a new token if the server refuses the old one in the middle of a read', async () => {
    const tokens = await serveTokens();
    const server = await serve((call) => {
      if (call.query.get('page') === '3' && tokens.calls.length === 1) tokens.end();
      return tokens.isValid(call.headers.authorization) ? pageOf(call) : REFUSED;
    });
    const result = await read(server, auth(tokens));
    expect(result.error).toBeNull();
    expect(ids(result)).toEqual(ALL);
    expect(tokens.calls).toHaveLength(2);
  });

  it('asks for one new token only, although the server refuses each', async () => {
    const tokens = await serveTokens();
    const server = await serve(() => REFUSED);
    const { error, rows } = await read(server, auth(tokens));
    expect(error?.message).toContain('was refused with 401');
    expect(rows).toEqual([]);
    expect(tokens.calls).toHaveLength(2);
    expect(server.calls).toHaveLength(2);
  });

  it('shares one renewal among requests that run at once', async () => {
    const tokens = await serveTokens();
    let refused = 0;
    const server = await serve((call) => {
      if (call.path === '/items') return { body: { items: ROWS } };
      // The token ends with the first parts, so that four requests are refused together.
      if (tokens.calls.length === 1 && refused === 0) tokens.end();
      if (tokens.isValid(call.headers.authorization)) return { body: { parts: [] } };
      refused += 1;
      return REFUSED;
    });
    const stream = {
      get: 'items',
      rows: '$.items',
      page: { by: 'none' },
      each: { get: 'parts/{{row.id}}', rows: '$.parts', into: 'parts' },
    };
    const result = await read(server, auth(tokens), { stream });
    expect(result.error).toBeNull();
    expect(ids(result)).toEqual(ALL);
    expect(refused).toBeGreaterThan(1);
    expect(tokens.calls).toHaveLength(2);
  });

  it('tries again if the token endpoint is down for a moment', async () => {
    let isDown = true;
    const tokens = await serveTokens({
      refuses: () => {
        const reply = isDown ? { status: 503 } : null;
        isDown = false;
        return reply;
      },
    });
    const result = await read(await guarded(tokens), auth(tokens));
    expect(ids(result)).toEqual(ALL);
    expect(tokens.calls).toHaveLength(2);
  });

  it('says that the token endpoint is down, and asks nothing of the API', async () => {
    const tokens = await serveTokens();
    await tokens.close();
    closing.pop();
    const server = await serve(pageOf);
    const { error } = await read(server, auth(tokens));
    expect(error).toMatchObject({ code: 'source.unreadable' });
    expect(error?.message).toBe(
      `The login at ${tokens.url} failed: no server answers at this address (connection refused).`,
    );
    expect(server.calls).toHaveLength(0);
  });

  it('is an incomplete read if the token ends in the middle and the token endpoint is down', async () => {
    const tokens = await serveTokens();
    closing.splice(closing.indexOf(tokens), 1);
    let closed: Promise<void> | undefined;
    const server = await serve((call) => {
      if (call.query.get('page') !== '3') return pageOf(call);
      closed ??= tokens.close();
      return REFUSED;
    });
    const { error, pages } = await read(server, auth(tokens));
    await closed;
    expect(error?.message).toContain(`The login at ${tokens.url} failed`);
    expect(pages.every(({ cursor }) => cursor === undefined)).toBe(true);
  });

  it('does not repeat a login that is refused', async () => {
    const tokens = await serveTokens({ refuses: () => ({ status: 401, body: { error: 'invalid_client' } }) });
    const { error } = await read(await serve(pageOf), auth(tokens));
    expect(error?.message).toContain(`The login at ${tokens.url} was refused with 401`);
    expect(tokens.calls).toHaveLength(1);
  });

  it('does not send the headers of the API to another server', async () => {
    const tokens = await serveTokens();
    await read(await guarded(tokens), auth(tokens), { headers: { 'X-Shop': 'a secret of the shop' } });
    expect(tokens.calls[0]?.headers['x-shop']).toBeUndefined();
  });

  it('with a password uses the refresh token of the answer, and the password if that one has ended', async () => {
    const tokens = await serveTokens({
      rotates: true,
      refuses: (form) =>
        form.get('refresh_token') === 'refresh-2-of-the-shop'
          ? { status: 400, body: { error: 'invalid_grant' } }
          : null,
    });
    const server = await serve((call) => {
      const page = Number(call.query.get('page'));
      // The token ends before the pages 2 and 4.
      if (page % 2 === 0 && tokens.calls.length === page / 2) tokens.end();
      return tokens.isValid(call.headers.authorization) ? pageOf(call) : REFUSED;
    });
    const result = await read(server, auth(tokens, { grant: 'password', user: 'reader', password: 'pass-word' }));
    expect(result.error).toBeNull();
    expect(ids(result)).toEqual(ALL);
    expect(tokens.forms.map((form) => form.get('grant_type'))).toEqual([
      'password',
      'refresh_token',
      'refresh_token',
      'password',
    ]);
  });

  it('with a refresh token uses each new one, and warns that the config has the former one', async () => {
    const tokens = await serveTokens({ rotates: true });
    const server = await serve((call) => {
      if (call.query.get('page') === '3' && tokens.calls.length === 1) tokens.end();
      return tokens.isValid(call.headers.authorization) ? pageOf(call) : REFUSED;
    });
    const login = auth(tokens, { grant: 'refresh_token', refreshToken: 'refresh-0-of-the-shop' });
    const result = await read(server, login);
    expect(ids(result)).toEqual(ALL);
    expect(tokens.forms.map((form) => form.get('refresh_token'))).toEqual([
      'refresh-0-of-the-shop',
      'refresh-1-of-the-shop',
    ]);
    expect(result.logged.join()).toContain('`auth.refreshTokenFile`');
  });
});

describe('a login with a session', () => {
  const login = {
    by: 'session',
    login: 'login',
    body: { user: 'reader', password: 'pass-word' },
    token: '$.session.token',
    header: 'X-Session',
    prefix: 'id=',
  };

  it('sends the token of the login, and logs in again when the session has ended', async () => {
    let session = 0;
    const server = await serve((call) => {
      if (call.path === '/login') {
        expect(call.body).toEqual(login.body);
        session += 1;
        return { body: { session: { token: `session-${session}` } } };
      }
      if (call.query.get('page') === '4' && session === 1) return REFUSED;
      return isAt(call, 'x-session', `id=session-${session}`) ? pageOf(call) : REFUSED;
    });
    const result = await read(server, login);
    expect(result.error).toBeNull();
    expect(ids(result)).toEqual(ALL);
    expect(session).toBe(2);
  });

  it('takes an answer that is only the token', async () => {
    const server = await serve((call) => {
      if (call.path === '/login') return { body: 'session-1' };
      return isAt(call, 'authorization', 'Bearer session-1') ? pageOf(call) : REFUSED;
    });
    const { header: _, prefix: __, ...plain } = login;
    expect(ids(await read(server, { ...plain, token: '$' }))).toEqual(ALL);
  });

  it('says what the answer has in place of a token', async () => {
    const server = await serve(() => ({ body: { error: 'wrong password', code: 7 } }));
    const { error } = await read(server, login);
    expect(error?.message).toBe(`The answer of the login at ${server.base}/login has no token. It has error, code.`);
  });

  it('refuses a login at another server', () => {
    const options = rest.options.safeParse({
      base: 'https://erp.example.com',
      auth: { ...login, login: 'https://other.example.com/login' },
    });
    expect(options.error?.issues[0]?.message).toContain('a path relative to `base`');
  });
});

describe.each(['RS256', 'ES256', 'HS256'] as const)('a login with a token signed by %s', (algorithm) => {
  it('sends the token itself', async () => {
    const server = await serve((call) => {
      const token = call.headers.authorization?.replace('Bearer ', '') ?? '';
      return isSigned(token, algorithm) ? pageOf(call) : REFUSED;
    });
    const result = await read(server, signing(algorithm));
    expect(result.error).toBeNull();
    expect(ids(result)).toEqual(ALL);
    const [head = '', claims = ''] = (server.calls[0]?.headers.authorization ?? '').replace('Bearer ', '').split('.');
    const parsed = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, number>;
    expect(parsed(head)).toEqual({ alg: algorithm, typ: 'JWT', kid: 'key-1' });
    expect(parsed(claims)).toMatchObject(CLAIMS);
    const { iat = 0, exp = 0 } = parsed(claims);
    expect(exp - iat).toBe(330);
  });

  it('signs another one if the server refuses the former one in the middle of a read', async () => {
    const known: string[] = [];
    const server = await serve((call) => {
      const token = call.headers.authorization ?? '';
      if (!known.includes(token)) known.push(token);
      return call.query.get('page') === '3' && known.length === 1 ? REFUSED : pageOf(call);
    });
    const result = await read(server, signing(algorithm));
    expect(result.error).toBeNull();
    expect(ids(result)).toEqual(ALL);
    expect(known).toHaveLength(2);
  });

  it('exchanges it for an access token, with another signed token each time', async () => {
    const tokens = await serveTokens({
      refuses: (form) =>
        isSigned(form.get('assertion') ?? '', algorithm) ? null : { status: 400, body: { error: 'invalid_grant' } },
    });
    const server = await serve((call) => {
      if (call.query.get('page') === '3' && tokens.calls.length === 1) tokens.end();
      return tokens.isValid(call.headers.authorization) ? pageOf(call) : REFUSED;
    });
    const result = await read(server, { ...signing(algorithm), tokenUrl: tokens.url, scope: 'read' });
    expect(result.error).toBeNull();
    expect(ids(result)).toEqual(ALL);
    expect(tokens.forms[0]?.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    expect(tokens.forms[0]?.get('scope')).toBe('read');
    expect(new Set(tokens.forms.map((form) => form.get('assertion'))).size).toBe(2);
  });
});

it.each([
  ['RS256', pemOf('ES256'), 'is a key of the type prime256v1, which cannot sign with RS256'],
  ['ES256', pemOf('RS256'), 'is a key of the type rsa, which cannot sign with ES256'],
  ['RS256', 'no key at all', 'is not a private key in PEM form without a passphrase'],
])('refuses a key that cannot sign with %s', async (algorithm, key, reason) => {
  const { error } = await read(await serve(pageOf), { by: 'jwt', algorithm, key, claims: CLAIMS });
  expect(error?.message).toBe(`\`auth.key\` ${reason}.`);
});

it.each([
  ['a refresh token for client credentials', { grant: 'client_credentials', refreshToken: 'x' }],
  ['no password', { grant: 'password', user: 'reader' }],
  ['two refresh tokens', { grant: 'refresh_token', refreshToken: 'x', refreshTokenFile: 'file' }],
])('refuses OAuth2 with %s', (_, more) => {
  const auth = { by: 'oauth2', tokenUrl: 'https://login.example.com/token', clientId: 'dpp-sync', ...more };
  const { error } = rest.options.safeParse({ base: 'https://erp.example.com', auth });
  expect(error?.issues.map(({ path }) => path)).toEqual([['auth', 'grant']]);
});

it.each([
  ['answerMs', { answerMs: 100 }, 'was not complete after 100 ms (`limits.answerMs`)', 2],
  ['answerBytes', { answerBytes: 20 }, 'has more than 20 bytes', 1],
])('an answer with a token keeps to limits.%s, although the server is not silent', async (_name, own, text, tries) => {
  const server = await serve(() => ({ unfinished: '{"access_token":"never comes to its end' }));
  const auth = { by: 'oauth2', grant: 'client_credentials', tokenUrl: `${server.base}/token`, clientId: 'id' };
  const limits = { perSecond: 1000, attempts: 2, ...own };
  const { error } = await read(server, auth, { limits });
  expect(error?.message).toContain(text);
  expect(error?.message).toContain(`a token at ${server.base}`);
  expect(server.calls).toHaveLength(tries);
});
