import type { ContactList } from '../domain/ports/first-contact.ts';
import { createAdmin } from './admin.ts';
import { catalogueShapes } from './catalogue-shapes.ts';
import { ENDPOINTS } from './endpoints.ts';
import { createReader, publicationShape } from './reader.ts';
import { type ApiOptions, createSession } from './session.ts';
import { createTarget } from './target.ts';

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
