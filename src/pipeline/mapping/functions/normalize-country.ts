/** Letters that have no decomposition, as people write them without the stroke. */
const FOLDED: Record<string, string> = { Ł: 'L', Ø: 'O', Đ: 'D', Ħ: 'H', Æ: 'AE', Œ: 'OE' };

/** Upper case, without accents, punctuation and a leading "the"; "&" is "and", "St." is "Saint". */
export function normalizeCountry(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/[\p{M}.'’]/gu, '')
    .toUpperCase()
    .replace(/[ŁØĐĦÆŒ]/g, (letter) => FOLDED[letter] ?? letter)
    .replace(/&/g, ' AND ')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .replace(/\bST (?=\p{L})/gu, 'SAINT ')
    .replace(/^THE (?=.)/, '')
    .replace(/ THE$/, '');
}
