import type { Profile } from '../domain/profile.ts';
import { messageOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logging/logging.ts';
import { maskSecret, type SecretStore } from '../lib/logging/secrets.ts';

/** The source of a key. It is read at the first request, and again when the API rejects the key. */
export interface KeySource {
  read(): Promise<string>;
}

/** A key ready for use, or why there is none. */
export type KeyState = { ok: true; headers: RequestHeaders } | { ok: false; message: string };

/** The headers of the requests with one key, as alternating names and values. */
interface RequestHeaders {
  /** For requests that write nothing. */
  forRead(body: BodyKind): string[];
  forWrite(idempotencyKey: string, body: BodyKind): string[];
  /** For a request whose answer is a document of this type, or an error in JSON. */
  forDocument(type: string): string[];
}

/** A change may have another media type than a create. */
type BodyKind = 'none' | 'content' | 'change';

/** The kind of a request's body, by its method. */
export function bodyKindOf({ method, body }: { method: string; body: string | null }): BodyKind {
  if (body === null) return 'none';
  return method === 'PATCH' ? 'change' : 'content';
}

/** The media types of the profile. */
type MediaTypes = Pick<Profile['requests'], 'accept' | 'contentType' | 'updateContentType'>;

/** Visible ASCII. Other characters are not allowed in a header or would change it. */
const HEADER_TEXT = /^[\x21-\x7e]{1,4096}$/;

/** True for a secret that a header can contain unchanged. */
export function isHeaderText(secret: string): boolean {
  return HEADER_TEXT.test(secret);
}

export function createCredentials(options: {
  source: KeySource;
  /** The name of the key in messages: its config path. */
  name: string;
  userAgent: string;
  mediaTypes: MediaTypes;
  secrets: SecretStore;
  log: Logger;
}) {
  const { source, name, secrets, log } = options;
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
    // I7: the key is registered as a secret before it is used.
    secrets.add(text, 'api_key');
    if (text === '') return fail('it is empty');
    if (!isHeaderText(text)) return fail('it holds characters that a header cannot carry');
    if (text === key && state?.ok) return state;
    log.info({ event: 'api.key.read', key: maskSecret(text) }, `${name} has been read.`);
    key = text;
    return { ok: true, headers: headersWith(text, options) };
  }

  function load(): Promise<KeyState> {
    reading ??= read().then((fresh) => {
      // A working key is kept if its file cannot be read for a moment.
      if (fresh.ok) state = fresh;
      reading = null;
      return fresh;
    });
    return reading;
  }

  return {
    /** The key that was read last. Reads the key if there is none. Never rejects. */
    current: (): KeyState | Promise<KeyState> => state ?? load(),
    /**
     * Does the same as `reread` if the key was read before. A key that was not needed so far is read when it is needed.
     */
    async renew(): Promise<boolean> {
      const before = state;
      return before !== null && (await load()).ok && state !== before;
    },
    /** Reads the key again. True if the key is usable and has changed. Calls at the same time share one read. */
    async reread(): Promise<boolean> {
      const before = state;
      const fresh = await load();
      return fresh.ok && fresh !== before;
    },
  };
}

export type Credentials = ReturnType<typeof createCredentials>;

function headersWith(
  key: string,
  { userAgent, mediaTypes }: { userAgent: string; mediaTypes: MediaTypes },
): RequestHeaders {
  const { accept, contentType, updateContentType } = mediaTypes;
  const identity = ['X-API-Key', key, 'User-Agent', userAgent];
  const common = [...identity, 'Accept', accept];
  const headers: Record<BodyKind, string[]> = {
    none: common,
    content: [...common, 'Content-Type', contentType],
    change: [...common, 'Content-Type', updateContentType ?? contentType],
  };
  return {
    forRead: (body) => headers[body],
    forWrite: (idempotencyKey, body) => [...headers[body], 'Idempotency-Key', idempotencyKey],
    forDocument: (type) => [...identity, 'Accept', `${type}, ${accept};q=0.9`],
  };
}
