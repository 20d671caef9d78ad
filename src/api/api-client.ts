import type { ContactList } from '../domain/ports/first-contact.ts';
import type { PlatformAdmin, PlatformReader } from '../domain/ports/platform.ts';
import type { Target } from '../domain/ports/target.ts';
import { createAdmin } from './admin.ts';
import { catalogueShapes } from './catalogue-shapes.ts';
import { ENDPOINTS } from './endpoints.ts';
import { publicationShape } from './publication.ts';
import { createReader } from './reader.ts';
import { type ApiOptions, createSession } from './session.ts';
import { createTarget } from './target.ts';

/** All 15 operations of the API document, over one set of connections and keys. */
export interface ApiClient {
  /** The requests of the sync. */
  target: Target;
  /** Reads for people, and reports. */
  reader: PlatformReader;
  /** Requests with an administrator's token. */
  admin: PlatformAdmin;
  /** Reads the first page of a list once. Returns why the list cannot be read; null if it can. */
  whyUnreadable(list: ContactList, signal?: AbortSignal): Promise<string | null>;
  /**
   * Reads the keys again, because the config names other keys or their files have changed. True if a key has changed.
   */
  renewKeys(): Promise<boolean>;
  /**
   * Lets running requests end, then closes the connections of `target`, `reader` and `admin`. Do not close the target
   * as well.
   */
  close(): Promise<void>;
}

/** @throws Fault `config.invalid` for a base URL that would send the key unprotected */
export function createApiClient(options: ApiOptions): ApiClient {
  const session = createSession(options);
  const { product, material } = catalogueShapes(session);
  const lists = {
    product: { endpoint: ENDPOINTS['product.list'], shape: product },
    material: { endpoint: ENDPOINTS['material.list'], shape: material },
    publication: { endpoint: ENDPOINTS['publication.list'], shape: publicationShape(session.profile, session) },
  } as const;
  return {
    target: createTarget(session),
    reader: createReader(session),
    admin: createAdmin(session),
    whyUnreadable: (list, signal) => session.whyUnreadable({ ...lists[list], signal }),
    async renewKeys() {
      const keys = [session.key, session.publishKey].filter((key) => key !== null);
      return (await Promise.all(keys.map((key) => key.renew()))).includes(true);
    },
    close: () => session.close(),
  };
}
