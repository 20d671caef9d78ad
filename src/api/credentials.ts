import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging.ts';
import { maskSecret, type SecretStore } from '../lib/secrets.ts';

/** Where a key is kept: read at the first request, and again when the API rejects it. */
export interface KeySource {
  read(): Promise<string>;
}

/** A key ready for use, or why there is none. */
export type KeyState =
  /** `prefix` is what may be shown of the key. */
  { ok: true; headers: RequestHeaders; prefix: string } | { ok: false; message: string };

/** The headers of the requests that one key makes, as names and values in turn. */
interface RequestHeaders {
  /** For requests that write nothing. */
  forRead(hasBody: boolean): string[];
  forWrite(idempotencyKey: string, hasBody: boolean): string[];
  /** For a request that is answered with a document of that type, or with an error in JSON. */
  forDocument(type: string): string[];
}

export interface Credentials {
  /** The key as last read; reads it when there is none. Never rejects. */
  current(): KeyState | Promise<KeyState>;
  /** Reads the key again. True when it is a usable one and not the one before. Callers at the same time share one reading. */
  reread(): Promise<boolean>;
}

/** Visible ASCII: anything else cannot be, or smuggles something into, a header. */
const HEADER_TEXT = /^[\x21-\x7e]{1,4096}$/;

/** True for a secret that a header can carry as it is. */
export function isHeaderText(secret: string): boolean {
  return HEADER_TEXT.test(secret);
}

export function createCredentials(options: {
  source: KeySource;
  /** What the key is called in messages: its config path. */
  name: string;
  userAgent: string;
  secrets: SecretStore;
  log: Logger;
}): Credentials {
  const { source, name, userAgent, secrets, log } = options;
  let key: string | null = null;
  let state: KeyState | null = null;
  let reading: Promise<KeyState> | null = null;

  const fail = (reason: string): KeyState => {
    const message = `${name} cannot be used: ${secrets.scrub(reason)}.`;
    log.warn({ event: 'api.key.unusable' }, message);
    return { ok: false, message };
  };

  async function read(): Promise<KeyState> {
    let text: string;
    try {
      text = (await source.read()).trim();
    } catch (error) {
      return fail(messageOf(error).replace(/\.$/, ''));
    }
    // I7: known as a secret before anything else is done with it.
    secrets.add(text);
    if (text === '') return fail('it is empty');
    if (!isHeaderText(text)) return fail('it holds characters that a header cannot carry');
    if (text === key && state?.ok) return state;
    log.info({ event: 'api.key.read', key: maskSecret(text) }, `${name} has been read.`);
    key = text;
    return { ok: true, headers: headersWith(text, userAgent), prefix: maskSecret(text) };
  }

  function load(): Promise<KeyState> {
    reading ??= read().then((fresh) => {
      // A key that worked is kept when its file cannot be read for a moment.
      if (fresh.ok) state = fresh;
      reading = null;
      return fresh;
    });
    return reading;
  }

  return {
    current: () => state ?? load(),
    async reread() {
      const before = state;
      const fresh = await load();
      return fresh.ok && fresh !== before;
    },
  };
}

function headersWith(key: string, userAgent: string): RequestHeaders {
  const identity = ['X-API-Key', key, 'User-Agent', userAgent];
  const common = [...identity, 'Accept', 'application/json'];
  const withBody = [...common, 'Content-Type', 'application/json'];
  return {
    forRead: (hasBody) => (hasBody ? withBody : common),
    forWrite: (idempotencyKey, hasBody) => [...(hasBody ? withBody : common), 'Idempotency-Key', idempotencyKey],
    forDocument: (type) => [...identity, 'Accept', `${type}, application/json;q=0.9`],
  };
}
