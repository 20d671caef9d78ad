import { createHmac, createSign } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { JsonValue } from '../../lib/json.ts';
import { isJsonObject, memberOf } from '../../lib/json.ts';
import { sourceFault } from '../connector.ts';
import { valueAt } from '../document-path.ts';
import { textOf } from './placeholders.ts';
import type { RestAuth } from './rest-options.ts';

/** What is added to a request to log in. */
export interface Credentials {
  headers: Record<string, string>;
  query: Record<string, string>;
}

interface Login {
  credentials(signal: AbortSignal): Promise<Credentials>;
  /** Gets a new token after the server has refused these credentials. False if the login has no token that can be renewed. */
  renew(refused: Credentials, signal: AbortSignal): Promise<boolean>;
}

interface LoginTools {
  base: URL;
  post: (
    url: URL,
    request: { json?: JsonValue; form?: URLSearchParams; headers?: Record<string, string> },
    signal: AbortSignal,
  ) => Promise<JsonValue>;
  /** Removes a secret from all later messages. */
  hide: (secret: string) => void;
}

/** A token is renewed this long before it ends. */
const EARLY_MS = 60_000;

interface Token {
  value: string;
  /** On the monotonic clock; infinite if the answer does not say how long the token is valid. */
  endsAt: number;
}

/** Logs in to a REST source. */
export function createLogin(auth: RestAuth, tools: LoginTools): Login {
  const { hide } = tools;
  const header = (name: string, value: string): Credentials => ({ headers: { [name]: value }, query: {} });
  const fixed = (credentials: Credentials, secrets: readonly string[]): Login => {
    secrets.forEach(hide);
    return { credentials: async () => credentials, renew: async () => false };
  };
  switch (auth.by) {
    case 'none':
      return fixed({ headers: {}, query: {} }, []);
    case 'bearer':
      return fixed(header('authorization', `Bearer ${auth.token}`), [auth.token]);
    case 'basic':
      return fixed(header('authorization', basicOf(auth.user, auth.password)), [
        auth.password,
        basicOf(auth.user, auth.password),
      ]);
    case 'apiKey': {
      if (auth.query === undefined) return fixed(header(auth.header ?? '', `${auth.prefix}${auth.key}`), [auth.key]);
      const query = { [auth.query]: `${auth.prefix}${auth.key}` };
      return fixed({ headers: {}, query }, [auth.key, encodeURIComponent(auth.key)]);
    }
    case 'oauth2':
      return withToken(createOAuth(auth, tools), (token) => header('authorization', `Bearer ${token}`), hide);
    case 'session':
      return withToken(createSession(auth, tools), (token) => header(auth.header, `${auth.prefix}${token}`), hide);
    case 'jwt':
      return withToken(createSigned(auth, tools), (token) => header('authorization', `Bearer ${token}`), hide);
  }
}

type TokenSource = (signal: AbortSignal) => Promise<Token>;

/** Keeps a token until shortly before its end. Requests that run at once share one request for a token. */
function withToken(
  get: TokenSource,
  credentialsOf: (token: string) => Credentials,
  hide: (secret: string) => void,
): Login {
  let kept: Promise<Token> | null = null;
  const renewed = (signal: AbortSignal): Promise<Token> => {
    const asked = get(signal).then((token) => {
      hide(token.value);
      return token;
    });
    kept = asked;
    asked.catch(() => {
      if (kept === asked) kept = null;
    });
    return asked;
  };
  return {
    async credentials(signal) {
      let token = await (kept ?? renewed(signal));
      if (performance.now() > token.endsAt - EARLY_MS) token = await renewed(signal);
      return credentialsOf(token.value);
    },
    async renew(refused, signal) {
      const token = await kept;
      // Requests that ran at once are refused together, and need one new token.
      const isNew = token !== null && !isDeepStrictEqual(credentialsOf(token.value), refused);
      if (!isNew) await renewed(signal);
      return true;
    },
  };
}

