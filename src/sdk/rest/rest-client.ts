import type { Readable } from 'node:stream';
import { Agent, request as send } from 'undici';
import { fullJitterMs, systemClock } from '../../lib/clock.ts';
import { Fault } from '../../lib/errors.ts';
import { sha256Url } from '../../lib/hash.ts';
import { type JsonValue, parseExactly, type RepeatedName, repeatedNames } from '../../lib/json.ts';
import { isLoopback } from '../../lib/loopback.ts';
import { type AnswerHeaders, throttledForMs } from '../../lib/retry-after.ts';
import { formatPeriod } from '../../lib/text/amounts.ts';
import { isSecretIn } from '../../lib/text/repeated-secrets.ts';
import { isSecretName } from '../../lib/text/secret-names.ts';
import { withAnySignal } from '../../lib/with-any-signal.ts';
import { type ConnectorHost, sourceFault } from '../connector.ts';
import { createServerFaults } from '../files/servers/connection.ts';
import { decodings, withoutParameters, withParameters } from './address-parameters.ts';
import { createAnswerFaults, isRedirect, type RawAnswer, refusalIn, textIn } from './answer-faults.ts';
import { headersToRecord, recordedFile } from './exchange.ts';
import { createRequestPace } from './request-pace.ts';
import { mergeParts } from './request-parts.ts';
import { type Credentials, createLogin } from './rest-auth.ts';
import type { RestSource, RestStream } from './rest-options.ts';
import { SECRET_LENGTH_MIN } from './written-secrets.ts';

/** A request to the API. */
export interface RestRequest {
  method: 'GET' | 'POST';
  url: URL;
  body?: JsonValue | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** What is requested, for errors: `page 3 of products`. */
  what: string;
  onError: RestStream['onError'];
  /** Statuses besides the good ones that the caller handles. */
  accepts?: readonly number[];
  /** What else may help if the server cannot answer, for errors. */
  hint?: string | undefined;
}

export interface RestAnswer {
  status: number;
  headers: AnswerHeaders;
  document: JsonValue;
  /** The objects of the document that have a name twice. */
  repeated: readonly RepeatedName[];
  bytes: number;
  url: URL;
}

/** An answer that did not come, or did not come completely, after all attempts. */
export class Unavailable extends Error {
  readonly fault: Error;
  constructor(fault: Error) {
    super(fault.message);
    this.fault = fault;
  }
}

interface ClientTools extends Pick<ConnectorHost, 'onExchange' | 'resolvePath' | 'hasSecret'> {
  /** Gives the operator a message about something that the read does not depend on. */
  warn: (text: string) => void;
}

const BACKOFF = { baseMs: 1_000, capMs: 60_000 };
/** Answers that say nothing about the request, so that the same request may succeed later. */
const PASSING = new Set([408, 425, 500, 502, 503, 504]);

