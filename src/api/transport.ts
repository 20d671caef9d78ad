import { type Dispatcher, Pool } from 'undici';
import { fault } from '../domain/faults.ts';
import { isLoopback } from '../lib/loopback.ts';
import type { AnswerHeaders } from '../lib/retry-after.ts';

/** Time limits of the API's connections and requests, in milliseconds. */
interface TransportTimeouts {
  /** The limit for DNS, TCP and TLS together. */
  connectMs: number;
  /** The limit from the last byte sent to the answer's headers. undici keeps this limit to about a second. */
  headersMs: number;
  /** The limit between two chunks of the answer's body. */
  bodyMs: number;
}

/** One request as it is sent. */
export interface HttpRequest {
  method: 'GET' | 'POST' | 'PATCH';
  /** The path and the query. */
  path: string;
  /** Names and values, alternating. */
  headers: string[];
  /** The body, which is sent unchanged in UTF-8; null for a request without a body. */
  body: string | null;
  /** The limit of the whole request, including the wait for a connection. */
  totalMs: number;
  /** How many bytes of the answer's body are kept. */
  bytesMax: number;
  /**
   * Called when the headers have arrived. Returns a receiver for the chunks of the body, or null to keep the body as
   * text.
   */
  receive?: ((status: number, headers: AnswerHeaders) => BodyReceiver | null) | undefined;
  signal?: AbortSignal | undefined;
}

/** Takes the chunks of a body that is not kept. */
export interface BodyReceiver {
  /** The bound for this body, in place of that of the request. */
  bytesMax: number;
  /** The read continues when the promise is fulfilled. A rejection aborts the request, like the signal. */
  write(chunk: Buffer): Promise<void>;
}

/** Why there is no answer, or only a part of it. */
export type Loss =
  /** The connection or the HTTP library failed. */
  | { by: 'error'; error: Error }
  /** The time limit of the whole request has passed. */
  | { by: 'deadline'; totalMs: number }
  /** The caller has aborted the request. */
  | { by: 'abort' }
  /** The API asks to wait for longer than the request may wait. `waitMs` is the time from now on. */
  | { by: 'wait'; waitMs: number; message: string }
  /** No key is available for the request. */
  | { by: 'key'; message: string }
  /** The body is longer than `bytesMax`. Only its beginning was read. */
  | { by: 'size'; bytesMax: number };

/** The result of one request. */
export type Exchange =
  | { kind: 'answer'; status: number; headers: AnswerHeaders; body: string; cut: Loss | null }
  /** No status line arrived. `sent` is false only if certainly no byte of the request was sent. */
  | { kind: 'silence'; sent: boolean; loss: Loss };

/** Shorter than the usual idle limits of servers and proxies, so that this side closes the connection. */
const KEEP_ALIVE_MS = 4_000;

/**
 * The HTTP/1.1 connections to one origin.
 *
 * HTTP/2 is off, because undici repeats refused streams by itself. I6: it must be known for each request whether bytes
 * were sent. undici's dispatcher is used directly, because only the handler of a dispatcher reports when a request is
 * about to be written.
 */
