import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Agent, request } from 'undici';
import { sourceFault } from '../../connector.ts';
import type { Access } from '../file-options.ts';
import { createSink, type Entry, type FileServer } from '../file-store.ts';
import type { ServerAddress } from '../location.ts';
import { changedFault, changeOf, versionOf } from '../source-file.ts';
import { createServerFaults, type ServerFaults } from './connection.ts';

type HttpsAccess = NonNullable<Access['https']>;

/** A web server. The path of a file is its whole address, with the query, which is never shown. */
export function createHttpsServer(
  { scheme, host, port }: ServerAddress,
  options: { access: HttpsAccess; idleMs: number; label: (path: string) => string },
): FileServer {
  const { access, idleMs, label } = options;
  const name = `${scheme}://${host}${port === null ? '' : `:${port}`}`;
  const secrets = [access.password, access.token, ...Object.values(access.headers ?? {})];
  const faults = createServerFaults(name, secrets);
  const client = createHttpClient({ ca: access.ca, idleMs, faults });
  const headers = headersOf(access);

  async function get(url: string, what: string, signal: AbortSignal): Promise<HttpAnswer | null> {
    const answer = await client.send({ what, method: 'GET', url, headers, signal });
    if (answer.status === 200) return answer;
    answer.body.destroy();
    if (answer.status === 404 || answer.status === 410) return null;
    throw faults.refused(`${what}: the server answers with ${answer.status}.`, 'Check the address and the server.');
  }

  return {
    /** Sends a GET and cuts the answer after the headers, because many servers and signed addresses refuse HEAD. */
    async stat(path, signal) {
      const answer = await get(path, `${label(path)} could not be looked up`, signal);
      if (answer === null) return null;
      answer.body.destroy();
      return entryOf(answer);
    },
    list: () => Promise.reject(new Error('A web server has no list of files.')),
    async download(file, target, signal) {
      const what = `${file.label} could not be downloaded`;
      const answer = await get(file.path, what, signal);
      if (answer === null) throw changedFault(file, 'the file was removed');
      const found = entryOf(answer);
      const encoding = answer.header('content-encoding') ?? 'identity';
      try {
        if (found.version !== file.version) throw changedFault(file, changeOf(file.bytes, found.bytes));
        // A body that is compressed with gzip is unpacked like a gzip file.
        if (!/^(?:identity|gzip|x-gzip|)$/i.test(encoding)) {
          throw faults.refused(
            `${what}: it is encoded as ${encoding}.`,
            'Set up the server so that it sends the file without an encoding.',
          );
        }
      } catch (error) {
        answer.body.destroy();
        throw error;
      }
      await pipeline(answer.body, createSink(target)).catch((error: unknown) => {
        throw faults.of(what, error);
      });
    },
    interrupt: () => client.interrupt(),
    close: () => client.close(),
  };
}

function headersOf({ user, password, token, headers }: HttpsAccess): Record<string, string> {
  if (token !== undefined && (user !== undefined || password !== undefined)) {
    throw sourceFault('`access.https` has both a token and a user, but a request can have only one of them.', {
      suggestion: 'Remove `token`, or `user` and `password`.',
    });
  }
  const basic = user === undefined ? undefined : Buffer.from(`${user}:${password ?? ''}`).toString('base64');
  return {
    // Without this header the server may compress, and the stated size would not be that of the file.
    'accept-encoding': 'identity',
    'user-agent': 'dpp-sync',
    ...(basic === undefined ? {} : { authorization: `Basic ${basic}` }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...headers,
  };
}

function entryOf(answer: HttpAnswer): Entry {
  const bytes = headerSize(answer.header('content-length'));
  const modifiedNs = headerTime(answer.header('last-modified'));
  return { name: '', kind: 'file', bytes, version: versionOf({ modifiedNs, bytes, tag: answer.header('etag') ?? '' }) };
}

export interface HttpAnswer {
  status: number;
  /** The value of a header, by its name in lower case. */
  header(name: string): string | null;
  body: Readable;
}

export interface HttpRequest {
  /** The failed action, for errors: `https://example.com/x.csv could not be downloaded`. */
  what: string;
  method: 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  url: string;
  headers: Record<string, string>;
  signal: AbortSignal;
}

/** Sends requests for files. Redirects are never followed, because the credentials are meant for one host. */
export function createHttpClient(options: { ca: string | undefined; idleMs: number; faults: ServerFaults }) {
  const { ca, idleMs, faults } = options;
  const agent = new Agent({
    connect: { timeout: idleMs, ...(ca === undefined ? {} : { ca }) },
    headersTimeout: idleMs,
    bodyTimeout: idleMs,
  });
  let interruption = new AbortController();

  return {
    /** @throws a `sourceFault` if no answer comes, and for an answer that redirects or refuses the login */
    async send({ what, method, url, headers, signal }: HttpRequest): Promise<HttpAnswer> {
      const answer = await request(url, {
        dispatcher: agent,
        method,
        headers,
        signal: AbortSignal.any([signal, interruption.signal]),
      }).catch((error: unknown) => {
        throw faults.of(what, error);
      });
      const { statusCode: status, body } = answer;
      // If the answer is cut off before its end, the body emits an error, which nobody else handles.
      body.on('error', () => undefined);
      const header = (name: string) => [answer.headers[name]].flat()[0] ?? null;
      if (status >= 300 && status < 400) {
        body.destroy();
        throw faults.refused(
          `${what}: the server redirects to another address (${status}${addressOf(header('location'), url)}), and dpp-sync follows no redirect.`,
          'If that address is right, put it into the config.',
        );
      }
      if (status === 401 || status === 403) {
        body.destroy();
        throw faults.refused(
          `${what}: the server does not accept the login (${status}).`,
          'Check the credentials in `options.access`, and what they are allowed to do.',
        );
      }
      return { status, header, body };
    },
    interrupt(): void {
      interruption.abort();
      interruption = new AbortController();
    },
    close: (): Promise<void> => agent.destroy(),
  };
}

/** The address of a redirect, without its query, which may be a key. */
function addressOf(location: string | null, url: string): string {
  if (location === null || !URL.canParse(location, url)) return '';
  const { origin, pathname } = new URL(location, url);
  return ` to ${origin}${pathname}`;
}

/** The time of a header, in nanoseconds; 0 if there is no time. */
function headerTime(text: string | null): bigint {
  const ms = text === null ? Number.NaN : Date.parse(text);
  return Number.isNaN(ms) ? 0n : BigInt(Math.trunc(ms / 1_000)) * 1_000_000_000n;
}

/** The size that a header states; null if there is no size. */
export function headerSize(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
