import { createFileDecoder } from '../../sdk/text-decoder.ts';

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
export function likelyEncoding(bytes: Buffer): LikelyEncoding {
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