function createOAuth(auth: RestAuth & { by: 'oauth2' }, { post, hide }: LoginTools): TokenSource {
  const { grant, clientId, clientSecret = '', client, scope, parameters, json, lifetime } = auth;
  for (const secret of [auth.clientSecret, auth.password, auth.refreshToken, basicOf(clientId, clientSecret)]) {
    if (secret !== undefined) hide(secret);
  }
  let refreshToken = auth.refreshToken;
  const url = new URL(auth.tokenUrl);
  const ask = async (fields: Record<string, string>, signal: AbortSignal): Promise<Token> => {
    const all = {
      ...fields,
      ...(scope === undefined ? {} : { scope }),
      ...parameters,
      ...(client === 'body'
        ? { client_id: clientId, ...(clientSecret === '' ? {} : { client_secret: clientSecret }) }
        : {}),
    };
    const headers = client === 'basic' ? { authorization: basicOf(clientId, clientSecret) } : {};
    const answer = await post(url, json ? { json: all, headers } : { form: new URLSearchParams(all), headers }, signal);
    const token = tokenIn(answer, { name: 'access_token', url, lifetime });
    const next = isJsonObject(answer) ? memberOf(answer, 'refresh_token') : undefined;
    if (typeof next === 'string' && next !== '') {
      hide(next);
      refreshToken = next;
    }
    return token;
  };
  const first = (signal: AbortSignal): Promise<Token> =>
    grant === 'password'
      ? ask({ grant_type: 'password', username: auth.user ?? '', password: auth.password ?? '' }, signal)
      : ask({ grant_type: 'client_credentials' }, signal);
  return async (signal) => {
    if (grant === 'client_credentials' || refreshToken === undefined) return await first(signal);
    const refresh = ask({ grant_type: 'refresh_token', refresh_token: refreshToken }, signal);
    if (grant === 'refresh_token') return await refresh;
    return await refresh.catch((error: unknown) => {
      signal.throwIfAborted();
      // The refresh token may have ended too. If the login is wrong, the next request says so.
      if (!isSourceFault(error)) throw error;
      refreshToken = undefined;
      return first(signal);
    });
  };
}

function isSourceFault(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'source.unreadable';
}

function createSession(auth: RestAuth & { by: 'session' }, { base, post, hide }: LoginTools): TokenSource {
  for (const secret of [...Object.values(auth.body), ...Object.values(auth.query)]) hide(secret);
  const url = new URL(auth.login.replace(/^\/+/, ''), base);
  for (const [name, value] of Object.entries(auth.query)) url.searchParams.set(name, value);
  return async (signal) => {
    const answer = await post(url, { json: auth.body }, signal);
    return tokenIn(answer, { at: auth.token, url, lifetime: auth.lifetime });
  };
}

const CLAIM_SECONDS_BACK = 30;

function createSigned(auth: RestAuth & { by: 'jwt' }, { post, hide }: LoginTools): TokenSource {
  hide(auth.key);
  const { algorithm, keyId, claims, lifetime, tokenUrl, scope } = auth;
  return async (signal) => {
    const now = Math.floor(Date.now() / 1_000);
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const head = { alg: algorithm, typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) };
    const times = { iat: now - CLAIM_SECONDS_BACK, exp: now + Math.floor(lifetime / 1_000) };
    const content = `${part(head)}.${part({ ...claims, ...(scope === undefined ? {} : { scope }), ...times })}`;
    const assertion = `${content}.${signatureOf(content, auth)}`;
    if (tokenUrl === undefined) return { value: assertion, endsAt: endOf(lifetime) };
    hide(assertion);
    const url = new URL(tokenUrl);
    const form = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion });
    return tokenIn(await post(url, { form }, signal), { name: 'access_token', url, lifetime: undefined });
  };
}

function signatureOf(content: string, { algorithm, key }: RestAuth & { by: 'jwt' }): string {
  if (algorithm === 'HS256') return createHmac('sha256', key).update(content).digest('base64url');
  try {
    return createSign('sha256').update(content).sign({ key, dsaEncoding: 'ieee-p1363' }, 'base64url');
  } catch {
    // The error of the library may show parts of the key.
    throw sourceFault('The private key in `auth.key` cannot sign.', {
      suggestion: `Give a private key in PEM form that fits ${algorithm}.`,
    });
  }
}

function tokenIn(
  answer: JsonValue,
  {
    name,
    at,
    url,
    lifetime,
  }: { name?: string; at?: Parameters<typeof valueAt>[1]; url: URL; lifetime: number | undefined },
): Token {
  const value = valueAt(answer, at ?? [name ?? '']);
  if ((typeof value !== 'string' && typeof value !== 'number') || value === '') {
    const members = isJsonObject(answer) ? Object.keys(answer).join(', ') : 'no object';
    throw sourceFault(`The answer of the login at ${url.origin}${url.pathname} has no token. It has ${members}.`, {
      suggestion: 'Check `auth` in the options of the source.',
    });
  }
  const seconds = isJsonObject(answer) ? Number(memberOf(answer, 'expires_in')) : Number.NaN;
  const validMs = seconds > 0 ? seconds * 1_000 : (lifetime ?? Number.POSITIVE_INFINITY);
  return { value: textOf(value), endsAt: endOf(validMs) };
}

/** When a token ends. One that is valid for a short time is used for the first half of it. */
function endOf(validMs: number): number {
  return performance.now() + Math.max(validMs, EARLY_MS + validMs / 2);
}

function basicOf(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}
