import { createSecretFinder, type Searched } from './secret-finder.ts';

/** How many characters of a key may be shown: the prefix that the platform shows as well. */
const PREFIX_LENGTH = 8;
/** Secrets up to this length are hidden completely. Of longer secrets the first characters may be shown. */
const UNSHOWN_LENGTH_MAX = 12;
/** Shorter texts are not treated as secrets, because ordinary words would be removed. */
export const SECRET_LENGTH_MIN = 8;

export function maskSecret(secret: string): string {
  return `${secret.slice(0, shownLength(secret))}…`;
}

function shownLength(secret: string): number {
  return secret.length > UNSHOWN_LENGTH_MAX ? PREFIX_LENGTH : 0;
}

/**
 * A set of values that must never be printed (I7). Messages do not contain secrets. Scrubbing is a second protection,
 * for texts from elsewhere that may repeat a secret, such as a library's error or an API's answer.
 */
export function createSecretStore() {
  /** Whether each known secret is a key of the API. */
  const known = new Map<string, boolean>();
  /** Secrets that are prepared for the next search. */
  const fresh = new Set<string>();
  const finder = createSecretFinder();

  function find(text: string, searched: Searched): { start: number; end: number }[] {
    if (known.size === 0) return [];
    for (const secret of fresh) {
      finder.add({ secret, shown: shownLength(secret), isApiKey: known.get(secret) === true });
    }
    fresh.clear();
    return finder.find(text, searched);
  }

  function scrubbed(text: string, searched: Searched): string {
    let clean = '';
    let end = 0;
    for (const range of find(text, searched)) {
      clean += `${text.slice(end, range.start)}…`;
      end = range.end;
    }
    return end === 0 ? text : clean + text.slice(end);
  }

  return {
    /**
     * A secret shorter than `SECRET_LENGTH_MIN` is not remembered.
     *
     * @param kind says that the secret is a key of the API
     */
    add(secret: string, kind?: 'api_key'): void {
      const isApiKey = kind === 'api_key';
      const before = known.get(secret);
      if (secret.length < SECRET_LENGTH_MIN || before === true || before === isApiKey) return;
      known.set(secret, isApiKey);
      fresh.add(secret);
    },
    /**
     * Free text without any known secret. Of a whole secret, the part that may be shown is kept. Of a long secret, any 6
     * characters in a row are removed too. Secrets are also found if they have white space in them or are encoded as
     * percent-encoding, JSON escapes or base64.
     */
    scrub: (text: string): string => scrubbed(text, 'text'),
    /**
     * One value of a document as it may be shown. A value with white space is free text. Any other value may be an id, a
     * key or an address, so only whole secrets and 16 characters in a row are removed: a program that reads the document
     * needs the whole id.
     */
    scrubValue: (value: string): string => scrubbed(value, /\s/.test(value) ? 'text' : 'value'),
    /**
     * True if an id, key, path or URL contains a whole API key or 16 characters in a row of any secret. Then it may
     * neither be stored nor shown. It is never changed, because a changed id is another id.
     */
    isInIdentifier: (identifier: string): boolean => find(identifier, 'identifier').length > 0,
  };
}

export type SecretStore = ReturnType<typeof createSecretStore>;
