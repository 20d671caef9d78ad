import { createHmac, createPrivateKey, type KeyObject, randomUUID, sign } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Fault } from '../../lib/errors.ts';
import { isJsonObject, type JsonValue, memberOf } from '../../lib/json.ts';
import { sourceFault } from '../connector.ts';
import { type PathStep, valueAt } from '../document-path.ts';
import type { RestAuth } from './auth-options.ts';
import { textOf } from './placeholders.ts';
import { useRefreshTokenFile } from './refresh-token-file.ts';

/** What is added to a request to log in. */
export interface Credentials {
  headers: Record<string, string>;
  query: Record<string, string>;
  /** Members of the JSON body. */
  body?: JsonValue;
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
  resolvePath: (path: string) => string;
  warn: (text: string) => void;
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
      return fixed(header('authorization', `Basic ${pairOf(auth.user, auth.password)}`), [
        auth.password,
        pairOf(auth.user, auth.password),
      ]);
    case 'apiKey': {
      const key = `${auth.prefix}${auth.key}`;
      if (auth.body !== undefined) {
        const body = auth.body.reduceRight<JsonValue>((inner, step) => ({ [String(step)]: inner }), key);
        return fixed({ headers: {}, query: {}, body }, [auth.key]);
      }
      if (auth.query === undefined) return fixed(header(auth.header ?? '', key), [auth.key]);
      return fixed({ headers: {}, query: { [auth.query]: key } }, [auth.key]);
    }
    case 'oauth2':
      return withToken(createOAuth(auth, tools), (token) => header(auth.header, `${auth.prefix}${token}`), hide);
    case 'session':
      return withToken(createSession(auth, tools), (token) => header(auth.header, `${auth.prefix}${token}`), hide);
    case 'jwt':
      return withToken(createSigned(auth, tools), (token) => header('authorization', `Bearer ${token}`), hide);
  }
}

function withToken(
  get: TokenSource,
  credentialsOf: (token: string) => Credentials,
  hide: (secret: string) => void,
): Login {
  const kept = keepToken(async (signal) => {
    const token = await get(signal);
    hide(token.value);
    return token;
  });
  return {
    credentials: async (signal) => credentialsOf((await kept.current(signal)).value),
    async renew(refused, signal) {
      await kept.afterRefusal(({ value }) => isDeepStrictEqual(credentialsOf(value), refused), signal);
      return true;
    },
  };
}

function createOAuth(auth: RestAuth & { by: 'oauth2' }, tools: LoginTools): TokenSource {
  const { grant, clientId, clientSecret, client, scope, parameters, json, lifetime, refreshTokenFile } = auth;
  // RFC 6749, section 2.3.1: the id and the secret are encoded before they are joined.
  const pair = pairOf(encodeURIComponent(clientId), encodeURIComponent(clientSecret ?? ''));
  for (const secret of [clientSecret, auth.password, auth.refreshToken]) if (secret !== undefined) tools.hide(secret);
  if (clientSecret !== undefined) tools.hide(pair);
  const url = new URL(auth.tokenUrl);
  let refreshToken = auth.refreshToken ?? null;

  /** The token of the answer, and the refresh token for the next request; null if the answer has none. */
  async function ask(
    fields: Record<string, string>,
    signal: AbortSignal,
  ): Promise<{ given: Token; next: string | null }> {
    const own = clientSecret === undefined ? {} : { client_secret: clientSecret };
    const all = {
      ...fields,
      ...(scope === undefined ? {} : { scope }),
      ...parameters,
      // A public client has no secret with which it could log in.
      ...(client === 'body' || clientSecret === undefined ? { client_id: clientId, ...own } : {}),
    };
    const headers = client === 'basic' && clientSecret !== undefined ? { authorization: `Basic ${pair}` } : {};
    const request = json ? { json: all, headers } : { form: new URLSearchParams(all), headers };
    const answer = await tools.post(url, request, signal);
    const given = tokenIn(answer, { at: ['access_token'], url, lifetime });
    const next = isJsonObject(answer) ? memberOf(answer, 'refresh_token') : undefined;
    if (typeof next !== 'string' || next === '') return { given, next: null };
    tools.hide(next);
    return { given, next };
  }

  async function first(signal: AbortSignal): Promise<Token> {
    const isPassword = grant === 'password';
    const { given, next } = isPassword
      ? await ask({ grant_type: grant, username: auth.user ?? '', password: auth.password ?? '' }, signal)
      : await ask({ grant_type: 'client_credentials' }, signal);
    if (isPassword) refreshToken = next;
    return given;
  }

  const refresh = (token: string, signal: AbortSignal) =>
    ask({ grant_type: 'refresh_token', refresh_token: token }, signal);

  async function refreshed(token: string, signal: AbortSignal): Promise<Token> {
    const { given, next } = await refresh(token, signal);
    if (next === null || next === token) return given;
    if (grant === 'refresh_token') {
      tools.warn(
        `The login at ${url.origin}${url.pathname} has given a new refresh token, and the config has the former one, which may no longer be valid at the next start. Put it into a file, and name the file as \`auth.refreshTokenFile\`: dpp-sync writes each new one there.`,
      );
    }
    refreshToken = next;
    return given;
  }

  return async (signal) => {
    if (refreshTokenFile !== undefined) {
      const use = async (token: string) => {
        tools.hide(token);
        return await refresh(token, signal);
      };
      return await useRefreshTokenFile(tools.resolvePath(refreshTokenFile), use, signal);
    }
    if (refreshToken === null) return await first(signal);
    if (grant === 'refresh_token') return await refreshed(refreshToken, signal);
    try {
      return await refreshed(refreshToken, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Fault)) throw error;
      // The refresh token may have ended too. If the login itself fails, its own error says so.
      return await first(signal);
    }
  };
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

