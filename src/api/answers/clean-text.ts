import type { SecretStore } from '../../lib/logging/secrets.ts';

const MESSAGE_LENGTH_MAX = 300;
/** How much of a text is read at most, so that a hostile answer costs no time. */
const READ_LENGTH_MAX = 16_384;
/** How much more is read to find the end of a secret that begins before `READ_LENGTH_MAX`. */
const SECRET_LENGTH_MAX = 16_384;

/**
 * Turns any text from the API or a library into a line that may be shown and stored: removes tags, control characters
 * and secrets, and shortens the rest. The result is for people: only the text itself may be compared with words, because
 * a word may contain characters of a secret by chance.
 *
 * I7: secrets are removed first, because a secret that is cut in two would not be recognised. Every removed part leaves
 * a space, so that the later steps cannot join the parts of a secret. Text that looks like a key of the platform is
 * removed as well: an answer may repeat a part of the key in use, or the key of somebody else.
 */
export function createCleanText(secrets: SecretStore) {
  const clean = (text: string, lengthMax = MESSAGE_LENGTH_MAX): string => {
    const bounded = secrets.scrub(text.slice(0, READ_LENGTH_MAX + SECRET_LENGTH_MAX)).slice(0, READ_LENGTH_MAX);
    return shortened(
      plainText(bounded).replace(KEY, (key) => `${key.slice(0, 8)}…`),
      lengthMax,
    );
  };
  return Object.assign(clean, {
    /** The same line with its secrets, to be compared and then forgotten. */
    plain: (text: string, lengthMax: number): string => shortened(plainText(text.slice(0, READ_LENGTH_MAX)), lengthMax),
    /** The unchanged id, key or URL; null if it contains an API key or 16 characters of a secret, so that it may not be stored. */
    identifier: (text: string): string | null => (secrets.isInIdentifier(text) ? null : text),
  });
}

export type CleanText = ReturnType<typeof createCleanText>;

function shortened(line: string, lengthMax: number): string {
  return line.length > lengthMax ? `${line.slice(0, lengthMax - 1).toWellFormed()}…` : line;
}

const KEY = /dpp_[\w-]{5,}/gi;

function plainText(text: string): string {
  return text
    .toWellFormed()
    .replace(/<(script|style)\b[^]*?(?:<\/\1\s*>|$)/gi, ' ')
    .replace(/<[!/?a-z][^<>]*>/gi, ' ')
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
}