export function createTransport(options: { origin: string; connections: number; timeouts: TransportTimeouts }) {
  const pool = new Pool(options.origin, {
    connections: options.connections,
    pipelining: 1,
    allowH2: false,
    connect: { timeout: options.timeouts.connectMs },
    headersTimeout: options.timeouts.headersMs,
    bodyTimeout: options.timeouts.bodyMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  return {
    /** Sends one request once. Follows no redirect and never rejects. */
    exchange: (request: HttpRequest): Promise<Exchange> => exchange(pool, request),
    /** Lets running requests end, then closes the connections. */
    close: () => pool.close(),
  };
}

export type Transport = ReturnType<typeof createTransport>;

function exchange(pool: Pool, request: HttpRequest): Promise<Exchange> {
  return new Promise((resolve) => {
    const { signal, totalMs, bytesMax } = request;
    if (signal?.aborted) {
      resolve({ kind: 'silence', sent: false, loss: { by: 'abort' } });
      return;
    }
    let control: Dispatcher.DispatchController | null = null;
    let status = 0;
    let headers: AnswerHeaders = {};
    let chunks: Buffer[] = [];
    let bytes = 0;
    let settled = false;
    let receiver: BodyReceiver | null = null;
    /** Resolves once the receiver has taken all chunks so far; null if it has received none. */
    let delivered: Promise<void> | null = null;

    const settle = (loss: Loss | null): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      if (status === 0) {
        // If there is no controller, the request never reached a socket.
        const unexplained: Loss = { by: 'error', error: new Error('the answer ended before its status line') };
        resolve({ kind: 'silence', sent: control !== null, loss: loss ?? unexplained });
      } else {
        resolve({ kind: 'answer', status, headers, body: textOf(chunks), cut: loss });
      }
      chunks = [];
    };
    /** The chunks before the end are passed on first. */
    const end = (loss: Loss | null): void => {
      if (delivered === null) settle(loss);
      else void delivered.then(() => settle(loss));
    };
    const giveUp = (loss: Loss): void => {
      settle(loss);
      control?.abort(new Error(`given up: ${loss.by}`));
    };
    const handOver = (to: BodyReceiver, chunk: Buffer, controller: Dispatcher.DispatchController): void => {
      controller.pause();
      delivered = (delivered ?? Promise.resolve())
        .then(() => (settled ? undefined : to.write(chunk)))
        .then(
          () => controller.resume(),
          () => giveUp({ by: 'abort' }),
        );
    };
    const onAbort = (): void => giveUp({ by: 'abort' });
    const timer = setTimeout(() => giveUp({ by: 'deadline', totalMs }), totalMs);
    signal?.addEventListener('abort', onAbort, { once: true });

    pool.dispatch(
      { method: request.method, path: request.path, headers: request.headers, body: request.body },
      {
        onRequestStart(controller) {
          // An error that is thrown here stops undici from writing the request.
          if (settled) throw new Error('given up before it was sent');
          if (control !== null) {
            // I6: a second start means that undici would send the request again.
            const error = new Error('the connection was lost while the request was in flight');
            settle({ by: 'error', error });
            throw error;
          }
          control = controller;
        },
        onResponseStart(_controller, statusCode, answerHeaders) {
          if (statusCode < 200) return;
          status = statusCode;
          headers = answerHeaders;
          receiver = request.receive?.(status, headers) ?? null;
        },
        onResponseData(controller, chunk) {
          // undici passes empty chunks when a read continues. A pause for an empty chunk would cause the next one, for ever.
          if (settled || chunk.length === 0) return;
          bytes += chunk.length;
          const bound = receiver?.bytesMax ?? bytesMax;
          if (bytes > bound) giveUp({ by: 'size', bytesMax: bound });
          else if (receiver === null) chunks.push(chunk);
          else handOver(receiver, chunk, controller);
        },
        onResponseEnd: () => end(null),
        onResponseError: (_controller, error) => end({ by: 'error', error }),
      },
    );
  });
}

function textOf(chunks: Buffer[]): string {
  const only = chunks.length === 1 ? chunks[0] : undefined;
  const text = (only ?? Buffer.concat(chunks)).toString('utf8');
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

/** The address of the API: one origin, and the path above all endpoints. */
export interface BaseUrl {
  /** Scheme, host and port. */
  origin: string;
  /** The path without a trailing slash; empty if the API is at the root. */
  prefix: string;
}

/**
 * Reads the base URL. Every request has the key in a header, so only https is accepted, except for an address of this
 * machine.
 *
 * @throws Fault `config.invalid`
 */
export function parseBaseUrl(text: string): BaseUrl {
  const url = URL.parse(text);
  if (url === null) throw invalid('target.baseUrl is not a URL.');
  if (url.username !== '' || url.password !== '') {
    throw invalid('target.baseUrl carries a user name or password; the API key belongs in target.apiKey.');
  }
  if (url.search !== '' || url.hash !== '') throw invalid('target.baseUrl has a query or fragment.');
  const secure = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
  if (!secure) throw invalid(`target.baseUrl uses ${url.protocol}//, which would send the API key unprotected.`);
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
}

function invalid(message: string) {
  return fault('config.invalid', message, {
    path: 'target.baseUrl',
    suggestion: 'Give the address of the API as https://host; http:// is accepted on loopback only.',
  });
}
