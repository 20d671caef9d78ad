import { createSecretFinder } from './secret-finder.ts';

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
export interface SecretStore {
  /** A secret shorter than `SECRET_LENGTH_MIN` is not remembered. */
  add(secret: string): void;
  /**
   * The text without any known secret. Of a whole secret, the part that may be shown is kept. Of a long secret, any 6
   * characters in a row are removed too. Secrets are also found if they have white space in them or are encoded as
   * percent-encoding, JSON escapes or base64.
   */
  scrub(text: string): string;
}

export function createSecretStore(): SecretStore {
  const known = new Set<string>();
  /** Secrets that are prepared for the search at the next text. */
  const fresh: string[] = [];
  const finder = createSecretFinder();
  return {
    add(secret) {
      if (secret.length < SECRET_LENGTH_MIN || known.has(secret)) return;
      known.add(secret);
      fresh.push(secret);
    },
    scrub(text) {
      if (known.size === 0) return text;
      for (const secret of fresh.splice(0)) finder.add(secret, shownLength(secret));
      let clean = '';
      let end = 0;
      for (const range of finder.find(text)) {
        clean += `${text.slice(end, range.start)}…`;
        end = range.end;
      }
      return end === 0 ? text : clean + text.slice(end);
    },
  };
}