function createSigned(auth: RestAuth & { by: 'jwt' }, { post, hide }: LoginTools): TokenSource {
  hide(auth.key);
  const { lifetime, tokenUrl, scope } = auth;
  return async (signal) => {
    const assertion = signToken(auth);
    if (tokenUrl === undefined) return { value: assertion, endsAt: endOfToken(lifetime) };
    hide(assertion);
    const url = new URL(tokenUrl);
    const form = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion });
    if (scope !== undefined) form.set('scope', scope);
    return tokenIn(await post(url, { form }, signal), { at: ['access_token'], url, lifetime: undefined });
  };
}

function tokenIn(
  answer: JsonValue,
  { at, url, lifetime }: { at: readonly PathStep[]; url: URL; lifetime: number | undefined },
): Token {
  const value = valueAt(answer, at);
  if ((typeof value !== 'string' && typeof value !== 'number') || value === '') {
    const members = isJsonObject(answer) ? Object.keys(answer).join(', ') : 'no object';
    throw sourceFault(`The answer of the login at ${url.origin}${url.pathname} has no token. It has ${members}.`, {
      suggestion: 'Check `auth` in the options of the source.',
    });
  }
  const seconds = isJsonObject(answer) ? Number(memberOf(answer, 'expires_in')) : Number.NaN;
  const validMs = seconds > 0 ? seconds * 1_000 : (lifetime ?? Number.POSITIVE_INFINITY);
  return { value: textOf(value), endsAt: endOfToken(validMs) };
}

/** The user and the password as Basic authentication sends them. */
function pairOf(user: string, password: string): string {
  return Buffer.from(`${user}:${password}`).toString('base64');
}

/** A token that a login has given. */
interface Token {
  value: string;
  /** When it ends, on the monotonic clock; infinite if that is not known. */
  endsAt: number;
}

type TokenSource = (signal: AbortSignal) => Promise<Token>;

/** A token is renewed this long before it ends. */
const EARLY_MS = 60_000;

/** Keeps a token until shortly before its end. Requests that run at once share one request for a token. */
export function keepToken(get: TokenSource) {
  let kept: Promise<Token> | null = null;
  const renewed = (signal: AbortSignal): Promise<Token> => {
    const asked = get(signal);
    kept = asked;
    asked.catch(() => {
      if (kept === asked) kept = null;
    });
    return asked;
  };
  /** The kept token, or the next one if the kept one cannot be used. The next token is not asked again, so this ends. */
  const usable = async (isUsedUp: (token: Token) => boolean, signal: AbortSignal): Promise<Token> => {
    const asked = kept ?? renewed(signal);
    const token = await asked;
    if (!isUsedUp(token)) return token;
    // Another request may have asked for the next token while this one waited.
    return await (kept === null || kept === asked ? renewed(signal) : kept);
  };
  return {
    current: (signal: AbortSignal): Promise<Token> =>
      usable(({ endsAt }) => performance.now() > endsAt - EARLY_MS, signal),
    /** Gives a token other than the one that the server has refused. */
    afterRefusal: (isRefused: (token: Token) => boolean, signal: AbortSignal): Promise<Token> =>
      usable(isRefused, signal),
  };
}

/** When a token ends. One that is valid for a short time is used for the first half of it. */
function endOfToken(validMs: number): number {
  return performance.now() + Math.max(validMs, EARLY_MS + validMs / 2);
}

type SignedBy = RestAuth & { by: 'jwt' };

/** Servers whose clocks are behind refuse a token of the future. */
const SECONDS_BACK = 30;

/** Signs a JSON Web Token (RFC 7519). Each token has an id of its own, because some servers accept an id only once. */
function signToken(auth: SignedBy): string {
  const { algorithm, keyId, claims, lifetime } = auth;
  const now = Math.floor(Date.now() / 1_000);
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const head = { alg: algorithm, typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) };
  const times = { iat: now - SECONDS_BACK, exp: now + Math.floor(lifetime / 1_000) };
  const content = `${part(head)}.${part({ jti: randomUUID(), ...claims, ...times })}`;
  return `${content}.${signatureOf(content, auth)}`;
}

function signatureOf(content: string, { algorithm, key }: SignedBy): string {
  if (algorithm === 'HS256') return createHmac('sha256', key).update(content).digest('base64url');
  const privateKey = privateKeyOf(key, algorithm);
  return sign('sha256', Buffer.from(content), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url');
}

function privateKeyOf(key: string, algorithm: 'RS256' | 'ES256'): KeyObject {
  const wanted = algorithm === 'RS256' ? 'an RSA key' : 'a key of the curve P-256';
  let found: KeyObject;
  try {
    found = createPrivateKey(key);
  } catch {
    // The error of the library may show parts of the key, so it is not passed on.
    throw unfit('is not a private key in PEM form without a passphrase', wanted);
  }
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = found;
  const fits = algorithm === 'RS256' ? type === 'rsa' : type === 'ec' && details?.namedCurve === 'prime256v1';
  if (fits) return found;
  throw unfit(`is a key of the type ${details?.namedCurve ?? type}, which cannot sign with ${algorithm}`, wanted);
}

function unfit(reason: string, wanted: string): Error {
  return sourceFault(`\`auth.key\` ${reason}.`, {
    suggestion: `Give ${wanted} in PEM form, or correct \`auth.algorithm\`.`,
  });
}
