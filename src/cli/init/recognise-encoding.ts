import { createFileDecoder } from '../../sdk/text-decoder.ts';

/** The encoding of a text, and the evidence for it. */
export interface FoundEncoding {
  /** The encoding, in the form of the option `encoding`. */
  name: string;
  reason: string;
  text: string;
  /** True if another encoding is equally likely, so that a person has to check the words. */
  isGuess: boolean;
}

/** Words that are shown as evidence. */
const WORDS_SHOWN = 3;
/** UTF-8 that is read as windows-1252: pairs of letters and signs that no language has. */
const MOJIBAKE = /Ã[\u0080-\u00bf©¤¶¼]|â€|ï»/;

/** U+FFFD in UTF-8, as characters of latin1. A conversion writes it in place of what it could not read. */
const WRITTEN_REPLACEMENT = /\u00ef\u00bf\u00bd/g;

/**
 * Recognises the encoding of a file by its beginning. Several 8-bit encodings cannot be distinguished with certainty,
 * so the reason shows words that a person can check.
 *
 * @returns null for bytes that are no text
 */
export function recogniseEncoding(bytes: Buffer): FoundEncoding | null {
  const marked = ofByteOrderMark(bytes);
  if (marked !== null) return decoded(bytes, marked, 'the file begins with its byte order mark');
  const wide = ofZeros(bytes);
  if (wide === 'binary') return null;
  if (wide !== null) return decoded(bytes, wide, 'every other byte is zero, and there is no byte order mark');
  return ofControls(bytes) ? null : ofHighBytes(bytes);
}

function ofByteOrderMark([first, second, third]: Buffer): string | null {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return first === 0xef && second === 0xbb && third === 0xbf ? 'utf-8' : null;
}

function ofZeros(bytes: Buffer): 'utf-16le' | 'utf-16be' | 'binary' | null {
  let even = 0;
  let odd = 0;
  for (const [index, byte] of bytes.entries()) {
    if (byte !== 0) continue;
    if (index % 2 === 0) even += 1;
    else odd += 1;
  }
  // A text has no zero bytes, and a damaged text has only a few.
  if (even + odd <= bytes.length / 1_000) return null;
  const half = bytes.length / 2;
  if (odd > half * 0.3 && even < half * 0.02) return 'utf-16le';
  return even > half * 0.3 && odd < half * 0.02 ? 'utf-16be' : 'binary';
}

/**
 * True if there are more control characters than a text has. Some exports separate values by the characters from 0x1c
 * on.
 */
function ofControls(bytes: Buffer): boolean {
  let count = 0;
  for (const byte of bytes) if (byte < 0x1a && (byte < 0x09 || byte > 0x0d)) count += 1;
  return count > bytes.length / 100;
}

/** The reason for an encoding of which the file shows nothing. */
export const ONLY_ASCII = 'only ASCII so far, which UTF-8 includes';

function ofHighBytes(bytes: Buffer): FoundEncoding {
  const utf8 = decoded(bytes, 'utf-8', 'the file is valid UTF-8');
  const replaced = countOf(bytes.toString('latin1'), WRITTEN_REPLACEMENT);
  const broken = countOf(utf8.text, /\uFFFD/g) - replaced;
  const whole = countOf(utf8.text, /[^\p{ASCII}\uFFFD]/gu) + replaced;
  if (broken === 0) {
    if (replaced > 0) return { ...utf8, reason: `${utf8.reason}; ${damageOf(replaced)}` };
    return whole === 0 ? { ...utf8, reason: ONLY_ASCII } : withWords(utf8);
  }
  // Single characters of another encoding may be valid UTF-8 by accident, but never most of them.
  if (whole > broken || MOJIBAKE.test(decoded(bytes, 'windows-1252', '').text)) {
    const damaged = `UTF-8 with ${broken} broken characters; rows that have them are quarantined`;
    return { ...utf8, reason: damaged };
  }
  const { name, text, isGuess } = likelyEncoding(bytes);
  const found = withWords({ name, text, isGuess, reason: 'not UTF-8; the likeliest of the 8-bit encodings' });
  const other = name === 'windows-1250' ? 'windows-1252 (Western Europe)' : 'windows-1250 (Polish, Czech, Hungarian)';
  const cure = `if words look wrong, write another encoding, for example ${other}`;
  return { ...found, reason: `${found.reason}; ${cure}` };
}

function damageOf(replaced: number): string {
  const characters = replaced === 1 ? 'one character' : `${replaced} characters`;
  return `an earlier conversion has damaged ${characters} (U+FFFD), and no encoding brings them back`;
}

function decoded(bytes: Buffer, name: string, reason: string): FoundEncoding {
  // The last character may be cut off. The decoder does not return such a character.
  return { name, reason, text: createFileDecoder(name, bytes).write(bytes), isGuess: false };
}

