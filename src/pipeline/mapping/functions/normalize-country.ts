/** Letters that Unicode cannot split into a base letter and an accent, with the letters that people write instead. */
const FOLDED: Record<string, string> = { Ł: 'L', Ø: 'O', Đ: 'D', Ħ: 'H', Æ: 'AE', Œ: 'OE' };

/**
 * Returns a name in upper case, without accents, punctuation and a leading "the". "&" becomes "and", and "St." becomes
 * "Saint".
 */
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
