// Which file a column means whose values are keys of several files: numbers from 1 on are keys of many, so names have to decide.

import { withoutAccents, wordsOf } from './field-names.ts';

/** A file that a column may mean. */
export interface Candidate {
  name: string;
  /** The name of the column that is its key. */
  key: string;
}

/** The file that is meant, by its place among the candidates, and why. */
export interface Meant {
  at: number;
  reason: string;
}

/** Endings that say that a column has keys, and not of what. */
const KEY_WORDS =
  'id ids nr nrs no num nummer nummern number numbers code codes key keys ref pk fk uuid guid kennung schluessel';
const IS_KEY_WORD: ReadonlySet<string> = new Set(KEY_WORDS.split(' '));
const KEY_ENDING = /(?<=\w{3})(?:id|nr|no|num|nummer|number|code|key|kennung|schluessel)$/;
/** What German and English nouns have at the end in the plural. */
const PLURALS: ReadonlySet<string> = new Set(['', 's', 'es', 'e', 'n', 'en', 'ien', 'er']);
/** Shorter words are alike by chance. */
const ALIKE_MIN = 3;
/** Words that begin with this share of the longer one are alike, such as `Artikel` and `article`. */
const ALIKE_SHARE = 0.6;

/**
 * The file whose key or name is like the name of the column. Equal names count before similar ones, and the key counts before the name
 * of the file.
 *
 * @returns null if no file is, or several are to the same degree
 */
export function meantFile(column: string, candidates: readonly Candidate[]): Meant | null {
  const likeness = candidates.map((candidate) => likenessOf(column, candidate));
  for (const about of LIKENESSES) {
    const [at, ...more] = likeness.flatMap((one, index) => (one === about ? [index] : []));
    const candidate = candidates[at ?? -1];
    if (at !== undefined && candidate !== undefined && more.length === 0)
      return { at, reason: REASONS[about](candidate, column) };
    if (more.length > 0) return null;
  }
  return null;
}

type Likeness = (typeof LIKENESSES)[number];

/** The closest one comes first. */
const LIKENESSES = ['same key', 'similar key', 'name', 'part of the name'] as const;
const REASONS: Record<Likeness, (candidate: Candidate, column: string) => string> = {
  'same key': ({ name, key }) => `${name} calls its key ${key} too`,
  'similar key': ({ name, key }, column) => `${column} is like ${key}, the key of ${name}`,
  name: ({ name }, column) => `${column} is like the name of ${name}`,
  'part of the name': ({ name }, column) => `${column} is like a part of the name of ${name}`,
};

function likenessOf(column: string, { name, key }: Candidate): Likeness | null {
  const noun = nounOf(column);
  if (noun === '') return null;
  if (wordsOf(column).join('') === wordsOf(key).join('')) return 'same key';
  if (isSameNoun(noun, nounOf(key))) return 'similar key';
  const words = wordsOf(name.replace(/(?:\.[A-Za-z]\w{0,6}){1,2}$/, '')).map(spelled);
  const last = nounOf(
    wordsOf(column)
      .filter((word) => !IS_KEY_WORD.has(word))
      .at(-1) ?? '',
  );
  const nouns = [noun, last];
  if (nouns.some((one) => isSameNoun(one, words.join('')))) return 'name';
  return words.some((word) => nouns.some((one) => isSameNoun(one, word) || isAlike(one, word)))
    ? 'part of the name'
    : null;
}

/** True for the name of a column that may have the keys of any records, such as `id`. */
export function namesNoFile(column: string): boolean {
  return nounOf(column) === '';
}

/** What the keys in a column are keys of: `artikel` for `Artikel-Nr.`, `artikel_id` and `Artikelnummer`. Empty for `id`. */
function nounOf(label: string): string {
  const words = wordsOf(label).filter((word) => !IS_KEY_WORD.has(word));
  return spelled(words.join('').replace(KEY_ENDING, ''));
}

/** `Produkt` and `product` are one word. */
function spelled(word: string): string {
  return withoutAccents(word).replaceAll('c', 'k');
}

function isSameNoun(one: string, other: string): boolean {
  const [short = '', long = ''] = [one, other].toSorted((a, b) => a.length - b.length);
  if (short.length < ALIKE_MIN) return false;
  return (long.startsWith(short) && PLURALS.has(long.slice(short.length))) || long === short.replace(/y$/, 'ies');
}

/** True for an abbreviation, and for words of two languages that begin alike. */
function isAlike(one: string, other: string): boolean {
  const [short = '', long = ''] = [one, other]
    .map((word) => word.replace(/s$/, ''))
    .toSorted((a, b) => a.length - b.length);
  let same = 0;
  while (same < short.length && short[same] === long[same]) same += 1;
  return same >= ALIKE_MIN && (same === short.length || same >= long.length * ALIKE_SHARE);
}
