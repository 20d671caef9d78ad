/**
 * Matches characters that no text for people contains: control characters except tab and line ends, half surrogate
 * pairs, and code points that Unicode reserves for programs, such as U+FFFE.
 */
const ODD = /[^\P{Cc}\t\n\r]|\p{Noncharacter_Code_Point}|\p{Surrogate}/u;
const ALL_ODD = new RegExp(ODD, 'gu');

/**
 * The first odd character of a text, such as `U+001F`, and how many characters come before it; null if the text has
 * none.
 */
export function findOddCharacter(text: string): { name: string; at: number } | null {
  if (!isOdd(text)) return null;
  const at = text.search(ODD);
  return at < 0 ? null : { name: characterName(text.codePointAt(at) ?? 0), at };
}

/** The text without odd characters. */
export function withoutOddCharacters(text: string): string {
  return text.replaceAll(ALL_ODD, '');
}

/** The usual name of a code point: `U+001F`. */
export function characterName(codePoint: number): string {
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
