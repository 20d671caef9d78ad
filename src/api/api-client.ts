import type { ContactList } from '../domain/ports/ledger/contact-ledger.ts';
import type { PlatformAdmin } from '../domain/ports/target.ts';
import { NOTHING_EXPECTED } from './answers/classify.ts';
import { isHeaderText } from './credentials.ts';
import { ENDPOINTS, pathOf } from './endpoints.ts';
import { createReader, publicationShape } from './reader.ts';
import { sendWith } from './send.ts';
import { type ApiOptions, createSession, keyless, type Session } from './session.ts';
import { catalogueShapes, createTarget } from './target.ts';

/**
 * All 15 operations of the API document, over one set of connections and keys.
 *
 * @throws Fault `config.invalid` for a base URL that would send the key unprotected
 */
export function createApiClient(options: ApiOptions) {
  const session = createSession(options);
  const { product, material } = catalogueShapes(session);
  const lists = {
    product: { endpoint: ENDPOINTS['product.list'], shape: product },
    material: { endpoint: ENDPOINTS['material.list'], shape: material },
    publication: { endpoint: ENDPOINTS['publication.list'], shape: publicationShape(session.profile, session) },
  } as const;
  return {
    /** The requests of the sync. */
    target: createTarget(session),
    /** Reads for people, and reports. */
    reader: createReader(session),
    /** Requests with an administrator's token. */
    admin: createAdmin(session),
    /** Reads the first page of a list once. Returns why the list cannot be read; null if it can. */
    whyUnreadable: (list: ContactList, signal?: AbortSignal): Promise<string | null> =>
      session.whyUnreadable({ ...lists[list], signal }),
    /**
     * Reads the keys again, because the config names other keys or their files have changed. True if a key has changed.
     */
    async renewKeys(): Promise<boolean> {
      const keys = [session.key, session.publishKey].filter((key) => key !== null);
      return (await Promise.all(keys.map((key) => key.renew()))).includes(true);
    },
    /**
     * Lets running requests end, then closes the connections of `target`, `reader` and `admin`. Do not close the target
     * as well.
     */
    close: () => session.close(),
  };
}

export type ApiClient = ReturnType<typeof createApiClient>;

/** Requests with an administrator's token ("Authentication: Key revocation"). */
function createAdmin(session: Session): PlatformAdmin {
  const { classifier, secrets, userAgent } = session;
  return {
    async revokeKey({ keyId, token, idempotencyKey }, signal) {
      const bearer = token.trim();
      // I7: the token is registered as a secret before it is used.
      secrets.add(bearer);
      if (!isHeaderText(bearer)) {
        const message = "The administrator's token is empty or holds characters that a header cannot carry.";
        return { outcome: classifier.outcomeOf(keyless(message), NOTHING_EXPECTED), latencyMs: 0 };
      }
      const endpoint = ENDPOINTS['api_key.revoke'];
      return sendWith(session, {
        method: endpoint.method,
        path: pathOf(endpoint, keyId),
        // The token is never sent together with an API key: "a key does not manage itself or other keys".
        headers: [
          'Authorization',
          `Bearer ${bearer}`,
          'Accept',
          session.profile.requests.accept,
          'User-Agent',
          userAgent,
          'Idempotency-Key',
          idempotencyKey,
        ],
        body: null,
        expectation: NOTHING_EXPECTED,
        // The request has a token of its own, and a key that leaked must not wait for the rate of the API key.
        exchange: session.exchange,
        signal,
      });
    },
  };
}