/** Sends the requests of one REST source: logged in, at its pace, again where that helps, and never to another server. */
export function createRestClient(
  options: Pick<RestSource, 'base' | 'auth' | 'headers' | 'limits' | 'ca' | 'failure'>,
  { onExchange, resolvePath, hasSecret, warn }: ClientTools,
) {
  const { limits } = options;
  const failures = [options.failure ?? []].flat();
  const base = new URL(options.base.endsWith('/') ? options.base : `${options.base}/`);
  // A short value, such as `1`, is no secret, and would be removed from the middle of words.
  const hidden = Object.values(options.headers).filter(({ length }) => length >= SECRET_LENGTH_MIN);
  const faults = createServerFaults(base.origin, hidden, '`ca` in the options of the source');
  const secrets = new Set(
    Object.entries(options.headers).flatMap(([name, value]) => (isSecretName(name) ? value : [])),
  );
  const hideSecret = (secret: string): void => {
    secrets.add(secret);
    faults.hide(secret);
  };
  const { shown, refusal, redirected, elsewhere, nothing } = createAnswerFaults(base, faults);
  const pace = createRequestPace(limits);
  const { idleMs } = limits;
  const agent = new Agent({
    connect: { timeout: Math.min(idleMs, 30_000), ...(options.ca === undefined ? {} : { ca: options.ca }) },
    headersTimeout: idleMs,
    bodyTimeout: idleMs,
    connections: limits.concurrent,
  });
  const login = createLogin(options.auth, { base, post: postForToken, hide: hideSecret, resolvePath, warn });
  const loginParameters = options.auth.by === 'apiKey' ? [options.auth.query ?? []].flat() : [];

  /** The answer to one attempt, with its text. */
  async function once(request: RestRequest, loggedIn: Credentials, signal: AbortSignal): Promise<RawAnswer> {
    if (request.url.origin !== base.origin) throw elsewhere(request.url);
    const url = withParameters(request.url, loggedIn.query);
    const textOfBody = (login?: JsonValue) =>
      request.body === undefined ? null : JSON.stringify(mergeParts(request.body, login));
    const body = textOfBody(loggedIn.body);
    const answer = await pace.run(
      () =>
        withinTime(signal, request.what, async (signal) => {
          const {
            statusCode: status,
            headers,
            body: stream,
          } = await send(url, {
            dispatcher: agent,
            method: request.method,
            headers: {
              ...ASKED,
              ...(body === null ? {} : { 'content-type': 'application/json' }),
              ...options.headers,
              ...request.headers,
              ...loggedIn.headers,
            },
            body,
            signal,
          });
          return {
            status,
            headers,
            text: await textIn(stream, { what: request.what, bytesMax: limits.answerBytes, fatal: isGood(status) }),
          };
        }),
      signal,
    );
    const { status, headers, text } = answer;
    const { pathname, search } = request.url;
    onExchange?.({
      request: { method: request.method, origin: base.origin, path: `${pathname}${search}`, body: textOfBody() ?? '' },
      answer: { status, headers: headersToRecord(headers), body: faults.clean(text) },
    });
    return answer;
  }

  /** Does work that ends with an error if it takes too long: a server that sends a byte now and then is never silent. */
  async function withinTime<T>(
    signal: AbortSignal,
    what: string,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const tooLong = AbortSignal.timeout(limits.answerMs);
    try {
      return await withAnySignal([signal, tooLong], work);
    } catch (error) {
      if (signal.aborted || !tooLong.aborted) throw error;
      throw new Error(`the answer for ${what} was not complete after ${limits.answerMs} ms (\`limits.answerMs\`)`);
    }
  }

  /** Sends a request until there is an answer to it, within the limits. */
  async function request(asked: RestRequest, signal: AbortSignal): Promise<RestAnswer> {
    const what = `The request for ${asked.what}`;
    let failed = 0;
    let refusedAt: number | null = null;
    let hasNewLogin = false;
    const later = async (waitMs: number, reason: string): Promise<void> => {
      const now = systemClock.ticks();
      // The waits for the pace count too, because refusals make it slower.
      refusedAt ??= now;
      if (now - refusedAt + pace.waitAfterRefusal(waitMs) > limits.wait) {
        throw faults.refused(
          `${what} was refused because of too many requests (${reason}), and the waits would be longer than ${formatPeriod(limits.wait)} in all (\`limits.wait\`).`,
          'Lower `limits.perSecond` in the options of the source, or ask the owner of the API for a higher limit.',
        );
      }
      // Not before: other requests of this source would wait as well.
      pace.refused(waitMs);
      await systemClock.sleep(waitMs, signal);
    };
    const again = async (fault: Error): Promise<void> => {
      failed += 1;
      if (failed >= limits.attempts || asked.onError !== 'retry') throw new Unavailable(fault);
      await systemClock.sleep(fullJitterMs(failed, BACKOFF, Math.random()), signal);
    };
    for (;;) {
      signal.throwIfAborted();
      const credentials = await login.credentials(signal);
      let answer: RawAnswer;
      try {
        answer = await once(asked, credentials, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof Fault || error instanceof Unavailable) throw error;
        await again(faults.of(`${what} at ${base.origin} failed`, error));
        continue;
      }
      const { status, headers, text } = answer;
      if (status === 429 || (status === 503 && headers['retry-after'] !== undefined)) {
        await later(throttledForMs(headers, Date.now()) ?? fullJitterMs(5, BACKOFF, 1) / 16, String(status));
        continue;
      }
      if (status === 401 && !hasNewLogin && (await login.renew(credentials, signal))) {
        hasNewLogin = true;
        continue;
      }
      pace.answered();
      if (PASSING.has(status)) {
        const cure = [AGAIN, asked.hint ?? ''].join(' ').trim();
        await again(faults.refused(`${what} was answered with ${status}: ${shown(text)}`, cure));
        continue;
      }
      if (!isGood(status) && asked.accepts?.includes(status) !== true) throw refusal(what, answer, asked.url);
      if (status === NO_CONTENT) throw nothing(what, status);
      let document: JsonValue = null;
      let repeated: RepeatedName[] = [];
      try {
        if (isGood(status)) {
          document = parseExactly(text.replace(/^\uFEFF/, ''));
          repeated = repeatedNames(text, document);
        }
      } catch (error) {
        if (error instanceof RangeError) throw tooDeep(asked.what);
        // A cut answer and a page of a proxy look the same.
        await again(faults.refused(`${what} was answered with something that is not JSON: ${shown(text)}`, NOT_JSON));
        continue;
      }
      const refused = refusalIn(document, failures);
      if (refused !== null) {
        if (refused.again === null) {
          throw faults.refused(`${what} was refused: ${shown(refused.text)}`, 'Correct the request of the stream.');
        }
        await later(throttledForMs(headers, Date.now()) ?? 2_000, refused.again);
        continue;
      }
      return { status, headers, document, repeated, bytes: text.length, url: asked.url };
    }
  }

  /** Sends the request for a token. It has no login itself. */
  async function postForToken(
    url: URL,
    { json, form, headers }: { json?: JsonValue; form?: URLSearchParams; headers?: Record<string, string> },
    signal: AbortSignal,
  ): Promise<JsonValue> {
    const what = `The login at ${url.origin}${url.pathname}`;
    for (let failed = 1; ; failed += 1) {
      signal.throwIfAborted();
      try {
        const token = `a token at ${url.origin}`;
        const {
          status,
          headers: found,
          text,
        } = await withinTime(signal, token, async (signal) => {
          const {
            statusCode,
            headers: given,
            body,
          } = await send(url, {
            dispatcher: agent,
            method: 'POST',
            headers: {
              ...ASKED,
              'content-type': json === undefined ? 'application/x-www-form-urlencoded' : 'application/json',
              // Another server is not trusted with the headers of this one.
              ...(url.origin === base.origin ? options.headers : {}),
              ...headers,
            },
            body: json === undefined ? String(form) : JSON.stringify(json),
            signal,
          });
          return {
            status: statusCode,
            headers: given,
            text: await textIn(body, { what: token, bytesMax: limits.answerBytes, fatal: isGood(statusCode) }),
          };
        });
        if (isGood(status)) return parseExactly(text);
        if (!PASSING.has(status) && status !== 429) {
          throw isRedirect(status)
            ? redirected(what, { status, headers: found }, url, '`auth`')
            : faults.refused(
                `${what} was refused with ${status}: ${shown(text)}`,
                'Check `auth` in the options of the source, and what this login is allowed to do.',
              );
        }
        if (failed === limits.attempts)
          throw faults.refused(`${what} was answered with ${status}: ${shown(text)}`, AGAIN);
        const waitMs = throttledForMs(found, Date.now()) ?? fullJitterMs(failed, BACKOFF, Math.random());
        await systemClock.sleep(Math.min(waitMs, limits.wait), signal);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof Fault) throw error;
        if (error instanceof SyntaxError)
          throw faults.refused(`${what} was answered with something that is not JSON.`, NOT_JSON);
        if (failed === limits.attempts) throw faults.of(`${what} failed`, error);
        await systemClock.sleep(fullJitterMs(failed, BACKOFF, Math.random()), signal);
      }
    }
  }

  /** True for an address without encryption that leads no further than the API itself does. */
  const isHere = (url: URL): boolean =>
    url.origin === base.origin || (url.protocol === 'http:' && isLoopback(url.hostname) && isLoopback(base.hostname));

  return {
    base,
    /** A digest of what decides, beside a request, which rows the server gives: the user, and headers such as that of a tenant. */
    account: accountOf(options),
    request,
    clean: faults.clean,
    /** Removes a secret from all later messages. */
    hide: hideSecret,
    /** True if an address has a secret of the login, of the requests or of the config, however often the secret is encoded. */
    hasSecret: (address: string): boolean =>
      isSecretIn(
        address,
        [...secrets].filter(({ length }) => length >= SECRET_LENGTH_MIN),
      ) || decodings(address).some((text) => hasSecret?.(text) === true),
    /** The address of a path or link. @throws a `sourceFault` for a link to another server, because it would get the login */
    resolve(link: string, from: URL): URL {
      const url = URL.canParse(link, from.href) ? new URL(link, from) : null;
      if (url === null || url.origin !== base.origin || `${url.username}${url.password}` !== '') {
        throw elsewhere(url ?? link);
      }
      // A server may repeat the key in its links, and links are stored and shown.
      return withoutParameters(url, loginParameters);
    },
    /** Opens a file that a job has written, without the login: its address may lie on another server. */
    async openResult(
      address: string,
      { what, needsLength }: { what: string; needsLength: boolean },
      signal: AbortSignal,
    ): Promise<Readable> {
      const url = URL.canParse(address) ? new URL(address) : null;
      if (url === null || (url.protocol !== 'https:' && !isHere(url))) {
        throw faults.refused(`The address of ${what} is not one with https.`, 'Check `page.result` of the stream.');
      }
      for (const secret of url.searchParams.values()) if (secret.length >= 8) faults.hide(secret);
      for (let failed = 1; ; failed += 1) {
        signal.throwIfAborted();
        let fault: Error;
        try {
          const { statusCode, headers, body } = await send(url, { dispatcher: agent, method: 'GET', signal });
          body.on('error', leftToReader);
          const hasLength = ['content-length', 'transfer-encoding'].some((name) => headers[name] !== undefined);
          if (statusCode === 200 && needsLength && !hasLength) {
            body.destroy();
            throw faults.refused(
              `${what} has no length, so a file that was cut off would look whole.`,
              'Name the number of its lines in `page.count` of the stream.',
            );
          }
          if (statusCode === 200) return onExchange === undefined ? body : recordedFile(body, url, onExchange);
          body.destroy();
          fault = faults.refused(`${what} could not be downloaded: the server answers with ${statusCode}.`, AGAIN);
          if (!PASSING.has(statusCode)) throw fault;
        } catch (error) {
          signal.throwIfAborted();
          fault = faults.of(`${what} could not be downloaded`, error);
          if (error instanceof Fault) throw error;
        }
        if (failed === limits.attempts) throw fault;
        await systemClock.sleep(fullJitterMs(failed, BACKOFF, Math.random()), signal);
      }
    },
    faultOf: (what: string, error: unknown): Error => faults.of(what, error),
    close: (): Promise<void> => agent.destroy(),
  };
}

