import type { Readable } from 'node:stream';
import { Agent, request } from 'undici';
import type { ServerFaults } from './server-faults.ts';

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
export function headerTime(text: string | null): bigint {
  const ms = text === null ? Number.NaN : Date.parse(text);
  return Number.isNaN(ms) ? 0n : BigInt(Math.trunc(ms / 1_000)) * 1_000_000_000n;
}

/** The size that a header states; null if there is no size. */
export function headerSize(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
