/**
 * Matches characters that no text for people contains: control characters except tab and line ends, half surrogate
 * pairs, and code points that Unicode reserves for programs, such as U+FFFE.
 */
const ODD = /[^\P{Cc}\t\n\r]|\p{Noncharacter_Code_Point}|\p{Surrogate}/u;
const ALL_ODD = new RegExp(ODD, 'gu');
/** Matches all odd characters, and also tabs, line ends and byte order marks. */
const UNSEEN = /\p{Cc}|[\u2028\u2029\uFEFF]|\p{Noncharacter_Code_Point}|\p{Surrogate}/u;

/** A character of a text: its name, such as `U+001F`, and how many characters come before it. */
export interface OddCharacter {
  name: string;
  at: number;
}

/** The first odd character of a text; null if the text has none. */
export function findOddCharacter(text: string): OddCharacter | null {
  return isOdd(text) ? firstOf(ODD, text) : null;
}

/** The first character of a text that is odd, or a tab, a line end or a byte order mark; null if the text has none. */
export function findUnseenCharacter(text: string): OddCharacter | null {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || (code >= 0x7f && (code <= 0x9f || code >= 0x2028))) return firstOf(UNSEEN, text);
  }
  return null;
}

function firstOf(pattern: RegExp, text: string): OddCharacter | null {
  const at = text.search(pattern);
  return at < 0 ? null : { name: characterName(text.codePointAt(at) ?? 0), at };
}

/** The text without odd characters. */
export function withoutOddCharacters(text: string): string {
  return text.replaceAll(ALL_ODD, '');
}

/** Characters that nobody sees, or that look like a plain space. Half surrogate pairs have no shape either. */
const SHAPELESS = /[\p{C}\u00A0\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]/gu;

/**
 * A text for messages in which people can see every character: `A1⏎B` for a line end, and `\ufeffA1` for a byte order
 * mark. A person may paste such a text as a key: see `readingsOf`.
 */
export function visibleText(text: string): string {
  return text
    .replaceAll(/\r?\n/g, '⏎')
    .replaceAll(SHAPELESS, (character) => character.split('').map(escapeOf).join(''));
}

function escapeOf(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** The usual name of a code point: `U+001F`. */
function characterName(codePoint: number): string {
  return `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}`;
}

/**
 * True if the text may have an odd character. Every key of every row is checked, and a loop takes less time than a
 * pattern.
 */
function isOdd(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x20 && code < 0x7f) continue;
    if (code < 0x20 ? code !== 0x09 && code !== 0x0a && code !== 0x0d : code <= 0x9f || code >= 0xd800) return true;
  }
  return false;
}
