import { sha256Hex } from '../../lib/hash.ts';
import type { Reason } from './reason.ts';

const LENGTH = 12;

/**
 * A short text that many reasons have in common. It is the same for two reasons that differ only in quoted words, in
 * words with digits, and in times. If the platform refused fields, the names and messages of the fields are part of the
 * text.
 */
export function reasonShape({ code, message, fields }: Pick<Reason, 'code' | 'message' | 'fields'>): string {
  const words =
    fields === undefined
      ? plainWords(message)
      : Object.keys(fields)
          .sort()
          .map((field) => `${field}: ${plainWords(fields[field] ?? '')}`)
          .join('\n');
  return sha256Hex(`${code}\n${words}`).slice(0, LENGTH);
}

const QUOTED = /"[^"]*"|`[^`]*`|'[^']*'(?!\w)/g;
const WITH_DIGIT = /[^\s,;:()]*\d[^\s,;:()]*/g;
/** A platform may answer with a page of text. The beginning is enough to recognise it. */
const WORDS_MAX = 300;

function plainWords(text: string): string {
  return text.slice(0, WORDS_MAX).replace(QUOTED, '…').replace(WITH_DIGIT, '…');
}
