import { setTimeout } from 'node:timers/promises';
import { isJsonObject, type JsonObject, type JsonValue, parseExactly } from '../../../../src/sdk/index.ts';
import { Forgotten, fail, NoAnswer, type Reader } from './flaws.ts';

export interface Answer {
  document: JsonObject;
  /** The time of the server. */
  date: number;
  hasLink: boolean;
}

export type Ask = (url: string, signal: AbortSignal) => Promise<Answer>;

/** Without it a connection would outlive the source. */
export const CLOSE = { connection: 'close' };
const EMPTY: Answer = { document: { items: [], more: false, next: null }, date: 0, hasLink: false };

/** Sends requests: logged in, and again where that helps. */
export function createAsk(base: string, { kind, has }: Reader): Ask {
  const canLogIn = kind === 'delta';
  let token = '';

  async function logIn(): Promise<void> {
    const answer = (await (await fetch(`${base}/token`, { headers: CLOSE })).json()) as { token: string };
    token = answer.token;
  }

  return async (url, signal) => {
    if (canLogIn && token === '') await logIn();
    let hasNewLogin = false;
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted();
      const response = await fetch(new URL(url, base), { headers: { ...CLOSE, authorization: token }, signal });
      const { status, headers } = response;
      const text = await response.text().catch(() => null);
      if (text === null) {
        signal.throwIfAborted();
        if (has('a cut answer is an empty page')) return EMPTY;
        if (attempt === 2) throw fail('The answers are cut.');
        continue;
      }
      if (status === 429) {
        if (has('gives up at 429')) throw fail('There were too many requests.');
        await setTimeout(10);
        continue;
      }
      if (status === 401) {
        if (has('a refused login is the end')) return EMPTY;
        if (!canLogIn || hasNewLogin || has('does not log in again')) throw fail('The login is refused.');
        hasNewLogin = true;
        await logIn();
        continue;
      }
      if (status >= 500) {
        if (has('a failure is an empty page')) return EMPTY;
        if (kind === 'cursor' && !has('repeats a request that cannot be repeated')) throw new NoAnswer();
        if (attempt === 2) throw fail('The server fails.');
        continue;
      }
      if (status === 404 && has('what is not found is empty')) return EMPTY;
      if (status === 410 || status === 404) throw new Forgotten();
      if (status !== 200) throw fail(`The server answers with ${status}.`);
      const document = parsed(text);
      if (document === undefined) return EMPTY;
      if (!isJsonObject(document)) throw fail('The answer is no object.');
      return { document, date: Date.parse(headers.get('date') ?? ''), hasLink: headers.get('link') !== null };
    }
  };

  function parsed(text: string): JsonValue | undefined {
    try {
      return has('parses with JSON.parse') ? (JSON.parse(text) as JsonValue) : parseExactly(text);
    } catch {
      if (has('HTML is an empty page')) return undefined;
      throw fail('The answer is no JSON.');
    }
  }
}
