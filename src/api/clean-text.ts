import type { SecretStore } from '../lib/secrets.ts';

/** Makes a line that can be shown and stored of any text that the API or a library gave. */
export type CleanText = (text: string, lengthMax?: number) => string;

const MESSAGE_LENGTH_MAX = 300;
/** Read of a text at most, so that a hostile answer costs no time. */
const READ_LENGTH_MAX = 16_384;
/** Looked at beyond that for the end of a secret that begins before it. */
const SECRET_LENGTH_MAX = 16_384;

/**
 * A cleaner that takes out tags, control characters and secrets, and shortens what is left.
 *
 * I7: secrets are taken out first, while the text is whole: one that is cut in two would no longer be recognised. Nothing
 * that follows can put one together again, since what is taken out leaves a space. Anything that looks like one of the
 * platform's keys goes as well: an answer may repeat part of ours, or another one's.
 */
export function createCleanText(secrets: SecretStore): CleanText {
  return (text, lengthMax = MESSAGE_LENGTH_MAX) => {
    const bounded = secrets.scrub(text.slice(0, READ_LENGTH_MAX + SECRET_LENGTH_MAX)).slice(0, READ_LENGTH_MAX);
    const plain = plainText(bounded).replace(KEY, (key) => `${key.slice(0, 8)}…`);
    return plain.length > lengthMax ? `${plain.slice(0, lengthMax - 1).toWellFormed()}…` : plain;
  };
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
