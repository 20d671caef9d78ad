import { createSecretFinder, type SecretFinder } from './secret-finder.ts';

/** What may be shown of a key: its first 8 characters, the prefix that the platform shows as well. */
const PREFIX_LENGTH = 8;
/** Secrets up to this length are hidden completely. Of longer secrets the first characters may be shown. */
const UNSHOWN_LENGTH_MAX = 12;
/** Anything shorter would blank out ordinary words. */
export const SECRET_LENGTH_MIN = 8;

export function maskSecret(secret: string): string {
  return `${secret.slice(0, shownLength(secret))}…`;
}

function shownLength(secret: string): number {
  return secret.length > UNSHOWN_LENGTH_MAX ? PREFIX_LENGTH : 0;
}

/**
 * A set of values that must never be printed (I7). Secrets are kept out of messages in the first place; scrubbing is the
 * second line, for texts from elsewhere (a library's error, an API's answer) that may repeat one.
 */
export interface SecretStore {
  /** A secret shorter than `SECRET_LENGTH_MIN` is not remembered. */
  add(secret: string): void;
  /**
   * The text without any known secret: whole ones leave what may be shown of them, and of a long one every run of 6
   * characters beyond that goes as well. White space within, percent-encoding, JSON's escapes and base64 hide none.
   */
  scrub(text: string): string;
}

export function createSecretStore(): SecretStore {
  const known = new Set<string>();
  let finder: SecretFinder | null = null;
  return {
    add(secret) {
      if (secret.length < SECRET_LENGTH_MIN || known.has(secret)) return;
      known.add(secret);
      finder = null;
    },
    scrub(text) {
      if (known.size === 0) return text;
      finder ??= createSecretFinder(Array.from(known, (secret) => ({ secret, shown: shownLength(secret) })));
      let clean = '';
      let end = 0;
      for (const range of finder(text)) {
        clean += `${text.slice(end, range.start)}…`;
        end = range.end;
      }
      return end === 0 ? text : clean + text.slice(end);
    },
  };
}
