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

/**
 * Matches characters that people do not see, and characters that move the text around them, such as those that change the
 * reading direction. Tabs and line ends are not matched.
 */
const HIDDEN = /[^\P{C}\t\n\r]|[\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]/gu;
/** Matches hidden characters, tabs and line ends, and spaces other than the plain space. */
const SHAPELESS = /[^\P{Z} ]|[\p{C}\p{Default_Ignorable_Code_Point}\u2800]/gu;
const PLAIN = /^[\t\n\r\x20-\x7e]*$/;

/**
 * A text in which people can see each hidden character, for example as `\u200b`. Every text for people that has values or
 * names of a source is shown in this form. Stored values, files for uploads and fields of forms keep their characters.
 */
export function withHiddenShown(text: string): string {
  return PLAIN.test(text) ? text : text.replaceAll(HIDDEN, escapeOf);
}

/**
 * A text for messages in which people can see every character: `A1⏎B` for a line end, and `\ufeffA1` for a byte order
 * mark. A person may paste such a text as a key: see `readingsOf`.
 */
export function visibleText(text: string): string {
  return withShapeless(text.replaceAll(/\r?\n/g, '⏎'), escapeOf);
}

/** The text with another text in place of each character that has no shape of its own. */
export function withShapeless(text: string, shown: (character: string) => string): string {
  return text.replaceAll(SHAPELESS, shown);
}

function escapeOf(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
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

/**
 * A JSON text of the same value in which no character is obeyed or hidden by what shows it. Such characters are only
 * within strings of a JSON text, so an escape is always allowed.
 */
export function plainJson(json: string): string {
  return withHiddenShown(json);
}

/** A text as one word of a command line that a person copies: quoted for a POSIX shell if it needs quotes. */
export function shellWord(text: string): string {
  // An argument that looks like an option has to come after the end of the options.
  return text.startsWith('-') ? `-- ${shellValue(text)}` : shellValue(text);
}

/** A text as the value of an option, which may begin with a dash. */
export function shellValue(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

// Protection against text that a spreadsheet would run as a formula:
// https://owasp.org/www-community/attacks/CSV_Injection

const NUMBER = /^[+-]?[\d.,' ]*$/;
const FORMULA = /^'*[=+\-@\t\r\n|＝＋－＠]/;
const DEFUSED = /^'+[=+\-@\t\r\n|＝＋－＠]/;

/**
 * Adds an apostrophe before a value that a spreadsheet would run as a formula. With the apostrophe it is text. Numbers
 * with a sign are not changed. A value that already begins with apostrophes gets one more, so that `armFormula` returns
 * the same value.
 */
export function defuseFormula(text: string): string {
  if (NUMBER.test(text)) return text;
  return FORMULA.test(text) ? `'${text}` : text;
}

/** Removes the apostrophe that `defuseFormula` has added. */
export function armFormula(text: string): string {
  return DEFUSED.test(text) ? text.slice(1) : text;
}