/** Keys, passwords and tokens of `auth` are left out: the account stays the same when they change. */
function accountOf({ auth, headers }: Pick<RestSource, 'auth' | 'headers'>): string {
  const { user, clientId, scope }: { user?: string; clientId?: string; scope?: string } = {
    ...('user' in auth && auth.user !== undefined ? { user: auth.user } : {}),
    ...('clientId' in auth ? { clientId: auth.clientId } : {}),
    ...('scope' in auth && auth.scope !== undefined ? { scope: auth.scope } : {}),
  };
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  named.sort(([a], [b]) => (a < b ? -1 : 1));
  return sha256Url(JSON.stringify([user, clientId, scope, named]));
}

/** The fault of an answer that has too many levels for JSON to be read or written. */
export function tooDeep(what: string): Error {
  return sourceFault(`The answer for ${what} has too many levels of lists and objects in each other.`, {
    suggestion: 'Request fewer members, or ask the owner of the API.',
  });
}

export type RestClient = ReturnType<typeof createRestClient>;

/** A body that is destroyed before its end emits an error, which would end the process. Its reader gets each error by itself. */
const leftToReader = (): void => undefined;

/** Without `accept-encoding` a server may compress its answer (RFC 9110, section 12.5.3). */
const ASKED = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'dpp-sync' };
const NO_CONTENT = 204;
const isGood = (status: number): boolean => status >= 200 && status < 300;
const AGAIN = 'Pull again. If this happens each time, ask the owner of the API.';
const NOT_JSON = 'Check that `base` and the path of the stream name an API that answers with JSON.';