function withWords(found: FoundEncoding): FoundEncoding {
  const words = new Set<string>();
  for (const [word] of found.text.matchAll(/[\p{L}]*[^\p{ASCII}\s]\p{L}*/gu)) {
    if (word.length > 2 && word.length < 30) words.add(word);
    if (words.size === WORDS_SHOWN) break;
  }
  if (words.size === 0) return found;
  return { ...found, reason: `${found.reason}; it gives ${[...words].join(', ')}` };
}

function countOf(text: string, pattern: RegExp): number {
  let count = 0;
  for (const _ of text.matchAll(pattern)) count += 1;
  return count;
}

/** The encoding that an 8-bit text is probably in. */
export interface LikelyEncoding {
  name: string;
  text: string;
  /**
   * True if another encoding gives another text that is equally plausible, or if no encoding gives a plausible text.
   */
  isGuess: boolean;
}

const WESTERN = ['äöüßàâæçéèêëîïôœùûÿìíòóú', 'áéíóúüñàâãçêôõï', 'åäöæøéüßà', 'äöõüšž', 'áðéíóúýþæö'];
const CENTRAL = ['ąćęłńóśźż', 'áčďéěíňóřšťúůýž', 'áäčďéíĺľňóôŕšťúýž', 'áéíóöőúüű', 'ăâîşţ', 'ćčđšž', 'äöüß'];
const BALTIC = ['ąčęėįšųūž', 'āčēģīķļņšūž', 'äõöüšž', 'äöüß'];
const TURKISH = ['çğıi̇öşüâîû'];

/** The encodings, with the letters of some languages. Of equally plausible encodings the first one is chosen. */
const CANDIDATES: readonly (readonly [name: string, languages: readonly string[]])[] = [
  ['windows-1252', WESTERN],
  ['windows-1250', CENTRAL],
  ['iso-8859-2', CENTRAL],
  ['windows-1257', BALTIC],
  ['windows-1254', TURKISH],
  ['cp850', WESTERN],
  ['cp852', CENTRAL],
];

/** At most this many characters beyond ASCII are checked. */
const TRIED_MAX = 20_000;
/** Signs that may be between two letters: apostrophes, dashes, the point of Catalan, soft hyphens. */
const JOINING = /[’‘–—·\u00ad\s]/;

/**
 * Finds the encoding in which the text has the fewest characters that are wrong: letters that the language does not
 * have, capitals after small letters, signs within words (`sto³owa`), and control characters. The language is the one
 * that fits the text best.
 */
function likelyEncoding(bytes: Buffer): LikelyEncoding {
  const read = CANDIDATES.map(([name, languages]) => {
    const text = createFileDecoder(name, bytes).write(bytes);
    return { name, text, wrong: wrongIn(text, languages) };
  });
  const best = read.reduce((least, one) => (one.wrong < least.wrong ? one : least));
  const isGuess = best.wrong > 0 || read.some(({ text, wrong }) => wrong === best.wrong && text !== best.text);
  return { name: best.name, text: best.text, isGuess };
}

function wrongIn(text: string, languages: readonly string[]): number {
  const letters = new Map<string, number>();
  let wrong = 0;
  let tried = 0;
  for (const { 0: character, index } of text.matchAll(/[^\p{ASCII}]/gu)) {
    if ((tried += 1) > TRIED_MAX) break;
    const before = text.slice(Math.max(0, index - 3), index);
    const after = text.slice(index + 1, index + 4);
    if (isLetter(character, before, after)) {
      letters.set(character, (letters.get(character) ?? 0) + 1);
      if (/\p{Lu}/u.test(character) && /\p{Ll}$/u.test(before)) wrong += 1;
    } else if (isWrongSign(character, before, after)) wrong += 1;
  }
  const foreign = languages.map((language) => {
    let count = 0;
    for (const [letter, times] of letters) if (!language.includes(letter.toLowerCase())) count += times;
    return count;
  });
  return wrong + Math.min(...foreign);
}

/** True for a letter. Unicode treats `µ`, `º` and `ª` as letters, but beside a number or a word they are signs. */
function isLetter(character: string, before: string, after: string): boolean {
  return /\p{L}/u.test(character) && (isWithin(before, after) || !/[µºª]/.test(character));
}

/** True for a sign in the place of a letter, as in `Materia³` and `¯uraw`. `m³` is a unit and has no such sign. */
function isWrongSign(character: string, before: string, after: string): boolean {
  if (/[\p{Cc}\uFFFD]/u.test(character)) return true;
  if (isWithin(before, after)) return !JOINING.test(character);
  if (/[¹²³]/.test(character)) return /\p{L}{3}$/u.test(before);
  return /[\p{Sc}\p{Sk}\p{So}]/u.test(character) && /^\p{L}{3}/u.test(after);
}

function isWithin(before: string, after: string): boolean {
  return /\p{L}$/u.test(before) && /^\p{L}/u.test(after);
}
