import type { Readable } from 'node:stream';
import type { JsonValue } from '../../lib/json.ts';
import type { AnswerHeaders } from '../../lib/retry-after.ts';
import { sourceFault } from '../connector.ts';
import { valueAt } from '../document-path.ts';
import type { ServerFaults } from '../files/servers/connection.ts';
import { textOf } from './placeholders.ts';
import type { RestFailure } from './rest-options.ts';

/** An answer before it is parsed. */
export interface RawAnswer {
  status: number;
  headers: AnswerHeaders;
  text: string;
}

/** What is shown of an answer that refuses a request. */
const SHOWN_MAX = 300;

/** A 300 gives a choice, and a 304 says that nothing has changed: neither leads to one other address. */
export const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status);

/** Makes the faults of answers that refuse a request or lead to another server. */
export function createAnswerFaults(base: URL, faults: ServerFaults) {
  function refusal(what: string, { status, headers, text }: RawAnswer, url: URL): Error {
    if (isRedirect(status)) return redirected(what, { status, headers }, url, '`base`');
    if (status === 304) {
      return faults.refused(
        `${what} was answered with 304 (not modified), which has no content.`,
        'Remove headers with a condition, such as `If-Modified-Since`, from `headers` of the source and the stream: each read needs whole answers.',
      );
    }
    const answered = `${what} was refused with ${status}: ${shown(text)}`;
    if (status === 401 || status === 403) {
      return faults.refused(
        answered,
        'Check `auth` in the options of the source, and what this login is allowed to read.',
      );
    }
    if (status === 404) return faults.refused(answered, `Check \`base\` and the path: ${url.origin}${url.pathname}.`);
    return faults.refused(answered, 'Correct the request of the stream: its path, `query` and `body`.');
  }

  function redirected(
    what: string,
    { status, headers }: Pick<RawAnswer, 'status' | 'headers'>,
    url: URL,
    into: string,
  ): Error {
    const location = [headers['location']].flat()[0];
    const to = location !== undefined && URL.canParse(location, url.href) ? ` to ${new URL(location, url).origin}` : '';
    return faults.refused(
      `${what} was redirected (${status}${to}), and dpp-sync follows no redirect.`,
      `If that address is right, put it into ${into}.`,
    );
  }

  const elsewhere = (url: URL | string): Error =>
    faults.refused(
      `An answer has a link to another server: ${typeof url === 'string' ? shown(url) : `${url.origin}${url.pathname}.`} dpp-sync reads only from ${base.origin}.`,
      'If the API lies behind a proxy, let the proxy rewrite the links, or give `base` the address that the links have.',
    );

  /** A text of an answer as the end of a sentence. */
  const shown = (text: string): string => {
    // Secrets are removed before anything else, because a part of a secret would not be recognised.
    const clean = faults.clean(text).replace(/\s+/g, ' ');
    if (clean.trim() === '') return 'an empty answer.';
    const cut = clean.length > SHOWN_MAX ? `${clean.slice(0, SHOWN_MAX)}…` : clean;
    return `${cut.trim().replace(/\.$/, '')}.`;
  };

  /** An answer with a good status and without content, which is no list. */
  const nothing = (what: string, status: number): Error =>
    faults.refused(
      `${what} was answered with ${status} (no content), so there is no list in the answer, not even an empty one.`,
      'Check the path of the stream and its parameters. If the API answers so when it has no rows, ask its owner for an empty list instead.',
    );

  return { shown, refusal, redirected, elsewhere, nothing };
}

/** The bytes with which each file of gzip begins (RFC 1952). */
const GZIP = [0x1f, 0x8b];

/**
 * The text of an answer to the request for `what`.
 *
 * @param fatal false for an answer that reports a failure, which may be in any encoding, because a proxy may have written it
 * @throws a `sourceFault` if the answer is too long, or is no text
 */
export async function textIn(
  stream: Readable,
  { what, bytesMax, fatal }: { what: string; bytesMax: number; fatal: boolean },
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) {
      stream.destroy();
      throw sourceFault(`The answer to the request for ${what} has more than ${bytesMax} bytes.`, {
        suggestion: 'Request smaller pages, or raise `limits.answerBytes` in the options of the source.',
      });
    }
    chunks.push(chunk);
  }
  const all = Buffer.concat(chunks);
  try {
    return new TextDecoder('utf-8', { fatal }).decode(all);
  } catch {
    if (all[0] === GZIP[0] && all[1] === GZIP[1]) {
      throw sourceFault(
        `The answer to the request for ${what} is compressed with gzip, and dpp-sync has asked for a plain one.`,
        { suggestion: 'Let the server or its proxy obey the header `Accept-Encoding: identity`.' },
      );
    }
    throw sourceFault(`The answer to the request for ${what} is not UTF-8.`, {
      suggestion: 'Check that `base` and the path of the stream name an API that answers with JSON.',
    });
  }
}

/** What an answer with a good status says about a request that has failed. */
interface Refusal {
  text: string;
  /** The code of a failure that only means: later again. */
  again: string | null;
}

/** The first failure that an answer states; null if it states none. */
export function refusalIn(document: JsonValue, failures: readonly RestFailure[]): Refusal | null {
  for (const { at, again } of failures) {
    const found = valueAt(document, at);
    if (found === undefined || found === null || found === false) continue;
    if (Array.isArray(found) && found.length === 0) continue;
    const code = again === undefined ? undefined : valueAt(document, again.at);
    const isPassing = code !== undefined && again?.is.includes(textOf(code)) === true;
    return { text: textOf(found), again: isPassing ? textOf(code) : null };
  }
  return null;
}
